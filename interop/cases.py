"""What is run, once to the server and once through the proxy."""
import contextlib, difflib, os, pathlib, re, signal, subprocess, tempfile, time, urllib.parse

import binlog, changes, large, mysql_client, tools
from front import Configured, Proxy, sharing, until
from tools import HERE, ROOT, Failure

WORKLOADS = ["oltp_point_select", "oltp_read_only", "oltp_read_write", "oltp_write_only", "oltp_insert", "oltp_delete",
             "oltp_update_index", "oltp_update_non_index", "select_random_points", "select_random_ranges", "bulk_insert"]

# Tests of the own client that can't pass with a proxy in between, or to a server without TLS, in either API, and why.
ENDS = "the proxy reports the backend's close with error 2013 before it closes, and the test expects a close without an error"
CLEAR_TEXT = "on MySQL its accounts need TLS or a Unix socket at their first login; it fails as well without the proxy"
CAN_FAIL = {
    "failures::a_connection_that_is_killed_says_that_it_is_closed": ENDS,
    "failures::a_connection_that_is_killed_in_a_query_says_that_it_is_closed": ENDS,
    "failures::a_connection_that_ends_itself_says_so": ENDS,
    "failures::a_connection_that_the_server_gave_up_says_so": ENDS,
    "cancels::after_a_change_of_user_orders_are_the_new_users": CLEAR_TEXT,
    "compression::the_server_says_that_the_session_is_compressed":
        "it asks the server, whose connection to the proxy is not compressed",
}

# The same where clients share connections.
COUNTS = "it counts by SHOW SESSION STATUS, which is that of the server connection: it keeps statements for others that a client has closed"
UNKNOWN_USER = "it logs in as a user that it has just created, which is none of the listener's accounts"
TOLD_LESS = "the listener offers neither MariaDB's cached metadata nor its id -1 for the statement that was prepared last"
POOLED_CAN_FAIL = {
    "bulk_prepared::full_batches_are_executions_of_one_statement": COUNTS,
    "exec::a_text_that_is_too_long_for_the_cache_is_executed_and_closed": COUNTS,
    "exec::the_oldest_text_makes_room_and_is_closed_with_the_next_command": COUNTS,
    "a_statement_closed_before_a_withdrawn_command_is_closed_on_the_server": COUNTS,
    "round_trips::nothing_is_asked_behind_the_login": COUNTS,
    "statements::a_closed_statement_is_closed_on_the_server_too": COUNTS,
    "auth::every_plugin_with_every_password_over_every_channel": UNKNOWN_USER,
    "auth::only_the_plugins_that_are_allowed_are_used": UNKNOWN_USER,
    "auth::the_user_is_changed_to_one_of_every_plugin": UNKNOWN_USER,
    "cancels::after_a_change_of_user_orders_are_the_new_users": UNKNOWN_USER,
    "factors::a_password_is_asked_for_at_each_login": UNKNOWN_USER,
    "pool::the_next_borrower_is_the_pools_own_user": UNKNOWN_USER,
    "definitions::the_servers_cached_metadata_is_used": TOLD_LESS,
    "exec::a_text_is_prepared_once_and_costs_one_round_trip_from_then_on": TOLD_LESS,
    "exec::in_a_transaction_too": TOLD_LESS,
    "failures::a_connection_that_the_server_gave_up_says_so":
        "a session that leaves nothing on its server connection outlives it, also when wait_timeout ends it",
    "failures::a_wrong_password_and_an_unknown_database_are_the_servers_errors":
        "a schema in the login that does not exist is an error of the first statement",
    "session::a_session_knows_its_server": "the client's id is the proxy's, and CONNECTION_ID() is that of its server connection",
}


# How lines of the batteries may begin where clients share connections, how they begin directly, and why they differ.
ID = "the client's id is the proxy's, by which it can be killed, and CONNECTION_ID() is that of its server connection"
CLOSED = "SHOW SESSION STATUS is that of the server connection, which keeps a statement for others that its client has closed"
LIMITS = [("kill: (False, ", "kill: (True, ", ID), ("its id: false", "its id: true", ID),
          ("statements closed: false", "statements closed: true", CLOSED)]


def same(what, direct, through):
    """Fails with the first lines that differ."""
    if direct == through:
        return
    lines = difflib.unified_diff(str(direct).splitlines(), str(through).splitlines(), "direct", "proxy", lineterm="", n=0)
    raise Failure(f"{what} differs: " + " ".join(line[:200] for line in list(lines)[:8]))


def mariadb(server, proxy):
    """Statements of all kinds in one script, with errors among them; rows kept and not kept."""
    script = (HERE / "statements.sql").read_text()
    # What the script drops at its beginning is there each time.
    server.sql(server.port, "DROP TABLE IF EXISTS interop; CREATE TABLE interop (a INT); "
               "DROP PROCEDURE IF EXISTS interop_results; CREATE PROCEDURE interop_results() DO 1", server.database)
    for options in [["--force"], ["--force", "--quick", "--table"], ["--force", "--vertical", "--compress"], ["--force", "--xml"]]:
        told = [tools.run(server.mariadb(port, "-vv", *options, server.database), input=script, expect=None)
                for port in [server.port, proxy.port]]
        timeless = [re.sub(r"\(\d+\.\d+ sec\)", "", done.stdout) for done in told]
        same(f"standard output with {' '.join(options)}", *timeless)
        same(f"standard error with {' '.join(options)}", told[0].stderr, told[1].stderr)
        if "ERROR 1146" not in told[0].stderr or "the last line" not in told[0].stdout:
            raise Failure(f"the script did not run: {told[0].stderr[-300:]}")


def mariadb_dump(server, proxy):
    """A dump of all types equals the direct one, and its reload through the proxy equals the first."""
    server.sql(server.port, "DROP DATABASE IF EXISTS types; CREATE DATABASE types; DROP DATABASE IF EXISTS again; CREATE DATABASE again")
    types = (HERE / "types.sql").read_text()
    if not server.is_mysql:
        types += (HERE / "types_mariadb.sql").read_text()
    server.sql(proxy.port, types, "types")
    options = ["--skip-comments", "--hex-blob", "--routines", "--triggers"]
    if server.is_mysql:
        options = ["--skip-comments", "--hex-blob", "--triggers"]  # routines' definitions are asked for as MariaDB has them
    dump = lambda port, database, *more: tools.run(
        server.mariadb(port, *options, *more, database, tool="mariadb-dump"), text=False).stdout
    direct = dump(server.port, "types")
    if direct.count(b"INSERT INTO") < 3 or len(direct) < 2 << 20:
        raise Failure(f"the dump has only {len(direct)} bytes")
    for more in [[], ["--single-transaction"], ["--skip-quick"], ["--skip-extended-insert"]]:
        same(f"the dump {' '.join(more)}", dump(server.port, "types", *more), dump(proxy.port, "types", *more))
    tools.run(server.mariadb(proxy.port, "again"), input=dump(proxy.port, "types"), text=False)
    same("the dump of the reload", direct, dump(server.port, "again"))
    return f"{len(direct) >> 10} KiB, dumped five ways and reloaded"


def load_data(server, proxy):
    """LOAD DATA LOCAL of a large, an empty and a missing file; the session continues behind each."""
    with tempfile.TemporaryDirectory() as folder:
        lines = "".join(f"{i}\t{'x' * (i % 500)}\n" for i in range(100_000))
        (large, empty) = (f"{folder}/large", f"{folder}/empty")
        open(large, "w").write(lines)
        open(empty, "w").close()
        script = ("DROP TABLE IF EXISTS loaded; CREATE TABLE loaded (a INT PRIMARY KEY, b TEXT); "
                  f"LOAD DATA LOCAL INFILE '{large}' INTO TABLE loaded; SELECT COUNT(*), SUM(LENGTH(b)), SUM(CRC32(b)) FROM loaded; "
                  f"LOAD DATA LOCAL INFILE '{empty}' INTO TABLE loaded; SELECT 'behind the empty one'; "
                  f"LOAD DATA LOCAL INFILE '{folder}/none' INTO TABLE loaded; SELECT 'behind the missing one'; "
                  f"LOAD DATA LOCAL INFILE '{large}' IGNORE INTO TABLE loaded; SHOW COUNT(*) WARNINGS; SELECT COUNT(*) FROM loaded;")
        told = [tools.run(server.mariadb(port, "--force", "--batch", "--local-infile=1", server.database), input=script, expect=None)
                for port in [server.port, proxy.port]]
        same("what it says", told[0].stdout, told[1].stdout)
        same("its errors", told[0].stderr, told[1].stderr)
        if "100000" not in told[0].stdout or "behind the missing one" not in told[0].stdout:
            raise Failure(f"it did not load: {told[0].stderr}")
    return f"{len(lines) >> 20} MiB"


def sysbench(server, proxy):
    """All of the oltp workloads, prepared and not: no error, no reconnect, and how fast."""
    common = [tools.program("sysbench"), "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-user={server.user}",
              f"--mysql-password={server.password}", f"--mysql-db={server.database}", "--threads=4"]
    rates = []
    for workload in WORKLOADS:
        # Neither of the two kinds takes several tables.
        tables = [] if workload == "bulk_insert" else ["--table-size=5000", f"--tables={1 if 'random' in workload else 2}"]
        for mode in ["auto", "disable"]:
            rate = {}
            for way, port in [("direct", server.port), ("proxy", proxy.port)]:
                # Each begins with the same rows: some workloads insert keys that would be there the second time.
                step = lambda what, *more: tools.run([*common, f"--mysql-port={port}", *more, workload, *tables, what]).stdout
                step("prepare")
                said = step("run", f"--db-ps-mode={mode}", f"--time={server.seconds}")
                step("cleanup")
                lost = re.search(r"reconnects:\s+(\d+)", said)
                queries = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", said)
                if not queries or int(queries[1]) < 10 or int(lost[1]) or "FATAL" in said:
                    raise Failure(f"{workload} with --db-ps-mode={mode} by the {way}: {said[-500:]}")
                rate[way] = float(queries[2])
            rates.append(rate["proxy"] / rate["direct"])
    return f"{len(rates)} runs, no reconnect; {min(rates):.2f} to {max(rates):.2f} of the direct rate"


def but_for_limits(said):
    """What was said, with the known limits as they are directly."""
    for pooled, direct, _ in LIMITS:
        said = re.sub(f"^{re.escape(pooled)}", direct, said, flags=re.M)
    return said


def battery(command):
    """A program that prints what it sees, given host, port, user, password, database."""

    def run(server, proxy):
        told = []
        for port in [server.port, proxy.port]:
            done = tools.run([*command(), "127.0.0.1", port, server.user, server.password, server.database])
            told.append(done.stdout if proxy.mode == "pass" else but_for_limits(done.stdout))
        same("what it saw", *told)
        checks = len(told[0].splitlines())
        if "the end" not in told[0] or checks < 20:
            raise Failure(f"it saw too little: {told[0]}")
        return f"{checks} lines of results, the same"

    return run


def own_client(server, proxy):
    """The own client's whole suite against a server, over each way to a proxy: TCP in clear text and by TLS, a Unix socket."""
    with changes.folder() as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        changes.certificate(path, "front", "-addext", "basicConstraints=critical,CA:FALSE")  # not the CA's own
        behind = [changes.backend(server), changes.backend(server, "socket"),
                  changes.backend(server) | {"tls": {"mode": "verify-full", "ca": server.authority}}]
        tls = {"certificate": "front.pem", "key": "front.key", "required": True}
        places = ["127.0.0.1:0", str(path / "front.sock"), "127.0.0.1:0"]
        listeners = [{"name": way, "listen": place, "backends": [backend]} | ({"tls": tls} if way == "TLS" else {})
                     for way, place, backend in zip(["TCP", "Unix socket", "TLS"], places, behind)]
        # A pool of the suite's own has a hundred connections, each of which reads something large at the same time.
        shared = sharing(server, proxy.mode, most=150) or {"compression": "both"}
        listeners = [listener | shared for listener in listeners]
        ours = stack.enter_context(Configured(path, listeners))
        ports = ours.ports(2)
        login = f"mysql://{server.user}:{urllib.parse.quote(server.password)}@"
        urls = {"TCP": f"{login}127.0.0.1:{ports[0]}/{server.database}",
                "a Unix socket": f"{login}localhost/{server.database}?socket={urllib.parse.quote(places[1])}",
                "TLS": f"{login}127.0.0.1:{ports[1]}/{server.database}?ssl-mode=verify-full&ssl-ca={path / 'front.pem'}"}
        can_fail = CAN_FAIL if proxy.mode == "pass" else CAN_FAIL | POOLED_CAN_FAIL
        told = [f"over {way} {suite(url, can_fail)}" for way, url in urls.items()]
        ours.stop()
        return "; ".join(told) + "; cases.py lists those that may fail, with the reason"


def suite(url, can_fail):
    """The own client's server tests by one URL; `can_fail`: those that can't pass there, and why."""
    verdicts, done = tests(url, [])
    passed = [name for name, verdict in verdicts.items() if verdict == "ok"]
    failed = sorted(set(verdicts) - set(passed))
    unexpected = [name for name in failed if name.split("::", 1)[1] not in can_fail]
    # On a busy machine one or the other fails now and then, also directly: those that fail alone as well, twice.
    for _ in range(2 if len(passed) >= 200 else 0):
        again = tests(url, unexpected)[0] if unexpected else {}
        for name in [name for name in unexpected if again.get(name) == "ok"]:
            tools.say(f"{name} failed once, and passes alone")
        unexpected = [name for name in unexpected if again.get(name) != "ok"]
    if unexpected or len(passed) < 200:
        log = tools.own() / "logs/own-client.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(done.stdout + done.stderr)
        raise Failure(f"{len(passed)} passed by {url}, failed: {' '.join(unexpected)}; {log} has what they said")
    failed = [name for name in failed if name.split("::", 1)[1] in can_fail]
    for test in failed:
        tools.say(f"{test} failed, as it may: {can_fail[test.split('::', 1)[1]]}")
    lacking = sorted(set(re.findall(r"^lacks: (.*)", done.stderr, re.M)))
    for line in lacking:
        tools.say(f"lacks: {line}")
    return f"{len(passed)} tests passed, {len(failed)} failed of those that may, and {len(lacking)} lacked something"


def tests(url, names):
    """Runs these of the own client's server tests, all where none is named: {test: verdict}, and what they said."""
    exact = ["--", "--exact", *names] if names else []
    command = ["cargo", "test", "-p", "onecopy-mysql", "--all-features", "--no-fail-fast", "--test", "server", *exact]
    done = tools.run(command, expect=None, timeout=1800, cwd=ROOT, env=os.environ | {"ONECOPY_TEST_MYSQL_URL": url})
    return dict(re.findall(r"^test (\S+) \.\.\. (ok|FAILED)", done.stdout, re.M)), done


def killed_client(server, proxy):
    """kill -9 of clients in all that they do: the proxy has nothing left of them a second later, or than the server has."""
    endless = "SELECT a.TABLE_NAME, REPEAT('x', 10000) FROM information_schema.COLUMNS a, information_schema.COLUMNS b"
    for text in ["SELECT SLEEP(60)", endless, "BEGIN; SELECT SLEEP(60)", None]:
        processes = []
        for _ in range(5):
            process = subprocess.Popen(server.mariadb(proxy.port, "--quick", server.database), stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, text=True)
            if text:
                process.stdin.write(text + ";\n")
                process.stdin.flush()
            processes.append(process)
        deadline = time.monotonic() + 10
        while proxy.descriptors() < proxy.idle + proxy.per_client * len(processes):
            if time.monotonic() > deadline:
                raise Failure("the clients did not come in")
            time.sleep(0.01)
        time.sleep(0.2)
        for process in processes:
            process.send_signal(signal.SIGKILL)
        for process in processes:
            process.wait()
        start = time.monotonic()
        if "SLEEP" in str(text):
            # A client that is gone and one that only has no more to say look the same until something is sent to it. The server,
            # who is told at once, looks after its clients every 5 seconds of a SLEEP.
            theirs = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{server.user}' AND INFO LIKE 'SELECT SLEEP(60)%'"
            until(lambda: server.sql(server.port, theirs).strip() == "0", "the server does not notice")
            if time.monotonic() - start > 10:
                raise Failure(f"it took {time.monotonic() - start:.1f} seconds until the server noticed")
            start = time.monotonic()
        proxy.settle(f"killed while at {text}")
        if time.monotonic() - start > 1:
            raise Failure(f"it took {time.monotonic() - start:.1f} seconds: {text}")
    return "20 clients; nothing is left of them a second later, or than the server has"


def killed_session(server, proxy):
    """A session that the server ends, idle, in a transaction and in a statement: the client says what it says without the proxy."""
    for text in ["SELECT 'idle'", "BEGIN; SELECT 'in a transaction'", "SELECT 'busy'; SELECT SLEEP(600)"]:
        told = []
        for port in [server.port, proxy.port]:
            client = subprocess.Popen(server.mariadb(port, "--skip-ssl", "--skip-reconnect", "--force", "--batch", "--unbuffered"), text=True,
                                      stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            client.stdin.write(f"SELECT CONNECTION_ID(); {text};\n")
            client.stdin.flush()
            client.stdout.readline()
            number = client.stdout.readline().strip()
            client.stdout.readline()
            client.stdout.readline()
            running = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {number} AND INFO LIKE '%SLEEP%'"
            until(lambda: "SLEEP" not in text or server.sql(server.port, running).strip() == "1", "the statement does not run")
            server.sql(server.port, f"KILL {number}")
            gone = f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = {number}"
            until(lambda: server.sql(server.port, gone).strip() == "0", "the session is not killed")
            said = client.communicate("SELECT 'behind it';\n", timeout=60)
            told.append((client.returncode, *said))
        same(f"what is said of the end of {text}", *told)
        if "ERROR" not in told[0][2]:
            raise Failure(f"nothing failed: {told[0]}")
    with Proxy.before(9) as nowhere:  # nobody listens there
        said = tools.run(server.mariadb(nowhere.port, "--skip-ssl"), input="", expect=1).stderr
        nowhere.stop()
    if not said.startswith("ERROR 1429 ") or "can't connect" not in said.lower():
        raise Failure(f"where there is no server the client says {said}")
    return "ended by the server while idle, in a transaction, in a statement; and where there is no server"


# All but `compressed`: shared connections are not compressed.
POOLED = ["mariadb", "mysql", "mariadb-dump", "load-data-local", "PyMySQL", "mysql-connector-python", "mysql2", "go-sql-driver",
          "killed-client", "sysbench", "large", "own-client", "killed-session", "binlog", "reload", "certificates", "drain"]

CASES = {
    "mariadb": mariadb,
    "mariadb-dump": mariadb_dump,
    "load-data-local": load_data,
    "PyMySQL": battery(lambda: [tools.python(), HERE / "python/battery.py", "pymysql"]),
    "mysql-connector-python": battery(lambda: [tools.python(), HERE / "python/battery.py", "connector"]),
    "mysql2": battery(lambda: ["env", f"NODE_PATH={tools.own() / 'node/node_modules'}", tools.program("node"), HERE / "node/battery.js"]),
    "go-sql-driver": battery(lambda: [tools.own() / "go-driver"]),
    "killed-client": killed_client,
    "killed-session": killed_session,
    "sysbench": sysbench,
    "own-client": own_client,
} | mysql_client.CASES | changes.CASES | large.CASES | binlog.CASES

# What the server of some of them has to be started with.
OPTIONS = {case: tuple(binlog.OPTIONS) for case in binlog.CASES}


def by_options(wanted):
    """The names of those that are wanted, all where none is named, by what their server is started with."""
    groups = {}
    for case in CASES:
        if not wanted or case in wanted:
            groups.setdefault(OPTIONS.get(case, ()), []).append(case)
    return groups
