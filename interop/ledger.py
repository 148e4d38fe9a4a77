"""Clients that transfer money, by sysbench, and the account of what they were told and what the server has."""
import collections, pathlib, re, subprocess

import tools
from tools import HERE, Failure

ACCOUNTS = 100

# Where no transaction is open: whatever fails there can be done again on another connection.
OUTSIDE = ["connect", "ask", "prepare", "read", "begin"]

Failed = collections.namedtuple("Failed", "client step backend code message")


class Ledger:
    """Two programs with half of the clients each: one has prepared statements, the other writes its values into the text."""

    def __init__(self, server, port, folder, seconds, clients=12, options=(), reconnect_after=0, first=0):
        self.server, self.folder, self.clients, self.first = server, pathlib.Path(folder), clients, first
        self.programs = []
        for half, mode in enumerate(["auto", "disable"]):
            command = [tools.program("sysbench"), HERE / "ledger.lua", "--db-driver=mysql", "--mysql-host=127.0.0.1",
                       f"--mysql-port={port}", f"--mysql-user={server.user}", f"--mysql-password={server.password}",
                       f"--mysql-db={server.database}", f"--threads={clients // 2}", f"--time={seconds}", "--events=0",
                       f"--db-ps-mode={mode}", f"--folder={folder}", f"--first={first + half * (clients // 2)}",
                       f"--accounts={ACCOUNTS}", f"--reconnect-after={reconnect_after}", *options, "run"]
            self.programs.append(subprocess.Popen([str(word) for word in command], cwd=folder, text=True,
                                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT))

    @staticmethod
    def prepare(server):
        server.sql(server.port, "DROP TABLE IF EXISTS accounts, ledger; "
                   "CREATE TABLE accounts (id INT PRIMARY KEY, balance INT NOT NULL) ENGINE = InnoDB; "
                   "CREATE TABLE ledger (client INT, number INT, PRIMARY KEY (client, number)) ENGINE = InnoDB; "
                   f"INSERT INTO accounts VALUES {', '.join(f'({id}, 0)' for id in range(1, ACCOUNTS + 1))}", server.database)

    def is_over(self):
        return any(program.poll() is not None for program in self.programs)

    def committed(self):
        """Transfers that there are by now."""
        return int(self.server.sql(self.server.port, "SELECT COUNT(*) FROM ledger", self.server.database))

    def end(self):
        """Waits for their end. What failed, and how many transfers there were: the server must have these and no others."""
        said = ""
        for program in self.programs:
            said += program.communicate(timeout=600)[0]
            if program.returncode:
                raise Failure(f"sysbench ended with {program.returncode}: {said[-500:]}")
        # What keeps a client from connecting is told by sysbench alone.
        refused = [Failed(None, "connect", "none", int(code), message)
                   for code, message in re.findall(r"^FATAL: error (\d+): (.*)", said, re.M)]
        failed, told = [], {}
        for client in range(self.first, self.first + self.clients):
            for line in (self.folder / f"client-{client}").read_text().splitlines():
                word, *rest = line.split("\t")
                if word == "failed":
                    failed.append(Failed(client, rest[0], rest[1], int(rest[2]), rest[3]))
                elif found := re.fullmatch(r"committed (\d+) (\d+)", line):
                    told[client] = (int(found[1]), int(found[2]))
                else:
                    raise Failure(f"client {client}: {line}")
        self.hold(told)
        return failed, refused, sum(count for count, _ in told.values())

    def hold(self, told):
        """What the clients were told was committed, against what there is."""
        rows = self.server.sql(self.server.port, "SELECT client, COUNT(*), SUM(number) FROM ledger "
                               f"WHERE client >= {self.first} AND client < {self.first + self.clients} GROUP BY client",
                               self.server.database)
        there = {int(client): (int(count), int(total)) for client, count, total in map(str.split, rows.splitlines())}
        if len(told) != self.clients or {client: both for client, both in told.items() if both[0]} != there:
            raise Failure(f"the clients got confirmations for {told}, but the tables have {there}")
        balance = self.server.sql(self.server.port, "SELECT SUM(balance) FROM accounts", self.server.database)
        if int(balance) != 0:
            raise Failure(f"the accounts' sum is {balance} and was 0")

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        for program in self.programs:
            if program.poll() is None:
                program.kill()
                program.wait()


def expect(failed, codes, what):
    """Each of these must be outside of transactions and have one of these codes."""
    wrong = [failure for failure in failed if failure.step not in OUTSIDE or failure.code not in codes]
    if wrong:
        raise Failure(f"{what}: {len(wrong)} statements failed that should not have: {wrong[:3]}")


def counted(failed):
    """How often each code was seen."""
    count = collections.Counter(failure.code for failure in failed)
    return ", ".join(f"{number} of {code}" for code, number in sorted(count.items())) or "none"
