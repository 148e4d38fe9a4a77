#!/usr/bin/env python3
"""Runs other projects' test suites against a server, directly and through the proxy, and compares the result of each test.

    interop/suites.py [--suites go-sql-driver,...] [--modes tcp,tls,...] [--servers machine,mysql-9,mariadb-11.8]

Everything is fetched first, into target/interop; then the suites run in a network namespace that has only the loopback, as
they connect to addresses of their own. Exit status 0: every test has the same result directly and through the proxy, but for
those that suite/differences/ lists with the reason.
"""
import argparse, contextlib, os, pathlib, subprocess, sys, time

import changes, suite, tools
from front import Configured, sharing
from run import SERVERS, Server
from suite import MODES, Place, differences, django, go_sql_driver, mariadb_client_test, mariadb_test, mysql2, mysql_async, mysqlclient, pymysql, sqlalchemy
from tools import Failure, say

DRIVERS = {module.NAME: module for module in [go_sql_driver, pymysql, mysql_async, mysql2, mysqlclient, mariadb_client_test, sqlalchemy,
                                             django]}
# How often a suite runs again where something differs.
REPEATS = 2
SUITES = [*DRIVERS, mariadb_test.NAME]
HEADER = ("| server | suite | mode | passed directly | passed through the proxy | listed | differ | seconds |\n"
          "| --- | --- | --- | --- | --- | --- | --- | --- |")


def passed(found):
    return sum(verdict == suite.PASS for verdict in found.values())


def row(server, name, mode, direct, through, compared, seconds):
    print(f"| {server} | {name} | {mode} | {passed(direct)} of {len(direct)} | {passed(through)} of {len(through)} | "
          f"{len(compared.listed)} | {len(compared.unlisted)} | {seconds:.0f} |", flush=True)
    for reason in dict.fromkeys(reason for *_, reason in compared.listed):
        tests = [test for test, _, because in compared.listed if because == reason]
        say(f"{name}, {mode}: listed: {', '.join(tests)}: {reason}")
    for test, verdicts in compared.unlisted:
        say(f"{name}, {mode}: {test} DIFFERS: {verdicts}")


class Proxies:
    """One proxy with a listener for each mode."""

    def __init__(self, server, folder, modes):
        changes.certificate(folder, "front", "-addext", "basicConstraints=critical,CA:FALSE")
        tls = {"certificate": "front.pem", "key": "front.key"}
        # The ports of a proxy without any are not waited for.
        modes = {"tcp": MODES["tcp"]} | modes
        self.modes, self.sockets = modes, {mode: str(folder / f"{mode}.sock") for mode in modes}
        listeners = []
        for name, mode in modes.items():
            backend = changes.backend(server, "socket" if mode.behind == "unix" else "tcp")
            # As long as the suites themselves wait where a test connects a thousand times at once.
            backend["connect-timeout"] = "30s"
            if mode.behind == "tls":
                backend["tls"] = {"mode": "verify-full", "ca": server.authority}
            if mode.behind == "zlib":
                backend["compression"] = "zlib"
            # As a server does, all of them offer TLS and compression: some tests ask for them in every mode. Shared connections
            # are not compressed.
            shared = sharing(server, mode.sharing) or {"compression": "zlib"}
            listeners.append({"name": name, "listen": self.sockets[name] if mode.client == "unix" else "127.0.0.1:0",
                              "reencrypt-passwords": True, "tls": tls, "backends": [backend]} | shared)
        # A proxy says where it listens in the order of the file; a port has to be the first.
        listeners.sort(key=lambda listener: not listener["listen"].startswith("127."))
        self.proxy = Configured(folder, listeners)
        of_port = [listener["name"] for listener in listeners if listener["listen"].startswith("127.")]
        self.ports = dict(zip(of_port, self.proxy.ports(len(of_port))))

    def place(self, name):
        return Place(self.ports.get(name, 0), self.sockets[name], self.modes[name].client)


def drivers(name, wanted, modes):
    """The suites of drivers on the server that this runs beside; gives whether nothing differs."""
    server = Server(name, 0)
    right = True
    for module in (DRIVERS[one] for one in wanted if one in DRIVERS):
        theirs = {key: mode for key, mode in modes.items() if mode.client in module.CLIENTS}
        listed = differences.read(module.NAME)
        with changes.folder() as folder, contextlib.ExitStack() as stack:
            proxies = Proxies(server, pathlib.Path(folder), theirs)
            stack.enter_context(proxies.proxy)
            direct = {}
            for mode in theirs:
                try:
                    right &= one(server, module, mode, proxies.place(mode), direct, listed)
                except (Failure, subprocess.TimeoutExpired) as error:
                    right = False
                    say(f"{module.NAME}, {mode}: FAILED: {error}")
            proxies.proxy.stop()
        for entry in listed.unneeded(theirs, name):
            say(f"{module.NAME}: nothing differs by the listed `{entry.test}` on {name}; should it go?")
    return right


def one(server, module, mode, place, direct, listed):
    """One suite in one mode. `direct` keeps what the driver saw of the server itself, which several modes share."""
    start = time.monotonic()
    if place.client not in direct:
        direct[place.client] = told(server, module, f"{place.client}-direct", Place(server.port, server.socket, place.client))
    if passed(direct[place.client]) < module.AT_LEAST:
        raise Failure(f"only {passed(direct[place.client])} tests pass directly")
    through = told(server, module, mode, place)
    compared = listed.compare(mode, server.name, direct[place.client], through)
    if compared.unlisted:
        compared = steady(compared, [listed.compare(mode, server.name, direct[place.client], told(server, module, mode, place))
                                     for _ in range(REPEATS)], f"{module.NAME}, {mode}")
    row(f"{server.name} {server.version}", module.NAME, mode, direct[place.client], through, compared, time.monotonic() - start)
    return not compared.unlisted


def steady(first, others, what):
    """What differs in one more run at least: some tests fail now and then, also directly."""
    still = {test for compared in others for test, _ in compared.unlisted}
    for test, verdicts in first.unlisted:
        if test not in still:
            say(f"{what}: {test} differed once in {len(others) + 1} runs: {verdicts}")
    return first._replace(unlisted=[(test, verdicts) for test, verdicts in first.unlisted if test in still])


def told(server, module, mode, place):
    """Runs a suite, and keeps what it said."""
    # A test of mysql_async that fails leaves `wait_timeout = 3` behind, which would end idle sessions of the next suite.
    server.sql(server.port, "SET GLOBAL wait_timeout = DEFAULT")
    module.prepare(server)
    found, said = module.run(server, place)
    folder = tools.own() / "logs"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{server.name}-{module.NAME}-{mode}.log").write_text(said)
    return found


def inside(command, server=None, launcher=None):
    """Runs a command in a network namespace with nothing but the loopback, and beside a server if one is named."""
    environment = os.environ | ({"ONECOPY_TEST_SERVER": str(launcher)} if launcher else {})
    beside = [tools.target() / "release/with-server", "--"] if server else []
    user = [] if os.getuid() == 0 else ["--user", "--map-current-user", "--keep-caps"]
    alone = ["unshare", "--net", *user, "sh", "-c", 'ip link set lo up && exec "$@"', "sh", *beside, *command]
    return subprocess.run([str(word) for word in alone], env=environment).returncode == 0


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--servers", default=",".join(SERVERS), help="for the suites of drivers; MariaDB's own tests start theirs")
    args.add_argument("--suites", default=",".join(SUITES))
    args.add_argument("--modes", default=",".join([*MODES, *mariadb_test.MODES]))
    args.add_argument("--tests", default="", help="of MariaDB's own, or `all` of them in every mode")
    args.add_argument("--inside", help=argparse.SUPPRESS)
    a = args.parse_args()
    wanted, modes = a.suites.split(","), a.modes.split(",")
    for name, known in [*((name, SUITES) for name in wanted), *((mode, [*MODES, *mariadb_test.MODES]) for mode in modes)]:
        if name not in known:
            args.error(f"{name} is none of {', '.join(known)}")
    if a.inside == mariadb_test.NAME:
        sys.exit(0 if mariadb_test.compare(modes, a.tests.split(",") if a.tests else [], row) else 1)
    if a.inside:
        sys.exit(0 if drivers(a.inside, wanted, {name: mode for name, mode in MODES.items() if name in modes}) else 1)
    sys.exit(everything(a, wanted))


def everything(a, wanted):
    """Fetches, then runs it all; gives the exit status."""
    try:
        for program in ["unshare", "ip", "openssl"]:
            tools.program(program)
        tools.build()
        of_drivers = [name for name in wanted if name in DRIVERS]
        launchers = {name: tools.launcher(name) for name in a.servers.split(",")} if of_drivers else {}
        for name in wanted:
            DRIVERS.get(name, mariadb_test).fetch()
    except Failure as error:
        return f"interop: {error}"
    print(HEADER, flush=True)
    again = [sys.executable, __file__, "--suites", a.suites, "--modes", a.modes, "--tests", a.tests, "--inside"]
    failed = [name for name, launcher in launchers.items() if not inside([*again, name], name, launcher)]
    if mariadb_test.NAME in wanted and not inside([*again, mariadb_test.NAME]):
        failed.append(mariadb_test.NAME)
    if failed:
        return f"interop: not all is as without the proxy: {', '.join(failed)}"
    say("every test has the result that it has without the proxy, or is listed")
    return 0


if __name__ == "__main__":
    main()
