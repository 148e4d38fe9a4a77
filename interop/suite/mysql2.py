"""mysql2's own tests, by node: npm has them up to 1.0.0-rc.9 only, so they run with a driver of today."""
import os, shutil, subprocess

import tools
from suite import FAIL, PASS

NAME = "mysql2"
DRIVER, TESTS = "3.24.6", "1.0.0-rc.9"
# What the tests need beside the driver, as their own package.json names it.
NEEDS = ["assert-diff@1", "portfinder@1", "sqlstring@2", "utest@0.0.8", "bn.js@4", "readable-stream@2"]
AT_LEAST = 30
CLIENTS = ["clear", "tls", "zlib"]
SECONDS = 60


def folder():
    return tools.own() / f"mysql2-{DRIVER}"


def fetch():
    if tests().exists():
        return
    tools.say(f"fetching mysql2 {DRIVER}, and its tests of {TESTS}")
    tools.npm(folder(), f"mysql2@{DRIVER}", *NEEDS)
    tools.step(["npm", "pack", "--silent", f"mysql2@{TESTS}"], "the npm registry can't be reached", cwd=folder())
    tools.step(["tar", "-xzf", f"mysql2-{TESTS}.tgz"], "it can't be unpacked", cwd=folder())
    # The tests look for the driver one folder up.
    shutil.move(folder() / "package/test", tests())


def tests():
    return folder() / "node_modules/mysql2/test"


def prepare(server):
    server.sql(server.port, "DROP DATABASE IF EXISTS mysql2; CREATE DATABASE mysql2 CHARACTER SET utf8mb4")


def run(server, place):
    environment = {"MYSQL_HOST": "127.0.0.1", "MYSQL_PORT": str(place.port), "MYSQL_USER": server.user, "CI": "1",
                   "MYSQL_PASSWORD": server.password, "MYSQL_DATABASE": "mysql2"}
    if place.client == "zlib":
        environment["MYSQL_USE_COMPRESSION"] = "1"
    if place.client == "tls":
        environment["INTEROP_TLS"] = "1"
    found, said = {}, ""
    for file in sorted(tests().glob("**/test-*.js")):
        name = str(file.relative_to(tests()).with_suffix(""))
        command = [tools.program("node"), "--require", tools.HERE / "suite/mysql2_preload.js", file]
        try:
            done = tools.run(command, expect=None, timeout=SECONDS, cwd=tests(), env=os.environ | environment,
                             errors="replace")
            found[name] = FAIL if done.returncode else PASS
            said += f"{name}: {done.returncode}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}\n"
        except subprocess.TimeoutExpired:
            found[name] = FAIL
            said += f"{name}: not at its end after {SECONDS} s\n"
    return found, said
