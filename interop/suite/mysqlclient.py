"""mysqlclient's own tests, which its source distribution has: Python over MariaDB's C library."""
import os

import tools
from suite import pymysql

NAME = "mysqlclient"
VERSION = "2.3.2"
AT_LEAST = 50
CLIENTS = ["clear", "unix", "tls"]
DATABASE = "mysqlclient"


def source():
    return tools.own() / f"mysqlclient-{VERSION}"


def python():
    return tools.own() / "venv-mysqlclient/bin/python"


def fetch():
    tools.program("pkg-config")
    # With its headers the library is there.
    tools.program("mariadb_config")
    if not python().exists():
        pymysql.environment(python().parent.parent, "pytest", f"mysqlclient=={VERSION}")
    if not source().exists():
        pymysql.source_distribution(python(), "mysqlclient", VERSION, source())


def prepare(server):
    server.sql(server.port, f"DROP DATABASE IF EXISTS {DATABASE}; CREATE DATABASE {DATABASE} CHARACTER SET utf8mb4")


def run(server, place):
    options = tools.own() / "mysqlclient.cnf"
    lines = [f'user="{server.user}"', f'password="{server.password}"', f"database={DATABASE}", "default-character-set=utf8mb4"]
    lines += [f"socket={place.socket}"] if place.client == "unix" else ["host=127.0.0.1", f"port={place.port}", "protocol=tcp"]
    lines += ["ssl-enforce=1"] if place.client == "tls" else ["skip-ssl"]
    options.write_text("\n".join(["[MySQLdb-tests]", *lines, ""]))
    report = tools.own() / "mysqlclient.xml"
    report.unlink(missing_ok=True)
    # The package is the one that was built, not the source beside the tests.
    done = tools.run([python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", "."], expect=None, timeout=900,
                     cwd=source() / "tests", env=os.environ | {"TESTDB": str(options), "PYTHONDONTWRITEBYTECODE": "1"})
    return pymysql.verdicts_of(report, done), done.stdout
