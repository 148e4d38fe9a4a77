#!/usr/bin/env python3
"""Runs real programs through the proxy, and compares what they say with what they say without it.

    interop/run.py [--servers machine,mysql-9,mariadb-11.8] [--modes pass,transaction,session] [--cases NAME,...] [--seconds 2]

Each server is private and lives as long as its cases. What is not on the machine is fetched into target/interop, which
README.md lists; what can't be had ends the run with what to do. Exit status 0: every case of every server did as it does
without the proxy.
"""
import argparse, os, pathlib, subprocess, sys, time, traceback
from urllib.parse import parse_qs, urlsplit

import cases, changes, tools
from front import Pooled, Proxy
from tools import Failure, say

SERVERS = ["machine", "mysql-9", "mariadb-11.8"]
MODES = ["pass", "transaction", "session"]


class Server:
    """A private server, and an account on it that may do everything."""

    def __init__(self, name, seconds):
        url = urlsplit(os.environ["ONECOPY_TCP_URL"])
        self.name, self.seconds, self.port = name, seconds, url.port
        self.user, self.password, self.database = "interop", "inter op!", "test"
        sql = (f"CREATE USER IF NOT EXISTS '{self.user}'@'%' IDENTIFIED BY '{self.password}'; "
               f"GRANT ALL ON *.* TO '{self.user}'@'%' WITH GRANT OPTION; SET GLOBAL local_infile = 1; "
               "SET GLOBAL max_prepared_stmt_count = 1000000; SELECT VERSION()")
        said = tools.run([tools.onecopy(), "sql", "--quiet", os.environ["ONECOPY_URL"]], input=sql)
        self.version = said.stdout.splitlines()[-1].split()[0]
        self.is_mysql = "MariaDB" not in self.version
        self.socket = parse_qs(urlsplit(os.environ["ONECOPY_URL"]).query)["socket"][0]
        self.authority = parse_qs(urlsplit(os.environ["ONECOPY_TLS_URL"]).query)["ssl-ca"][0]
        # Once over a safe way, so that the server has the password's digest in its cache for the others.
        socket = os.environ["ONECOPY_URL"].replace(f"{url.username}:{url.password}@", f"{self.user}:inter%20op%21@")
        tools.run([tools.onecopy(), "sql", socket, "DO 1"])

    def mariadb(self, port, *more, tool="mariadb"):
        """The command line of one of MariaDB's programs."""
        return [tools.program(tool), "--no-defaults", "--host=127.0.0.1", f"--port={port}", f"--user={self.user}",
                f"--password={self.password}", *more]

    def sql(self, port, text, *more):
        return tools.run(self.mariadb(port, "--batch", "--skip-column-names", *more), input=text).stdout


def inside(name, modes, wanted, seconds):
    """All cases on the server that this runs beside; prints a line for each and gives whether all did."""
    server = Server(name, seconds)
    failed = []
    for mode in modes:
        of_mode = [case for case in cases.CASES if case in wanted and (mode == "pass" or case in cases.POOLED)]
        if not of_mode:
            continue
        with changes.folder() as folder:
            proxy = Proxy.before(server.port) if mode == "pass" else Pooled(pathlib.Path(folder), server, mode)
            with proxy:
                failed += by_one(server, proxy.is_ready(), of_mode)
    return not failed


def by_one(server, proxy, wanted):
    """The cases by one proxy; those that failed."""
    failed = []
    where = f"{server.name} {server.version} | {proxy.mode}"
    for case in wanted:
        start = time.monotonic()
        try:
            note = cases.CASES[case](server, proxy)
            proxy.settle(case)
        except Exception as error:
            failed.append(case)
            note = "FAILED: " + " ".join(str(error).split())
            if not isinstance(error, Failure):
                traceback.print_exc()
        print(f"| {where} | {case} | {time.monotonic() - start:.1f} | {note or 'as without it'} |", flush=True)
    try:
        proxy.stop()
    except Failure as error:
        failed.append("stop")
        print(f"| {where} | the proxy's end | | FAILED: {error} |", flush=True)
    return failed


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--servers", default=",".join(SERVERS))
    args.add_argument("--modes", default=",".join(MODES), help="of the listener; those that pool have the cases of single programs")
    args.add_argument("--cases", default="", help=f"of {', '.join(cases.CASES)}")
    args.add_argument("--seconds", type=int, default=2, help="how long each of sysbench's workloads runs")
    args.add_argument("--inside", help=argparse.SUPPRESS)
    a = args.parse_args()
    wanted = [case for case in a.cases.split(",") if case]
    for case in wanted:
        if case not in cases.CASES:
            args.error(f"{case} is none of {', '.join(cases.CASES)}")
    modes = a.modes.split(",")
    for mode in modes:
        if mode not in MODES:
            args.error(f"{mode} is none of {', '.join(MODES)}")
    if a.inside:
        sys.exit(0 if inside(a.inside, modes, wanted, a.seconds) else 1)
    try:
        tools.build()
        launchers = {name: tools.launcher(name) for name in a.servers.split(",")}
        tools.fetch(wanted)
    except Failure as error:
        sys.exit(f"interop: {error}")
    print("| server | mode | case | seconds | through the proxy |\n| --- | --- | --- | --- | --- |", flush=True)
    failed = []
    for name, launcher in launchers.items():
        environment = os.environ | ({"ONECOPY_TEST_SERVER": str(launcher)} if launcher else {})
        for options, of_these in cases.by_options(wanted).items():
            again = [sys.executable, __file__, "--inside", name, "--modes", a.modes, "--cases", ",".join(of_these), "--seconds", str(a.seconds)]
            server = [tools.target() / "release/with-server", *(word for option in options for word in ["--option", option])]
            if subprocess.run([*server, "--", *again], env=environment).returncode and name not in failed:
                failed.append(name)
    if failed:
        sys.exit(f"interop: not all is as without the proxy on {', '.join(failed)}")
    say("everything is as without the proxy")


if __name__ == "__main__":
    main()
