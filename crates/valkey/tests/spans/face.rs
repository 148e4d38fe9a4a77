// What both APIs of one connection report, included into a module for each of them; `wait!` waits, or not.

#[tokio::test]
async fn a_command_is_a_span_with_the_attributes_of_open_telemetry() {
    let server = test_server();
    let config = Config::from_url(&server.url()).unwrap();
    let Endpoint::Tcp { host, port } = config.endpoint.clone() else {
        panic!("the tests' server has TCP");
    };
    let mut conn = wait!(Connection::connect_with(&config)).unwrap();
    let collected = collect();
    wait!(conn.run(&string::set(KEY, VALUE))).unwrap();
    let system = conn.session().server.clone().unwrap();
    let span = collected.one();
    for (name, expected) in [
        ("otel.name", format!("SET {host}:{port}")),
        ("db.system.name", system),
        ("db.namespace", config.database.to_string()),
        ("db.operation.name", "SET".into()),
        ("server.address", host.clone()),
        ("server.port", port.to_string()),
    ] {
        assert_eq!(span.field(name), Some(expected.as_str()), "{name}");
    }
    for absent in ["error.type", "otel.status_code", "db.operation.batch.size"] {
        assert_eq!(span.field(absent), None, "{absent}");
    }

    wait!(conn.run(&list::lpush(KEY, VALUE))).unwrap_err();
    let failed = collected.one();
    assert_eq!(failed.field("otel.status_code"), Some("ERROR"));
    assert_eq!(failed.field("db.response.status_code"), Some("WRONGTYPE"));
    assert_eq!(failed.field("error.type"), Some("WRONGTYPE"));

    wait!(conn.select(9)).unwrap();
    wait!(conn.run(&string::get(KEY))).unwrap();
    let spans = collected.take();
    assert_eq!(spans[1].field("db.namespace"), Some("9"));

    drop(collected);
    wait!(conn.run(&string::get(KEY))).unwrap();
}

#[tokio::test]
async fn each_way_to_run_a_command_is_one_span() {
    let mut conn = wait!(Connection::connect(&test_server().url())).unwrap();
    let collected = collect();
    wait!(conn.run_owned(&string::set(KEY, VALUE))).unwrap();
    wait!(conn.run_into(&string::get(KEY), &mut Vec::new())).unwrap();
    drop(wait!(conn.run_streaming(&string::get(KEY))).unwrap());
    wait!(conn.run_from(&raw("set").arg(KEY), 14, VALUE.as_bytes())).unwrap();
    wait!(conn.run(&string::get(KEY).typed::<String>())).unwrap();
    let script = Script::new(format!("return '{VALUE}{}'", stringify!(wait)));
    wait!(conn.run_script(&script.call().keys(KEY))).unwrap();
    wait!(conn.run(&connection::client_setname("spans"))).unwrap();
    let operations = collected.operations();
    assert_eq!(
        operations,
        ["SET", "GET", "GET", "SET", "GET", "EVALSHA", "CLIENT SETNAME"]
    );
    wait!(conn.run(&raw(VALUE).arg(KEY))).unwrap_err();
    wait!(conn.run(&raw(format!("{VALUE} {VALUE}")).arg(KEY))).unwrap_err();
    let spans = collected.unchecked();
    // A word that looks like a command is taken for one of a module.
    assert_eq!(spans[0].operation(), VALUE);
    assert_eq!(spans[1].operation(), "OTHER");
}

#[tokio::test]
async fn commands_that_are_sent_together_are_one_span() {
    let mut conn = wait!(Connection::connect(&test_server().url())).unwrap();
    wait!(conn.run(&string::set("spans:batch", "1"))).unwrap();
    let collected = collect();
    let mut pipeline = conn.pipeline().unwrap();
    pipeline.push(&string::get("spans:batch")).unwrap();
    pipeline.push(&string::get(KEY)).unwrap();
    let mut replies = pipeline.replies();
    while wait!(replies.next_reply()).unwrap().is_some() {}
    drop(replies);
    let span = collected.one();
    assert_eq!(span.operation(), "PIPELINE GET");
    assert_eq!(span.field("db.operation.batch.size"), Some("2"));
    assert_eq!(span.field("error.type"), None);

    let mut pipeline = conn.pipeline().unwrap();
    pipeline.push(&string::get("spans:batch")).unwrap();
    let mut replies = pipeline.replies();
    while wait!(replies.next_reply()).unwrap().is_some() {}
    drop(replies);
    let span = collected.one();
    assert_eq!(span.operation(), "GET");
    assert_eq!(span.field("db.operation.batch.size"), None);

    let mut transaction = conn.transaction().unwrap();
    transaction.push(&string::incr("spans:batch")).unwrap();
    transaction.push(&string::get("spans:batch")).unwrap();
    wait!(transaction.exec()).unwrap();
    let span = collected.one();
    assert_eq!(span.operation(), "MULTI");
    assert_eq!(span.field("db.operation.batch.size"), Some("2"));

    let mut pipe = conn.pipe(|_| {}).unwrap();
    for _ in 0..100 {
        wait!(pipe.push(&string::incr("spans:batch"))).unwrap();
    }
    wait!(pipe.finish()).unwrap();
    let span = collected.one();
    assert_eq!(span.operation(), "PIPELINE");
    assert_eq!(span.field("db.operation.batch.size"), Some("100"));
}

#[tokio::test]
async fn a_connection_of_a_pool_reports_the_callers_commands_only() {
    let mut config = Config::from_url(&test_server().url()).unwrap();
    config.pool.ping_after = std::time::Duration::ZERO;
    let pool = Pool::new(config).unwrap();
    let collected = collect();
    for database in [1, 2] {
        let mut conn = wait!(pool.get()).unwrap();
        wait!(conn.select(database)).unwrap();
        wait!(conn.run(&string::get(KEY))).unwrap();
    }
    let operations = collected.operations();
    assert_eq!(operations, ["SELECT", "GET", "SELECT", "GET"]);
}

#[tokio::test]
async fn a_lost_connection_is_an_error_of_its_own() {
    let mut server = onecopy_testkit::valkey::Server::start().unwrap();
    let mut conn = wait!(Connection::connect(&server.url())).unwrap();
    server.kill();
    let collected = collect();
    wait!(conn.run(&string::get(KEY))).unwrap_err();
    let span = collected.one();
    assert_eq!(span.field("otel.status_code"), Some("ERROR"));
    assert_eq!(span.field("db.response.status_code"), None);
    assert_eq!(span.field("error.type"), Some("connection"));
}
