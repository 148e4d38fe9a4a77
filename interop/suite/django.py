"""Django's own tests, by PyMySQL: its source distribution has them."""
import json, os

import tools
from suite import FAIL, PASS, SKIP, pymysql, verdicts

NAME = "Django"
VERSION = "5.2.8"
AT_LEAST = 1000
CLIENTS = ["clear"]
# Those that say much to a server.
LABELS = ["aggregation", "annotations", "backends", "basic", "bulk_create", "constraints", "custom_lookups", "datetimes", "db_functions",
          "delete", "expressions", "get_or_create", "introspection", "lookup", "m2m_regress", "many_to_many", "model_fields", "queries",
          "schema", "select_for_update", "select_related", "transaction_hooks", "transactions", "update", "timezones"]
SETTINGS = """import pymysql
pymysql.version_info = (2, 2, 1, "final", 0)
pymysql.install_as_MySQLdb()
LOGIN = {login}
DATABASES = {{name: {{"ENGINE": "django.db.backends.mysql", "NAME": "django_" + name, "TEST": {{"CHARSET": "utf8mb4"}}, **LOGIN}}
             for name in ["default", "other"]}}
SECRET_KEY = "of the tests"
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = False
"""
# `-v 2` says a line for each test; its description, where it has one, comes between the name and the verdict.
LINE = r"^(?P<name>\w+ \([\w.]+\))(?:\n[^\n]*?)?? \.\.\. (?P<word>ok|FAIL|ERROR|skipped|expected failure)"
WORDS = {"ok": PASS, "FAIL": FAIL, "ERROR": FAIL, "skipped": SKIP, "expected failure": PASS}


def source():
    return tools.own() / f"django-{VERSION}"


def python():
    return tools.own() / "venv-django/bin/python"


def fetch():
    if not python().exists():
        pymysql.environment(python().parent.parent, "PyMySQL[rsa]==1.2.4", f"Django=={VERSION}")
    if not source().exists():
        pymysql.source_distribution(python(), "Django", VERSION, source())


def prepare(server):
    names = [f"{prefix}django_{name}" for prefix in ["", "test_"] for name in ["default", "other"]]
    server.sql(server.port, "".join(f"DROP DATABASE IF EXISTS {name};" for name in names))


def run(server, place):
    login = {"HOST": "127.0.0.1", "PORT": place.port, "USER": server.user, "PASSWORD": server.password}
    (tools.own() / "interop_settings.py").write_text(SETTINGS.format(login=json.dumps(login)))
    command = [python(), "runtests.py", "--settings=interop_settings", "--noinput", "--parallel=1", "-v", "2", *LABELS]
    done = tools.run(command, expect=None, timeout=1800, cwd=source() / "tests",
                     env=os.environ | {"PYTHONPATH": f"{tools.own()}:{source()}", "PYTHONDONTWRITEBYTECODE": "1"})
    return verdicts(LINE, done.stderr, WORDS), f"{done.stdout}\n{done.stderr}"
