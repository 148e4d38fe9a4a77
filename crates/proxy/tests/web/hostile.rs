//! Names and texts of peers are text on every page, whatever is in them; and browsers are told to run nothing else.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::time::Duration;

use onecopy_mysql::Config as ClientConfig;
use onecopy_mysql::blocking::Connection;
use onecopy_proxy::config::{
    AccountConfig, BackendConfig, HealthLogin, ListenerConfig, RuleConfig, Secret,
};
use onecopy_testkit::server::test_server;

use crate::common::{Pooled, loopback};
use crate::events::Events;
use crate::http::{address, get, get_with, json, send, until, with_page};

/// A user's name: at most 32 characters on MySQL.
const USER: &str = "<img src=x onerror=\"a\">'\u{202e}&";

/// The name of a listener, a backend and a rule; and what a server says.
const TEXT: &str = "</script><script>document.title='hacked'</script><img src=x onerror=alert(1)>\" autofocus onfocus='alert(2)'";

/// A server that refuses every login with a text.
fn rude_server() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    std::thread::spawn(move || {
        for mut client in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || {
                let mut greeting = vec![0x0a];
                greeting.extend_from_slice(b"8.0.0\0");
                greeting.extend_from_slice(&7_u32.to_le_bytes());
                greeting.extend_from_slice(b"12345678\0");
                // CLIENT_PROTOCOL_41, CLIENT_SECURE_CONNECTION, CLIENT_PLUGIN_AUTH
                let capabilities = 0x0008_8200_u32.to_le_bytes();
                greeting.extend_from_slice(&capabilities[..2]);
                greeting.extend_from_slice(&[45, 2, 0]);
                greeting.extend_from_slice(&capabilities[2..]);
                greeting.push(21);
                greeting.extend_from_slice(&[0; 10]);
                greeting.extend_from_slice(b"123456789012\0mysql_native_password\0");
                let _ = client.write_all(&packet(0, &greeting));
                let mut some = [0; 1024];
                if client.read(&mut some).is_ok_and(|n| n > 0) {
                    let mut error = vec![0xff, 0x15, 0x04];
                    error.extend_from_slice(b"#28000");
                    error.extend_from_slice(TEXT.as_bytes());
                    let _ = client.write_all(&packet(2, &error));
                }
            });
        }
    });
    port
}

fn packet(sequence: u8, payload: &[u8]) -> Vec<u8> {
    let mut packet = u32::try_from(payload.len()).unwrap().to_le_bytes().to_vec();
    packet[3] = sequence;
    packet.extend_from_slice(payload);
    packet
}

/// A proxy where everything that has a name has a hostile one, and one client with one.
fn hostile() -> (Pooled, Connection) {
    let rude = rude_server();
    // Before there is a proxy, which logs in as this user by itself to see how the server is.
    let mut direct = Connection::connect(&test_server().url()).unwrap();
    let name = USER.replace('\'', "''");
    direct
        .run(format!("DROP USER IF EXISTS '{name}'@'%'"))
        .unwrap();
    direct
        .run(format!("CREATE USER '{name}'@'%' IDENTIFIED BY 'secret'"))
        .unwrap();
    let pooled = with_page(|config| {
        config.digests.max = 100;
        config.health.interval = Some(Duration::from_millis(50));
        config.health.login = Some(HealthLogin {
            user: USER.into(),
            password: Secret::new("secret"),
        });
        let listener = &mut config.listeners[0];
        listener.name = format!("pooled {TEXT}");
        listener.accounts = vec![AccountConfig::new(USER, Secret::new("secret"))];
        listener.reencrypt_passwords = true;
        listener.backends[0].name = format!("backend {TEXT}");
        listener.rules = vec![RuleConfig {
            name: TEXT.into(),
            schema: Some(TEXT.into()),
            reject: Some(TEXT.into()),
            ..RuleConfig::default()
        }];
        let mut backend = BackendConfig::new(loopback(rude));
        backend.name = TEXT.into();
        config.listeners.push(ListenerConfig {
            name: TEXT.into(),
            listen: vec![loopback(0)],
            backends: vec![backend],
            ..ListenerConfig::default()
        });
    });
    let mut config = ClientConfig::from_url(&pooled.url()).unwrap();
    (config.user, config.password) = (USER.into(), "secret".into());
    config.database = None;
    let mut conn = Connection::connect_with(&config).unwrap();
    conn.run("SET @a = 1").unwrap();
    let column = TEXT.get(..60).unwrap();
    conn.run(format!("SELECT 1 AS `{column}\u{202e}`")).unwrap();
    until("the refusal of the rude server", || {
        let now = json(&pooled.proxy, "/api/now");
        let mut backends = now["backends"].as_array().unwrap().iter();
        backends.any(|one| {
            one["last_error"]
                .as_str()
                .is_some_and(|error| error.contains(TEXT))
        })
    });
    (pooled, conn)
}

/// Whether there is markup or an attribute of theirs.
fn assert_clean(page: &str) {
    for wrong in [
        "<img",
        "<script>",
        "</script><",
        "\" autofocus",
        " onerror=\"",
    ] {
        assert!(!page.contains(wrong), "{wrong}: {page}");
    }
    let ours = "<script src=\"/page.js\" defer></script>";
    assert_eq!(page.matches("<script").count(), page.matches(ours).count());
    // What a reader has typed, or a link has, stays as it is in the field for it.
    let mut fields = page
        .split("<input name=\"user\"")
        .map(|part| part.split_once('>'));
    let before = page.split("<input name=\"user\"").next().unwrap();
    fields.next();
    let behind = fields.map(|field| field.unwrap().1);
    for text in std::iter::once(before).chain(behind) {
        assert!(!text.contains('\u{202e}'), "{page}");
    }
}

#[test]
fn hostile_names_are_text_on_every_page() {
    let (pooled, _conn) = hostile();
    let proxy = &pooled.proxy;
    let overview = get(proxy, "/").body;
    let escaped = "&lt;img src=x onerror=&quot;a&quot;&gt;&#39;\\u{202e}&amp;";
    assert!(overview.contains(escaped), "{overview}");
    let digest = "SELECT ? AS `&lt;/script&gt;&lt;script&gt;document.title=&#39;hacked&#39;";
    assert!(overview.contains(digest), "{overview}");
    let sessions = json(proxy, "/api/sessions");
    assert_eq!(sessions["sessions"][0]["user"], USER);
    let id = &sessions["sessions"][0]["id"];
    // Where links lead, and what comes back from there.
    let mut seen = vec!["/".to_owned(), "/login?next=%22%3E%3Cscript%3E".to_owned()];
    for at in 0.. {
        let Some(path) = seen.get(at).cloned() else {
            break;
        };
        let page = get(proxy, &path);
        assert!(
            !page
                .header("Content-Type")
                .unwrap()
                .starts_with("text/html")
                || page.status < 500
        );
        if page
            .header("Content-Type")
            .unwrap()
            .starts_with("text/html")
        {
            assert_clean(&page.body);
        }
        for link in page.body.split("href=\"").skip(1) {
            let link = link.split('"').next().unwrap().replace("&amp;", "&");
            assert!(link.starts_with('/') || link.starts_with('#'), "{link}");
            if !seen.contains(&link) && link.starts_with('/') {
                seen.push(link);
            }
        }
    }
    let session = seen.iter().filter(|path| path.starts_with("/session?"));
    assert!(
        session
            .clone()
            .any(|path| path.ends_with(&format!("id={id}"))),
        "{seen:?}"
    );
    assert!(
        seen.iter()
            .any(|path| path.starts_with("/sessions?listener=pooled%20%3C%2Fscript"))
    );
    assert!(
        seen.iter()
            .any(|path| path.starts_with("/action?do=pause&listener="))
    );
    // What a reader types comes back as text.
    let typed = get(
        proxy,
        "/sessions?user=%22%3E%3Cimg+src%3Dx%3E&state=%3Cscript%3E&listener=%22%3E%3Cscript%3E",
    );
    assert_eq!(typed.status, 200);
    assert_clean(&typed.body);
}

#[test]
fn hostile_names_do_not_leave_their_place_in_events() {
    let (pooled, _conn) = hostile();
    for path in ["/events", "/events?of=sessions"] {
        let event = Events::of(&pooled.proxy, path).next_text();
        assert!(
            !event.contains('\u{202e}') && event.contains("onerror"),
            "{event}"
        );
        serde_json::from_str::<serde_json::Value>(&event).unwrap();
    }
}

#[test]
fn browsers_are_told_to_run_and_load_nothing_else() {
    let pooled = with_page(|_| {});
    for path in [
        "/",
        "/sessions",
        "/login",
        "/page.js",
        "/page.css",
        "/icon.svg",
        "/api/now",
        "/metrics",
        "/nowhere",
        "/action?do=drain",
    ] {
        let response = get(&pooled.proxy, path);
        let header = |name: &str| {
            response
                .header(name)
                .unwrap_or_else(|| panic!("{path}: {name}"))
        };
        let policy = header("Content-Security-Policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert!(!policy.contains("unsafe"), "{policy}");
        assert_eq!(header("X-Content-Type-Options"), "nosniff", "{path}");
        assert_eq!(header("X-Frame-Options"), "DENY", "{path}");
        assert_eq!(header("Cache-Control"), "no-store", "{path}");
        assert!(response.header("Access-Control-Allow-Origin").is_none());
        assert!(response.header("Server").is_none());
    }
}

#[test]
fn a_page_of_this_machine_is_not_for_names_of_others() {
    let pooled = with_page(|config| config.web.hosts = vec!["proxy.example".into()]);
    let proxy = &pooled.proxy;
    let with_host = |path: &str, host: &str| {
        send(
            proxy,
            &format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"),
        )
        .status
    };
    let port = address(proxy).port();
    for path in ["/", "/api/now", "/events", "/login"] {
        for host in ["evil.example", "evil.example:80", "localhost.evil.example"] {
            assert_eq!(with_host(path, host), 421, "{path} {host}");
        }
    }
    for host in [
        format!("localhost:{port}"),
        format!("127.0.0.1:{port}"),
        "proxy.example".into(),
        "PROXY.example:443".into(),
    ] {
        assert_eq!(with_host("/", &host), 200, "{host}");
    }
    // Monitoring may have any name for it.
    assert_eq!(with_host("/metrics", "evil.example"), 200);
    assert_eq!(get_with(proxy, "/health", "").status, 200);
}
