"""What changes under load: the configuration, certificates, and the end. No statement may fail that the change did not ask for."""
import contextlib, copy, pathlib, re, signal, socket, ssl, struct, subprocess, tempfile, threading, time

import tools
from front import PATIENCE, Configured, sharing, until
from ledger import OUTSIDE, Ledger, counted, expect
from tools import Failure

# Error codes: the server goes (the proxy's own); clients that find their connection gone; nobody listens.
SHUTDOWN, GONE, LOST, REFUSED, SOCKET_REFUSED = 1053, 2006, 2013, 2003, 2002


def folder():
    return tempfile.TemporaryDirectory(prefix="interop-")


def backend(server, way="tcp"):
    return {"name": way, "server": server.socket if way == "socket" else f"127.0.0.1:{server.port}"}


class Sysbench:
    """sysbench's own read and write workload, prepared and not; it knows nothing of what happens."""

    def __init__(self, server, port, seconds, threads=8, options=(), cwd=None):
        self.common = [tools.program("sysbench"), "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-user={server.user}",
                       f"--mysql-password={server.password}", f"--mysql-db={server.database}", "--tables=2", "--table-size=5000"]
        self.direct = f"--mysql-port={server.port}"
        for step in ["cleanup", "prepare"]:
            tools.run([*self.common, self.direct, "oltp_read_write", step])
        self.programs = [subprocess.Popen([*self.common, f"--mysql-port={port}", f"--threads={threads // 2}", f"--time={seconds}",
                                           f"--db-ps-mode={mode}", *options, "oltp_read_write", "run"],
                                          text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd)
                         for mode in ["auto", "disable"]]

    def end(self):
        """Its queries; none has failed, and no connection was lost."""
        queries = 0
        for program in self.programs:
            said = program.communicate(timeout=600)[0]
            lost, done = re.search(r"reconnects:\s+(\d+)", said), re.search(r"queries:\s+(\d+)", said)
            if program.returncode or not done or int(lost[1]) or "FATAL" in said:
                raise Failure(f"sysbench ended with {program.returncode}: {said[-500:]}")
            queries += int(done[1])
        tools.run([*self.common, self.direct, "oltp_read_write", "cleanup"])
        return queries

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for program in self.programs:
            if program.poll() is None:
                program.kill()
                program.wait()


class Client:
    """The mariadb client, which is told a line and asked for the answer to it."""

    def __init__(self, server, port):
        command = server.mariadb(port, "--batch", "--skip-column-names", "--unbuffered", "--force", "--skip-reconnect", server.database)
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.ask("SELECT 'there'", "there")

    def tell(self, sql):
        self.process.stdin.write(sql + ";\n")
        self.process.stdin.flush()

    def hear(self, pattern):
        line = self.line()
        if line.startswith("-----"):  # the statement that failed, before its error
            while not self.line().startswith("-----"):
                pass
            line = self.line() or self.line()
        if not re.search(pattern, line):
            raise Failure(f"a client heard {line!r} and not {pattern!r}")

    def line(self):
        timer = threading.Timer(PATIENCE, self.process.kill)
        timer.start()
        line = self.process.stdout.readline()
        timer.cancel()
        if not line:
            raise Failure("a client ended")
        return line.rstrip("\n")

    def ask(self, sql, pattern):
        self.tell(sql)
        return self.hear(pattern)

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()


def reload(server, before):
    """The file changes and SIGHUP is sent, while transactions run and clients come and go."""
    with folder() as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        listeners = [{"name": "front", "listen": "127.0.0.1:0", "backends": [backend(server)]} | sharing(server, before.mode)]
        tables = {"": {}, "health": {}, "drain": {}}
        Ledger.prepare(server)
        proxy = stack.enter_context(Configured(path, listeners, tables))
        seconds = 15 * server.seconds
        sysbench = stack.enter_context(Sysbench(server, proxy.port, seconds))
        ledger = stack.enter_context(Ledger(server, proxy.port, path, seconds, clients=8, reconnect_after=5))
        progress(ledger)
        second = {"name": "second", "listen": str(path / "second"), "backends": [backend(server, "socket")]} | sharing(server, before.mode)
        front = listeners[0]
        changes = [
            ("max-connections: 100000 -> 1000", lambda: tables[""].update({"max-connections": 1000})),
            ("max-user-connections: any number -> 500", lambda: front.update({"max-user-connections": 500})),
            ("idle-timeout: off -> 600s", lambda: front.update({"idle-timeout": "10m"})),
            (r"handshake-timeout: \d+s -> 30s", lambda: front.update({"handshake-timeout": "30s"})),
            ("keepalive: 60s -> 10s", lambda: front.update({"keepalive": "10s"})),
            ("queue-timeout: 0ns -> 5s", lambda: tables[""].update({"queue-timeout": "5s"})),
            (r"memory: \d+ -> 33554432", lambda: tables[""].update({"memory": "32MiB"})),
            ("health.interval: 5s -> 1s", lambda: tables["health"].update({"interval": "1s"})),
            ("drain.timeout: 10s -> 20s", lambda: tables["drain"].update({"timeout": "20s"})),
            ("backend 'socket' is new", lambda: front["backends"].append(backend(server, "socket"))),
            ("weight: 1 -> 3", lambda: front["backends"][0].update({"weight": 3})),
            ("mysql 'second' is new", lambda: listeners.append(second)),
            ("mysql 'second' is gone", lambda: listeners.remove(second)),
            ("reloaded: nothing has changed", lambda: None),
        ]
        taken = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        # Each has a right change as well, after which no client could connect.
        refused = [
            ("unknown key `idle-timeuot`", lambda listener, _: listener.update({"idle-timeuot": "1s"})),
            ("No such file", lambda listener, _: listener.update({"tls": {"certificate": "none", "key": "none"}})),
            (f"can't listen on 127.0.0.1:{taken}", lambda listener, _: listener.update({"listen": [listener["listen"], f"127.0.0.1:{taken}"]})),
            ("a change of `workers` needs a restart", lambda _, tables: tables[""].update({"workers": 7})),
            ("this listener has no backend", lambda listener, _: listener.update({"backends": []})),
        ]
        for number, (expected, change) in enumerate(changes):
            change()
            proxy.put(listeners, tables)
            proxy.reload(expected)
            if expected == "mysql 'second' is new":
                other = server.mariadb(0, "--batch", "--skip-column-names")
                other = [f"--socket={path / 'second'}" if word.startswith("--port=") else word for word in other if "--host" not in word]
                if tools.run(other, input="SELECT 'in'").stdout != "in\n":
                    raise Failure("the new listener does not serve")
            if number < len(refused):
                why, spoil = refused[number]
                wrong = copy.deepcopy((listeners, tables))
                wrong[1][""]["max-connections"] = 1
                spoil(wrong[0][0], wrong[1])
                proxy.put(*wrong)
                proxy.reload(f"^not reloaded, nothing has changed: .*{why}")
            progress(ledger)
        proxy.write("this is no TOML")
        proxy.reload("^not reloaded, nothing has changed: ")
        progress(ledger)
        failed, refused_clients, transfers = ledger.end()
        queries = sysbench.end()
        if failed or refused_clients:
            raise Failure(f"{len(failed)} statements and {len(refused_clients)} logins failed: {(failed + refused_clients)[:3]}")
        proxy.stop()
        return f"{len(changes)} reloads and {len(refused) + 1} that were refused under {queries} queries and {transfers} transfers, none failed"


def progress(ledger, transfers=30):
    """Waits for some transfers more."""
    enough = ledger.committed() + transfers
    until(lambda: ledger.committed() >= enough or ledger.is_over(), "nothing is transferred any more")
    if ledger.is_over():
        raise Failure("the transfers were over before the changes were: give them more time, with --seconds")


def certificates(server, before):
    """Certificates are replaced on disk, while TLS sessions work and new ones are made all the time."""
    with folder() as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        shown = [certificate(path, f"authority-{number}") for number in range(3)]
        put = lambda number, *what: [(path / f"server.{ending}.part").write_bytes((path / f"authority-{number}.{ending}").read_bytes())
                                     and (path / f"server.{ending}.part").rename(path / f"server.{ending}") for ending in what]
        put(0, "pem", "key")
        # sysbench looks for these files; it trusts all of the CAs.
        (path / "cacert.pem").write_text("".join((path / f"authority-{number}.pem").read_text() for number in range(3)))
        for ending in ["pem", "key"]:
            (path / {"pem": "client-cert.pem", "key": "client-key.pem"}[ending]).write_bytes((path / f"authority-0.{ending}").read_bytes())
        tls = {"certificate": "server.pem", "key": "server.key", "required": True}
        listeners = [{"name": "front", "listen": "127.0.0.1:0", "tls": tls, "backends": [backend(server)]} | sharing(server, before.mode)]
        tables = {"": {"certificate-interval": "100ms"}}
        Ledger.prepare(server)
        proxy = stack.enter_context(Configured(path, listeners, tables))
        # A busy machine takes twice the time for all changes.
        seconds = 15 * server.seconds
        encrypted = ["--mysql-ssl=on"]
        stays, comes = path / "stays", path / "comes"
        for one in [stays, comes]:
            one.mkdir()
            for file in ["cacert.pem", "client-cert.pem", "client-key.pem"]:
                (one / file).write_bytes((path / file).read_bytes())
        sysbench = stack.enter_context(Sysbench(server, proxy.port, seconds, threads=4, options=encrypted, cwd=path))
        staying = stack.enter_context(Ledger(server, proxy.port, stays, seconds, clients=6, options=encrypted))
        coming = stack.enter_context(Ledger(server, proxy.port, comes, seconds, clients=6, options=encrypted, reconnect_after=2, first=100))
        seen = lambda number: presented(proxy.port, path / f"authority-{number}.pem") == shown[number]
        progress(staying)
        if not seen(0):
            raise Failure("the first certificate is not shown")
        changes = 0
        for number in [1, 2, 0, 1]:
            before = {1: 0, 2: 1, 0: 2}[number]
            # The certificate alone does not do, nor does half of a key.
            put(number, "pem")
            for half in [path.joinpath(f"authority-{number}.key").read_bytes()[:40], None]:
                if half:
                    (path / "server.key").write_bytes(half)
                progress(coming, 10)
                if not seen(before):
                    raise Failure("something else than the certificate before is shown while the new one is not whole")
                put(before, "key")
            put(number, "key")
            until(lambda: seen(number), "the new certificate is not shown")
            changes += 1
            progress(staying)
            progress(coming)
        # Another file, by a reload.
        tls.update({"certificate": "authority-2.pem", "key": "authority-2.key"})
        proxy.put(listeners, tables)
        proxy.reload("tls is set otherwise")
        until(lambda: seen(2), "the certificate of the new file is not shown")
        progress(staying)
        results = [staying.end(), coming.end()]
        queries = sysbench.end()
        if any(failed or refused for failed, refused, _ in results):
            raise Failure(f"statements or logins failed: {results}"[:500])
        logins = int(proxy.metric("onecopy_logins_total"))
        proxy.stop()
        return f"{changes + 1} changes under {queries + sum(6 * count for *_, count in results)} queries and {logins} TLS logins, none failed"


def certificate(path, name, *more):
    """Makes one that vouches for itself; gives its bytes."""
    tools.run([tools.program("openssl"), "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "7",
               "-subj", f"/CN={name}", "-addext", "subjectAltName=IP:127.0.0.1,DNS:localhost", "-out", path / f"{name}.pem",
               "-keyout", path / f"{name}.key", *more])
    return ssl.PEM_cert_to_DER_cert((path / f"{name}.pem").read_text())


def presented(port, authority):
    """The certificate that a new client is shown, `None` if the CA has not signed it."""
    context = ssl.create_default_context(cafile=authority)
    with socket.create_connection(("127.0.0.1", port), PATIENCE) as stream:
        greeting = stream.recv(65536)
        # PROTOCOL_41, SECURE_CONNECTION, SSL; packets of 16 MiB; utf8mb4.
        request = struct.pack("<IIB23x", 0x8A00, 1 << 24, 45)
        stream.sendall(len(request).to_bytes(3, "little") + bytes([greeting[3] + 1]) + request)
        try:
            with context.wrap_socket(stream, server_hostname="127.0.0.1") as encrypted:
                return encrypted.getpeercert(True)
        except ssl.SSLCertVerificationError:
            return None


def drain(server, before):
    """A proxy is stopped under load while another takes its place; a backend goes from the file; an administrator drains."""
    mode = before.mode
    gone = removed(server) if mode == "pass" else removed_from_pool(server, mode)
    return "; ".join([replaced(server, mode), gone, ordered(server, mode)])


def replaced(server, mode):
    """SIGTERM: health first, sessions at the end of their transactions, the rest at the deadline. The next one serves meanwhile."""
    with folder() as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        wait, timeout = 2, 6
        tables = {"drain": {"wait": f"{wait}s", "timeout": f"{timeout}s"}}
        listeners = [{"name": "front", "listen": "127.0.0.1:0", "backends": [backend(server)]} | sharing(server, mode)]
        Ledger.prepare(server)
        server.sql(server.port, "DROP TABLE IF EXISTS held; CREATE TABLE held (a INT) ENGINE = InnoDB", server.database)
        first = stack.enter_context(Configured(path, listeners, tables, "first"))
        port = first.port
        ledger = stack.enter_context(Ledger(server, port, path, 10 * server.seconds))
        progress(ledger, 200)
        ends, hangs, idle, works, waits = [stack.enter_context(Client(server, port)) for _ in range(5)]
        for number, client in enumerate([ends, hangs]):
            client.ask(f"BEGIN; INSERT INTO held VALUES ({number}); SELECT 'in it'", "in it")
        # One statement that ends in time, begun before the drain, and one that does not.
        works.tell(f"SELECT 'slept', SLEEP({wait + timeout // 2})")
        waits.tell("SELECT SLEEP(600)")
        until(lambda: sleeping(server) == 2, "the statements are not under way")
        if first.http("/health")[0] != 200:
            raise Failure("it is not healthy before the drain")
        began = time.monotonic()
        first.signal(signal.SIGTERM)
        until(lambda: first.http("/health")[0] == 503, "health does not turn")
        # Until balancers have seen that, everybody is served.
        with Client(server, port) as late:
            late.ask("SELECT 'served'", "served")
        turned = time.monotonic() - began
        if turned > wait:
            tools.say(f"health and one client took {turned:.1f} s of a machine under load; nothing is said of the wait")
        until(lambda: not listens(port), "it keeps listening")
        if time.monotonic() - began < wait:
            raise Failure("it did not wait for balancers")
        # The same port is free already.
        listeners[0]["listen"] = f"127.0.0.1:{port}"
        second = stack.enter_context(Configured(path, listeners, tables, "second"))
        idle.ask("SELECT 'left'", f"ERROR {SHUTDOWN} ")
        ends.ask("INSERT INTO held VALUES (10); SELECT 'still in it'", "still in it")
        ends.tell("COMMIT")
        works.hear("slept\t0")
        waits.hear(f"ERROR {SHUTDOWN} ")
        first.end()
        # Not before: a COMMIT that is under way at the deadline is done by the server, and its client gets the error.
        hangs.ask("COMMIT", f"ERROR {SHUTDOWN} ")
        took = time.monotonic() - began
        if not wait + timeout <= took < wait + timeout + PATIENCE:
            raise Failure(f"the drain took {took:.1f} s, with a wait of {wait} and a deadline {timeout} later")
        progress(ledger, 200)
        if (held := server.sql(server.port, "SELECT a FROM held ORDER BY a", server.database).split()) != ["0", "10"]:
            raise Failure(f"transactions left {held} and not 0 and 10")
        failed, refused, transfers = ledger.end()
        expect(failed, {SHUTDOWN}, "the drain")
        expect(refused, {REFUSED, SOCKET_REFUSED}, "logins")
        if len({failure.client for failure in failed}) != 12 or len(failed) != 12:
            raise Failure(f"each of 12 clients was to lose one connection: {failed}")
        second.stop()
        return f"a proxy replaced under {transfers} transfers: {counted(failed)} outside of transactions, connects refused: {counted(refused)}, drained in {took:.1f} s"


def sleeping(server):
    return int(server.sql(server.port, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT%SLEEP(%' "
                          f"AND USER = '{server.user}' AND ID <> CONNECTION_ID()"))


def listens(port):
    try:
        socket.create_connection(("127.0.0.1", port), PATIENCE).close()
    except ConnectionError:
        return False
    return True


def removed(server):
    """One of two backends goes from the file, and comes back: nobody on the other one notices."""
    with folder() as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        both = [backend(server, "tcp"), backend(server, "socket")]
        listeners = [{"name": "front", "listen": "127.0.0.1:0", "backends": both}]
        tables = {"drain": {"timeout": "20s"}}
        Ledger.prepare(server)
        proxy = stack.enter_context(Configured(path, listeners, tables))
        ledger = stack.enter_context(Ledger(server, proxy.port, path, 8 * server.seconds))
        progress(ledger, 100)
        sessions = lambda: {row[1]: int(row[10]) for row in servers(proxy)}
        if sessions() != {"tcp": 6, "socket": 6}:
            raise Failure(f"12 clients are spread as {sessions()}")
        with Client(server, proxy.port) as open_one, Client(server, proxy.port) as other:
            for client in [open_one, other]:
                client.ask("BEGIN; SELECT 'in it'", "in it")
            listeners[0]["backends"] = both[:1]
            proxy.put(listeners, tables)
            proxy.reload("backend 'socket' was removed")
            progress(ledger, 100)
            # Neither of them has left; one of them is on the backend that is gone.
            for client in [open_one, other]:
                client.ask("SELECT 'still in it'", "still in it")
                client.tell("COMMIT")
        until(lambda: sessions() == {"tcp": 12}, "the sessions did not move")
        # No new ones come where there is no weight, and nobody is sent away.
        listeners[0]["backends"] = [both[0] | {"weight": 0}, both[1]]
        proxy.put(listeners, tables)
        proxy.reload("backend 'socket' is new")
        with Client(server, proxy.port):
            if sessions() != {"tcp": 12, "socket": 1}:
                raise Failure(f"with a weight of 0 on the first one, sessions are spread as {sessions()}")
        progress(ledger, 100)
        failed, refused, transfers = ledger.end()
        expect(failed, {SHUTDOWN}, "the backend that is gone")
        if refused or any(failure.backend != "socket" for failure in failed) or len(failed) != 6 or len({failure.client for failure in failed}) != 6:
            raise Failure(f"6 clients of one backend were to lose one connection each: {failed} {refused}")
        proxy.stop()
        return f"a backend removed under {transfers} transfers: {counted(failed)}, none on the other one"


def removed_from_pool(server, mode):
    """One of two backends of clients that share connections goes from the file. Those of the ledger are pinned, as they have asked for the
    id of their connection: they end between two transactions. Nobody else notices."""
    with folder() as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        both = [backend(server, "tcp"), backend(server, "socket")]
        listeners = [{"name": "front", "listen": "127.0.0.1:0", "backends": both} | sharing(server, mode)]
        tables = {"drain": {"timeout": "600s"}}
        Ledger.prepare(server)
        proxy = stack.enter_context(Configured(path, listeners, tables))
        ledger = stack.enter_context(Ledger(server, proxy.port, path, 8 * server.seconds))
        progress(ledger, 100)
        with contextlib.ExitStack() as clients:
            some = [clients.enter_context(Client(server, proxy.port)) for _ in range(8)]
            for client in some:
                client.ask("BEGIN; SELECT 'in it'", "in it")
            listeners[0]["backends"] = both[:1]
            proxy.put(listeners, tables)
            proxy.reload("backend 'socket' was removed")
            progress(ledger, 100)
            # Clients are spread evenly: half of these stay for their transactions, and those of the ledger leave.
            stay = len(some) // 2
            until(lambda: connections_over_socket(server) == stay, f"not {stay} connections stay on the backend that is gone, for transactions")
            progress(ledger, 100)
            for client in some:
                client.ask("SELECT 'still in it'", "still in it")
                client.ask("COMMIT; SELECT 'after it'", "after it")
            until(lambda: connections_over_socket(server) == 0, "the sessions did not leave")
            progress(ledger, 100)
        failed, refused, transfers = ledger.end()
        expect(failed, {SHUTDOWN}, "the backend that is gone")
        clients = {failure.client for failure in failed}
        if refused or any(failure.backend != "socket" for failure in failed) or not 0 < len(failed) == len(clients) < 12:
            raise Failure(f"some clients of one backend were to lose one connection each: {failed} {refused}"[:500])
        proxy.stop()
        return (f"a backend removed under {transfers} transfers: {counted(failed)} for pinned sessions, none for others, "
                f"{stay} of which were in transactions there")


def connections_over_socket(server):
    """Those of the proxy: over TCP they have a port."""
    return int(server.sql(server.port, f"SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = '{server.user}' "
                          "AND HOST NOT LIKE '%:%' AND ID <> CONNECTION_ID()"))


def servers(proxy):
    return proxy.administer("SHOW SERVERS")


def ordered(server, mode):
    """DRAIN by an administrator: all sessions end, no new ones are accepted, and the process stays until it is stopped."""
    with folder() as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        listeners = [{"name": "front", "listen": "127.0.0.1:0", "backends": [backend(server)]} | sharing(server, mode)]
        proxy = stack.enter_context(Configured(path, listeners))
        idle = stack.enter_context(Client(server, proxy.port))
        proxy.administer("DRAIN")
        idle.ask("SELECT 'left'", f"ERROR {SHUTDOWN} ")
        until(lambda: not listens(proxy.port), "it keeps listening")
        until(lambda: proxy.administer("SHOW CLIENTS") == [], "somebody is left")
        if proxy.http("/health")[0] != 503 or proxy.process.poll() is not None:
            raise Failure("a proxy that was drained is healthy, or gone")
        proxy.reload("^not reloaded, nothing has changed: ")
        proxy.stop()
        return "drained by an administrator"


CASES = {"reload": reload, "certificates": certificates, "drain": drain}
