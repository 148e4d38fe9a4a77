"""PyMySQL's own tests: the Python package index has none of its releases' tests, Debian's source package has them."""
import json, os, shutil, sys, xml.etree.ElementTree

import tools
from suite import FAIL, PASS, SKIP

NAME = "PyMySQL"
SUITE, PACKAGE, VERSION = "trixie", "python-pymysql", "1.1.1"
AT_LEAST = 100
CLIENTS = ["clear", "unix", "tls"]
# What the suite's own continuous integration makes.
DATABASES = ["test1", "test2"]


def source():
    return tools.own() / f"pymysql-{VERSION}"


def python():
    return tools.own() / "venv-pytest/bin/python"


def fetch():
    if not source().exists():
        tools.source_package(SUITE, PACKAGE, VERSION, source())
    if not python().exists():
        environment(python().parent.parent, "pytest", "cryptography", "PyNaCl")


def environment(folder, *packages):
    """A virtual environment with packages of the Python package index."""
    tools.say(f"fetching {', '.join(packages)} into a virtual environment")
    tools.step([sys.executable, "-m", "venv", folder], "python3-venv is needed")
    try:
        tools.step([folder / "bin/python", "-m", "pip", "install", "--quiet", *packages], "the Python package index can't be reached")
    except tools.Failure:
        shutil.rmtree(folder)
        raise


def source_distribution(python, name, version, folder):
    """The unpacked source of a package of the Python package index."""
    tools.say(f"fetching the source of {name} {version}")
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    command = [python, "-m", "pip", "download", "--quiet", "--no-deps", f"--no-binary={name}", f"--dest={part}", f"{name}=={version}"]
    tools.step(command, "the Python package index can't be reached")
    archive = next(part.glob("*.tar.gz"))
    tools.step(["tar", "-xf", archive, "-C", part, "--strip-components=1"], "it can't be unpacked")
    archive.unlink()
    part.rename(folder)


def prepare(server):
    server.sql(server.port, "".join(f"DROP DATABASE IF EXISTS {name}; CREATE DATABASE {name} CHARACTER SET utf8mb4;" for name in DATABASES))


def run(server, place):
    way = {"host": "127.0.0.1", "port": place.port, "user": server.user, "password": server.password}
    if place.client == "unix":
        way["unix_socket"] = place.socket
    if place.client == "tls":
        way["ssl"] = {"verify_mode": False, "check_hostname": False}
    databases = [way | {"database": "test1", "use_unicode": True, "local_infile": True}, way | {"database": "test2"}]
    (source() / "pymysql/tests/databases.json").write_text(json.dumps(databases))
    report = tools.own() / "pymysql.xml"
    report.unlink(missing_ok=True)
    done = tools.run([python(), "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", "pymysql"], expect=None,
                     timeout=900, cwd=source(), env=os.environ | {"PYTHONPATH": str(source()), "PYTHONDONTWRITEBYTECODE": "1"})
    return verdicts_of(report, done), done.stdout


def verdicts_of(report, done):
    """{test: verdict} of a report of pytest's."""
    if not report.exists():
        raise tools.Failure(f"pytest told nothing: {done.stdout[-300:]} {done.stderr[-300:]}")
    cases = xml.etree.ElementTree.parse(report).iter("testcase")
    return {f"{case.get('classname')}.{case.get('name')}": verdict(case) for case in cases}


def verdict(case):
    if case.find("failure") is not None or case.find("error") is not None:
        return FAIL
    return SKIP if case.find("skipped") is not None else PASS
