#!/usr/bin/env python3
"""Counts the connections that a server gets when it comes back to many clients: directly, by haproxy, as a wire, and pooled.

    bench/storm.py [--clients 1000] [--rounds 3] [--out FILE]
    bench/storm.py --render FILE

Builds the program and starts a private MariaDB. Each client has one connection, sends a query every half second on average, and reconnects
0.2 s after an error on average. The server is killed, and started again at its port two seconds later. A process of its own asks it
every 10 ms how many connections it has got; those that it counts without any client are taken off. "pooled" is a listener with
`mode = "transaction"` and the default of 16 connections, "pooled 500" one with `max = 500`. Prints a Markdown table and writes FILE as JSON.
"""
import argparse, asyncio, json, os, pathlib, random, resource, shutil, signal, socket, statistics, subprocess, sys, tempfile, time
from urllib.parse import urlsplit

from compare import HERE, ROOT, cargo_target, sh
from provenance import provenance
from proxy import POOL, Process, server_of

sys.path.insert(0, str(HERE / "proxy"))
from login import packet, response

WAYS = {"direct": None, "haproxy": None, "onecopy": None, "pooled": POOL, "pooled 500": 500}
QUERY, ASK = b"\x03SELECT 1", b"\x03SHOW GLOBAL STATUS LIKE 'Connections'"
BACK_OFF, PAUSE, OUTAGE, LOOK = 0.2, 0.5, 2, 0.01
# How long connections are counted after the last client was served.
AFTER = 1
# A server that does not come back is an error of the measurement.
PATIENCE = 60


class Clients:
    """All of them, and when each was served last."""

    def __init__(self, port, count):
        self.port, self.served, self.errors = port, [0.0] * count, 0
        self.tasks = [asyncio.create_task(self.live(number)) for number in range(count)]

    async def live(self, number):
        while True:
            writer = None
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                await payload(reader)
                writer.write(packet(1, response("bench")))
                expect(await payload(reader), 0)
                while True:
                    writer.write(packet(0, QUERY))
                    # One column, its definition, EOF, a row, EOF.
                    expect(await payload(reader), 1)
                    for _ in range(4):
                        await payload(reader)
                    self.served[number] = time.monotonic()
                    await asyncio.sleep(random.uniform(0, 2 * PAUSE))
            except (OSError, EOFError):
                self.errors += 1
                await asyncio.sleep(random.uniform(0, 2 * BACK_OFF))
            finally:
                if writer:
                    writer.close()

    async def all_since(self, when):
        """Waits until each was served; gives when the last one was."""
        first, deadline = {}, time.monotonic() + PATIENCE
        while len(first) < len(self.served):
            if time.monotonic() > deadline:
                sys.exit(f"{len(self.served) - len(first)} clients were not served within {PATIENCE} s")
            await asyncio.sleep(0.005)
            for number, served in enumerate(self.served):
                if served > when:
                    first.setdefault(number, served)
        return max(first.values(), default=when)

    async def end(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


async def payload(reader):
    header = await reader.readexactly(4)
    return await reader.readexactly(int.from_bytes(header[:3], "little"))


def expect(said, first):
    if said[0] != first:
        raise EOFError


class Server:
    """The private server, which can be killed and started again."""

    def __init__(self, port):
        self.port, self.child = port, None
        self.pid = server_of(port)
        command = pathlib.Path(f"/proc/{self.pid}/cmdline").read_bytes().split(b"\0")[:-1]
        self.command = [*command, b"--max-connections=10000", b"--skip-name-resolve"]

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        if self.child:
            self.child.wait()
        # The first one is another process's child.
        while os.path.exists(f"/proc/{self.pid}") and "Z" not in open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1]:
            time.sleep(0.01)

    def start(self):
        self.child = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.pid = self.child.pid


def count(socket_path):
    """Prints the time and the number of connections so far, until it is ended."""
    def receive(stream):
        header = stream.recv(4, socket.MSG_WAITALL)
        if len(header) < 4:
            raise EOFError
        return stream.recv(int.from_bytes(header[:3], "little"), socket.MSG_WAITALL)
    while True:
        try:
            with socket.socket(socket.AF_UNIX) as stream:
                stream.connect(socket_path)
                receive(stream)
                stream.sendall(packet(1, response("bench")))
                expect(receive(stream), 0)
                while True:
                    stream.sendall(packet(0, ASK))
                    row = [receive(stream) for _ in range(6)][4]
                    # A length and the name, a length and the number.
                    print(time.monotonic(), int(row[2 + row[0]:]), flush=True)
                    time.sleep(LOOK)
        except (OSError, EOFError):
            time.sleep(LOOK)


class Counting:
    """A process that asks the server how many connections it has got."""

    def __init__(self, socket_path):
        self.child = subprocess.Popen([sys.executable, __file__, "--count", socket_path], stdout=subprocess.PIPE, text=True)

    def end(self, own=0):
        """[seconds, connections], less those that are the server's own."""
        self.child.terminate()
        lines = [line.split() for line in self.child.communicate()[0].splitlines()]
        return [(float(when), int(number) - own) for when, number in lines]


def busiest(counts, since, seconds=1):
    """The most connections within so many seconds. What came before the first look came since the start, which is less ago."""
    assert counts[0][0] - since < seconds, "the server took long to start"
    counts = [(since, 0), *counts]
    within = lambda end: next(count for when, count in counts if when >= counts[end][0] - seconds)
    return max(counts[end][1] - within(end) for end in range(1, len(counts)))


async def measure(a, way, server, socket_path, folder, own):
    process = Process(way.split()[0], server.port, folder, WAYS[way])
    clients = Clients(process.port, a.clients)
    await clients.all_since(0.0)
    clients.errors = 0
    server.kill()
    await asyncio.sleep(OUTAGE)
    before, since = clients.errors, time.monotonic()
    counting = Counting(socket_path)
    server.start()
    served = await clients.all_since(since)
    errors = clients.errors
    await asyncio.sleep(AFTER)
    counts = counting.end(own)
    await clients.end()
    process.stop()
    return {"connections": counts[-1][1], "busiest_second": busiest(counts, since), "errors_of_outage": before,
            "errors_after": errors - before, "served_after": served - counts[0][0]}


def without_clients(server, socket_path):
    """What the server counts of its own, and of the one that asks it."""
    server.kill()
    counting = Counting(socket_path)
    server.start()
    time.sleep(OUTAGE)
    return counting.end()[-1][1]


def table(clients, ways):
    print(f"\n| {clients:,} clients | connections to the server | in the busiest second | errors of clients while it is away | after its start | "
          "all served, seconds after it answers |\n| --- |" + " --- |" * 5)
    for way, rounds in ways.items():
        median = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        print(f"| {way} | {median['connections']:,.0f} | {median['busiest_second']:,.0f} | {median['errors_of_outage']:,.0f} | "
              f"{median['errors_after']:,.0f} | {max(0, median['served_after']):.1f} |", flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--clients", type=int, default=1000)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--out")
    args.add_argument("--render", metavar="FILE", help="only print the table of this file")
    args.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    args.add_argument("--count", help=argparse.SUPPRESS)
    a = args.parse_args()
    if a.render:
        result = json.loads(pathlib.Path(a.render).read_text())
        return table(result["clients"], result["ways"])
    if a.count:
        return count(a.count)
    if not shutil.which("haproxy"):
        sys.exit("haproxy is missing; type: apt-get install haproxy")
    if not a.inside:  # again, inside a private server's life
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
        with_server = f"{cargo_target()}/release/with-server"
        sys.exit(subprocess.run([with_server, "--", sys.executable, __file__, *sys.argv[1:], "--inside"]).returncode)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    url = os.environ["ONECOPY_URL"]
    sql = "CREATE USER bench@'%' IDENTIFIED BY ''; GRANT ALL ON *.* TO bench@'%'; FLUSH TABLES"
    subprocess.run([f"{cargo_target()}/release/onecopy", "sql", "--quiet", url], input=sql, text=True, check=True)
    server = Server(urlsplit(os.environ["ONECOPY_TCP_URL"]).port)
    socket_path = url.split("socket=")[1].replace("%2F", "/")
    result = {"command": "bench/storm.py " + " ".join(x for x in sys.argv[1:] if x != "--inside"), **provenance(),
              "haproxy": sh(["haproxy", "-v"]).stdout.splitlines()[0], "clients": a.clients, "ways": {way: [] for way in WAYS}}
    with tempfile.TemporaryDirectory() as folder:
        try:
            own = result["without_clients"] = without_clients(server, socket_path)
            for round in range(a.rounds):
                for way in [*WAYS][round % len(WAYS):] + [*WAYS][:round % len(WAYS)]:
                    result["ways"][way].append(asyncio.run(measure(a, way, server, socket_path, folder, own)))
                    print(f"{way}: {result['ways'][way][-1]}", file=sys.stderr, flush=True)
        finally:
            for process in Process.running:
                process.stop()
            if server.child:
                server.kill()
    if a.out:
        pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")
    table(result["clients"], result["ways"])


if __name__ == "__main__":
    main()
