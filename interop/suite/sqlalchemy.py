"""SQLAlchemy's own tests, by PyMySQL: its source distribution has them."""
import os, urllib.parse

import tools
from suite import pymysql

NAME = "SQLAlchemy"
VERSION = "2.0.44"
AT_LEAST = 1000
CLIENTS = ["clear"]
DATABASES = ["sqlalchemy", "test_schema"]
# Those that say much to a server. Most others compile statements and run none.
TESTS = ["test/dialect/test_suite.py", "test/dialect/mysql", "test/engine/test_execute.py", "test/engine/test_transaction.py",
         "test/engine/test_reconnect.py", "test/sql/test_query.py", "test/sql/test_resultset.py", "test/sql/test_insert_exec.py",
         "test/orm/test_transaction.py", "test/orm/test_unitofwork.py", "test/orm/test_session.py", "test/orm/test_versioning.py"]


def source():
    return tools.own() / f"sqlalchemy-{VERSION}"


def python():
    return tools.own() / "venv-sqlalchemy/bin/python"


def fetch():
    if not python().exists():
        pymysql.environment(python().parent.parent, "pytest", "PyMySQL[rsa]==1.2.4", f"SQLAlchemy=={VERSION}")
    if not source().exists():
        pymysql.source_distribution(python(), "SQLAlchemy", VERSION, source())


def prepare(server):
    server.sql(server.port, "".join(f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET utf8mb4;" for name in DATABASES))


def run(server, place):
    login = f"{server.user}:{urllib.parse.quote(server.password)}"
    url = f"mysql+pymysql://{login}@127.0.0.1:{place.port}/{DATABASES[0]}?charset=utf8mb4"
    report = tools.own() / "sqlalchemy.xml"
    report.unlink(missing_ok=True)
    done = tools.run([python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:logging", f"--junitxml={report}", f"--dburi={url}", *TESTS],
                     expect=None, timeout=1800, cwd=source(), env=os.environ | {"PYTHONDONTWRITEBYTECODE": "1"})
    return pymysql.verdicts_of(report, done), done.stdout
