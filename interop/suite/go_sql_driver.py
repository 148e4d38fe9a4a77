"""go-sql-driver's own tests: the Go module proxy has them in the module itself."""
import json, os

import tools
from suite import FAIL, PASS, SKIP, verdicts

NAME = "go-sql-driver"
VERSION = "v1.10.1"
AT_LEAST = 300
CLIENTS = ["clear", "unix", "tls", "zlib"]
DATABASE = "gotest"


def program():
    return tools.own() / f"go-sql-driver-{VERSION}.test"


def fetch():
    if program().exists():
        return
    tools.program("go")
    tools.say(f"building the tests of go-sql-driver {VERSION}")
    hint = "the Go module proxy can't be reached, or Go is older than 1.24"
    folder = tools.own() / "go-sql-driver"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "go.mod").write_text("module fetched\n")
    said = tools.step(["go", "mod", "download", "-json", f"github.com/go-sql-driver/mysql@{VERSION}"], hint, cwd=folder, capture=True)
    source = json.loads(said)["Dir"]
    tools.step(["go", "test", "-c", "-o", program(), "."], hint, cwd=source)


def prepare(server):
    server.sql(server.port, f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")


def run(server, place):
    address = ("unix", place.socket) if place.client == "unix" else ("tcp", f"127.0.0.1:{place.port}")
    # The suite appends `?timeout=30s` to the name and has no variable for more parameters, so that they go in here; what it
    # appends ends up in the value of the last one.
    more = {"tls": "?tls=skip-verify&connectionAttributes=suite:tls", "zlib": "?compress=true&connectionAttributes=suite:zlib"}
    environment = {"MYSQL_TEST_USER": server.user, "MYSQL_TEST_PASS": server.password, "MYSQL_TEST_PROT": address[0],
                   "MYSQL_TEST_ADDR": address[1], "MYSQL_TEST_DBNAME": DATABASE + more.get(place.client, ""),
                   "MYSQL_TEST_CONCURRENT": "1"}
    done = tools.run([program(), "-test.v", "-test.timeout=15m"], expect=None, timeout=1000, env=os.environ | environment,
                     cwd=tools.own())
    return verdicts(r"--- (?P<word>PASS|FAIL|SKIP): (?P<name>\S+) \(", done.stdout, {"PASS": PASS, "FAIL": FAIL, "SKIP": SKIP}), done.stdout
