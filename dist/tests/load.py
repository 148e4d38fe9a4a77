"""Clients that work through the proxy while a package replaces it. No statement may fail, and no connect be refused.

    stayers   `mariadb`, one connection each: numbers in, the same numbers out, without gaps
    comers    `mariadb`, a new connection for each statement
    sysbench  transactions of reads, and updates; with prepared statements, on connections that stay. Its transactions of both kinds
              would run into deadlocks, which are the server's errors

They stop when the file `stop` is there. The pace of each is bounded, as the machine may be small."""
import re

from project import Failure

FOLDER = "/run/load"
CLIENT = "mariadb --host 127.0.0.1 --user app --password=secret --skip-column-names --skip-reconnect --connect-timeout 10"
# Of a stayer, in seconds. The proxy moves sessions of pools that are silent for a quarter of a second.
BUSY, SILENT = 0.1, 0.6


class Load:
    def __init__(self, machine):
        self.machine = machine
        self.stayers, self.comers, self.benches = [], [], []
        machine.call(f"rm --recursive --force {FOLDER}; mkdir {FOLDER}")

    def stayer(self, name, port, pause, options=""):
        self.stayers.append(name)
        numbers = f"n=0; until test -e stop; do n=$((n + 1)); echo \"SELECT $n;\"; sleep {pause}; done"
        self.start(f"({numbers}) | {CLIENT} --port {port} --unbuffered {options} >{name}.rows 2>{name}.errors; echo $? >{name}.status")

    def comer(self, name, port, options=""):
        self.comers.append(name)
        one = f"{CLIENT} --port {port} {options} --execute 'SELECT 1' >/dev/null 2>>{name}.errors && echo done >>{name}.rows; sleep 0.05"
        self.start(f"touch {name}.rows; until test -e stop; do {one}; done; echo 0 >{name}.status")

    def sysbench(self, name, port, script, options=""):
        """Its tables are in the schema `test`."""
        self.benches.append(name)
        words = (f"sysbench {script} --mysql-host=127.0.0.1 --mysql-port={port} --mysql-user=app --mysql-password=secret --mysql-db=test "
                 f"--tables=2 --table-size=1000 --threads=2 --rate=10 --time=300 --report-interval=1 {options}")
        self.start(f"{words} run >{name}.rows 2>{name}.errors & until test -e stop; do sleep 0.1; done; "
                   f"kill $! && echo 0 >{name}.status || echo 'it had ended' >{name}.status")

    def start(self, line):
        self.machine.background(f"cd {FOLDER}; {line}")

    def names(self):
        return self.stayers + self.comers + self.benches

    def rows(self, name):
        return self.machine.call(f"cat {FOLDER}/{name}.rows").stdout.splitlines()

    def counts(self):
        """What has been done so far: rows of the stayers and the comers, transactions a second of sysbench."""
        return {name: len(self.rows(name)) for name in self.stayers + self.comers}

    def is_under_way(self):
        """Waits until each client has done something since the call."""
        before = self.counts()
        for name, count in before.items():
            self.machine.until(f"test $(wc --lines <{FOLDER}/{name}.rows) -gt {count + 2}", f"more statements of {name}")
        for name in self.benches:
            lines = len(self.rows(name))
            self.machine.until(f"tail --lines +{lines + 1} {FOLDER}/{name}.rows | grep --quiet 'tps: [1-9]'", f"transactions of {name}")

    def end(self):
        """Ends the clients, and checks what they have seen; returns their numbers of statements, and sysbench's of transactions."""
        self.machine.call(f"touch {FOLDER}/stop")
        done = {}
        for name in self.names():
            self.machine.until(f"test -s {FOLDER}/{name}.status", f"the end of {name}")
            status = self.machine.call(f"cat {FOLDER}/{name}.status").stdout.strip()
            errors = self.machine.call(f"grep --invert-match --ignore-case warning {FOLDER}/{name}.errors; true").stdout.strip()
            rows = self.rows(name)
            if status != "0" or errors or any("FATAL" in row for row in rows):
                raise Failure(f"{name}: status {status}, {errors[:500]}, {' '.join(rows)[-500:]}")
            done[name] = self.transactions(name, rows) if name in self.benches else len(rows)
        for name in self.stayers:
            if (rows := self.rows(name)) != [str(n + 1) for n in range(len(rows))]:
                raise Failure(f"{name} did not get each of its rows: {rows[-20:]}")
        return done

    def transactions(self, name, rows):
        """By the lines of each second, in which there may be no error and no new connection."""
        seconds = [re.search(r"tps: ([\d.]+) .* err/s: ([\d.]+) reconn/s: ([\d.]+)", row) for row in rows]
        seconds = [[float(number) for number in found.groups()] for found in seconds if found]
        if any(errors or reconnects for _, errors, reconnects in seconds):
            raise Failure(f"{name} counts errors: {rows[-20:]}")
        return round(sum(tps for tps, *_ in seconds))
