"""Binary logs: what mariadb-binlog and mysqlbinlog read of a server, whole, as they are written, and cut off."""
import pathlib, re, signal, subprocess, tempfile

import tools
from front import until
from tools import Failure

# What the server has to be started with.
OPTIONS = ["--log-bin=binlog", "--server-id=1", "--binlog-format=ROW"]


def binlog(server, proxy):
    """Dumps equal the direct ones and the server's own files; one that waits for more continues until somebody ends it."""
    write(server)
    files = [row.split()[0] for row in server.sql(server.port, "SHOW BINARY LOGS").splitlines()]
    with tempfile.TemporaryDirectory(prefix="interop-") as name:
        folder = pathlib.Path(name)
        # The server writes events of its own into the last one when it likes.
        size = whole(server, proxy, folder, files[:-1])
        refused(server, proxy)
        followed(server, proxy, folder, files[-1], "the client")
        followed(server, proxy, folder, files[-1], "the server")
    return f"{len(files)} files, {size >> 20} MiB, as text and as they are; followed until the client was killed, and until the server ended it"


def write(server):
    """Events of all sizes in several files, one of more than 16 MiB."""
    statements = ["RESET MASTER" if not server.is_mysql else "RESET BINARY LOGS AND GTIDS", "DROP TABLE IF EXISTS logged",
                  "CREATE TABLE logged (id INT PRIMARY KEY AUTO_INCREMENT, a LONGBLOB)"]
    for length in [0, 1, 1000, 100_000, 16_777_100, 20_000_000]:
        statements.append(f"INSERT INTO logged (a) VALUES (REPEAT('b', {length}))")
        statements.append("FLUSH BINARY LOGS")
    statements += ["INSERT INTO logged (a) SELECT 'row' FROM information_schema.COLUMNS LIMIT 1000", "DELETE FROM logged WHERE id < 3",
                   "FLUSH BINARY LOGS"]
    server.sql(server.port, "; ".join(statements), server.database)


def reader(server, port, *more):
    """The server's own: MariaDB's reads no newer server's log than it knows, and none of MySQL's."""
    name, clear = ("mysqlbinlog", "--ssl-mode=DISABLED") if server.is_mysql else ("mariadb-binlog", "--skip-ssl")
    program = [tools.program(name)] if server.name == "machine" else tools.of_server(server.name, name)
    return program + server.mariadb(port, "--read-from-remote-server", clear, *more)[1:]


def whole(server, proxy, folder, files):
    """All files, as statements and as they are on the server's disk."""
    told = [tools.run(reader(server, port, *files), text=False) for port in [server.port, proxy.port]]
    if told[0].stdout != told[1].stdout or told[0].stderr != told[1].stderr:
        raise Failure(f"the dump of {len(told[0].stdout)} bytes is otherwise through the proxy, {len(told[1].stdout)} bytes")
    for way, port in [("direct", server.port), ("proxy", proxy.port)]:
        (folder / way).mkdir()
        tools.run(reader(server, port, "--raw", f"--result-file={folder / way}/", *files))
    disk = pathlib.Path(server.sql(server.port, "SELECT @@log_bin_basename").strip()).parent
    size = 0
    for file in files:
        (direct, through, own) = [(place / file).read_bytes() for place in [folder / "direct", folder / "proxy", disk]]
        size += len(direct)
        if through != direct:
            raise Failure(f"{file} has {len(through)} bytes through the proxy and {len(direct)} without it, and is not the same")
        if own != direct:
            raise Failure(f"{file} is not what the server has")
    if size < 35 << 20:
        raise Failure(f"the files have only {size} bytes")
    return size


def refused(server, proxy):
    """A file that is not there, and a place in the middle of an event: the server ends the dump with its own error."""
    for more in [["binlog.999999"], ["--start-position=2000000000", "binlog.000001"]]:
        told = [tools.run(reader(server, port, *more), expect=None) for port in [server.port, proxy.port]]
        same = [(done.returncode, done.stdout, done.stderr) for done in told]
        if same[0] != same[1] or "ERROR" not in told[0].stderr:
            raise Failure(f"what is not there is told otherwise: {told[0].stderr!r} and {told[1].stderr!r}")


def followed(server, proxy, folder, file, who):
    """A dump that waits for more gets it; then one of both ends it, and nothing is left."""
    ended = []
    for way, port in [("direct", server.port), ("proxy", proxy.port)]:
        target = folder / f"{way}-{who.split()[1]}"
        target.mkdir()
        process = subprocess.Popen([str(word) for word in reader(server, port, "--raw", "--stop-never", f"--result-file={target}/", file)],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        mark = f"{who} {way} is told"
        server.sql(server.port, f"INSERT INTO logged (a) VALUES ('{mark}')", server.database)
        is_there = lambda: any(mark.encode() in path.read_bytes() for path in target.iterdir())
        until(lambda: is_there() or process.poll() is not None, "the event did not come")
        dump = server.sql(server.port, "SELECT ID FROM information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'").split()
        if len(dump) != 1 or not is_there():
            raise Failure(f"by the {way}: {len(dump)} dumps, {process.communicate()[1]}")
        if who == "the client":
            process.send_signal(signal.SIGKILL)
        else:
            server.sql(server.port, f"KILL {dump[0]}")
        out, error = process.communicate(timeout=60)
        # For the same error 2013 the proxy's words say who has gone, where a client's library takes them from a server.
        error = re.sub("Lost connection to backend '.*' .*: it closed the connection",
                       "Lost connection to MySQL server during query", error)
        ended.append((process.returncode, out, error))
        # The server, and the proxy with it, notices that its client is gone when there is something to say.
        gone = lambda: not server.sql(server.port, "INSERT INTO test.logged (a) VALUES ('more'); SELECT ID FROM "
                                      "information_schema.PROCESSLIST WHERE COMMAND LIKE 'Binlog Dump%'").split()
        until(gone, "the server's thread is left")
        if way == "proxy":
            proxy.settle(f"a dump that {who} ended")
    if ended[0] != ended[1]:
        raise Failure(f"ended by {who} it is told otherwise: {ended[0]} and {ended[1]}")


CASES = {"binlog": binlog}
