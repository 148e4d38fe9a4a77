"""MariaDB's tests of its C interface, mariadb-client-test of package mariadb-test: prepared statements, cursors, long data."""
import os, pathlib, re, subprocess, tempfile

import tools
from suite import FAIL, PASS, mariadb_test

NAME = "mariadb-client-test"
AT_LEAST = 200
CLIENTS = ["clear", "unix"]
SECONDS = 60
# It removes what it made only if no database is given.
DATABASE = "client_test_db"


def fetch():
    mariadb_test.fetch()


def prepare(server):
    server.sql(server.port, f"DROP DATABASE IF EXISTS {DATABASE}")


def run(server, place):
    program = mariadb_test.folder() / "usr/bin/mariadb-client-test"
    way = ["--host=localhost", f"--socket={place.socket}"] if place.client == "unix" else ["--host=127.0.0.1", f"--port={place.port}"]
    command = [program, "--no-defaults", "--testcase", "--silent", *way, f"--user={server.user}", f"--password={server.password}"]
    environment = mariadb_test.environment(mariadb_test.folder())
    names = re.findall(r"^(test_\w+)$", tools.run([program, "--no-defaults", "-T"], env=environment, expect=None).stdout, re.M)
    found, said = {}, ""
    with tempfile.TemporaryDirectory(prefix="interop-") as folder:
        for name in ["log", "tmp"]:
            (pathlib.Path(folder) / name).mkdir()
        environment |= {"MYSQL_TMP_DIR": f"{folder}/tmp", "MYSQLTEST_VARDIR": folder}
        for name in names:
            try:
                done = tools.run([*command, f"--vardir={folder}", name], expect=None, timeout=SECONDS, cwd=folder, env=environment,
                                 errors="replace")
                found[name] = FAIL if done.returncode else PASS
                said += f"{name}: {done.returncode}\n{done.stdout[-1000:]}\n{done.stderr[-1000:]}\n"
            except subprocess.TimeoutExpired:
                found[name] = FAIL
                said += f"{name}: not at its end after {SECONDS} s\n"
    return found, said
