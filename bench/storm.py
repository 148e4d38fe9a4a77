#!/usr/bin/env python3
"""Counts the connections that a server gets when it comes back to many clients: directly, by haproxy, as a wire, and pooled.

    bench/storm.py [--clients 1000] [--rounds 3] [--out FILE]
    bench/storm.py --render FILE

Builds the program and starts a private MariaDB. Each of the clients has one connection, sends a query every half second on average, and
connects anew 50 ms after an error. The server is killed, and started again at its port two seconds later. From then on it is asked every
20 ms how many connections it has got. Pooled is a listener with `mode = "transaction"`; one has the defaults (`max = 16`), the other one
`max = 500`, of which the clients need few. Prints a Markdown table and writes FILE as JSON.
"""
import argparse, asyncio, json, os, pathlib, random, resource, shutil, signal, socket, statistics, struct, subprocess, sys, tempfile, time
from urllib.parse import urlsplit

from compare import ROOT, cargo_target, sh
from provenance import provenance
from proxy import Process, server_of

WAYS = ["direct", "haproxy", "onecopy", "pooled", "pooled 500"]
PROTOCOL_41, SECURE_CONNECTION, PLUGIN_AUTH = 1 << 9, 1 << 15, 1 << 19
RESPONSE = struct.pack("<IIB23x", PROTOCOL_41 | SECURE_CONNECTION | PLUGIN_AUTH, 1 << 24, 45) + b"bench\0\0mysql_native_password\0"
QUERY = b"\x03SELECT 1"
BACK_OFF, PAUSE, GONE = 0.05, 0.5, 2
# Clients that wait for a server which does not come back are an error of the measurement.
PATIENCE = 60


def packet(sequence, payload):
    return struct.pack("<I", len(payload))[:3] + bytes([sequence]) + payload


async def payload(reader):
    header = await reader.readexactly(4)
    return await reader.readexactly(int.from_bytes(header[:3], "little"))


class Clients:
    """All of them, and since when each is served again."""

    def __init__(self, port, count):
        self.port, self.served, self.errors, self.restarted = port, [0.0] * count, 0, 0.0
        self.tasks = [asyncio.create_task(self.live(number)) for number in range(count)]

    async def live(self, number):
        while True:
            writer = None
            try:
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
                await payload(reader)
                writer.write(packet(1, RESPONSE))
                self.expect(await payload(reader), 0)
                while True:
                    writer.write(packet(0, QUERY))
                    # One column, its definition, EOF, a row, EOF.
                    self.expect(await payload(reader), 1)
                    for _ in range(4):
                        await payload(reader)
                    if self.served[number] <= self.restarted:
                        self.served[number] = time.monotonic()
                    await asyncio.sleep(random.uniform(0, 2 * PAUSE))
            except (OSError, EOFError):
                self.errors += 1
                await asyncio.sleep(BACK_OFF)
            finally:
                if writer:
                    writer.close()

    def expect(self, said, first):
        if said[0] != first:
            raise EOFError

    def all_since(self, when):
        return all(served > when for served in self.served)

    async def wait(self, when):
        deadline = time.monotonic() + PATIENCE
        while not self.all_since(when):
            if time.monotonic() > deadline:
                sys.exit(f"{sum(served <= when for served in self.served)} clients were not served within {PATIENCE} s")
            await asyncio.sleep(0.05)

    async def end(self):
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)


class Server:
    """The private server, which can be killed and started again."""

    def __init__(self, port):
        self.port, self.child = port, None
        self.pid = server_of(port)
        self.command = pathlib.Path(f"/proc/{self.pid}/cmdline").read_bytes().split(b"\0")[:-1] + [b"--max-connections=10000", b"--skip-name-resolve"]

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        if self.child:
            self.child.wait()
        while os.path.exists(f"/proc/{self.pid}") and "Z" not in open(f"/proc/{self.pid}/stat").read().rsplit(")", 1)[1]:
            time.sleep(0.01)

    def start(self):
        self.child = subprocess.Popen(self.command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.pid = self.child.pid

    async def counts(self, socket_path, out):
        """[seconds, connections so far] until it is cancelled."""
        while True:
            try:
                reader, writer = await asyncio.open_unix_connection(socket_path)
                await payload(reader)
                writer.write(packet(1, RESPONSE))
                if (await payload(reader))[0] != 0:
                    raise EOFError
                while True:
                    writer.write(packet(0, b"\x03SHOW GLOBAL STATUS LIKE 'Connections'"))
                    for _ in range(4):
                        await payload(reader)
                    row = await payload(reader)
                    await payload(reader)
                    # A length, the name, a length, the number. Its own connection is one of them.
                    out.append((time.monotonic(), int(row[2 + row[0]:]) - 1))
                    await asyncio.sleep(0.02)
            except (OSError, EOFError):
                await asyncio.sleep(0.01)


def busiest(counts, seconds):
    """The most connections within so many seconds."""
    most, begin = 0, 0
    for at, (when, count) in enumerate(counts):
        while when - counts[begin][0] > seconds:
            begin += 1
        # What came before the first look is from the start.
        most = max(most, count - (counts[begin - 1][1] if begin else 0))
    return most


async def measure(a, way, server, socket_path, folder):
    process = Process(way, server.port, folder)
    clients = Clients(process.port, a.clients)
    await clients.wait(0.0)
    server.kill()
    await asyncio.sleep(GONE)
    counts, clients.restarted, clients.errors = [], time.monotonic(), 0
    begin = clients.restarted
    server.start()
    counting = asyncio.create_task(server.counts(socket_path, counts))
    await clients.wait(begin)
    served = max(clients.served) - begin
    await asyncio.sleep(2)
    counting.cancel()
    await clients.end()
    process.stop()
    return {"connections": counts[-1][1], "busiest_second": busiest(counts, 1), "busiest_tenth": busiest(counts, 0.1),
            "up_after": counts[0][0] - begin, "served_after": served, "errors": clients.errors}


def table(a, ways):
    print(f"\n| {a['clients']:,} clients | connections to the server until all are served | in the busiest second | in the busiest 0.1 s | "
          "errors of clients | all served, seconds after its start |\n| --- |" + " --- |" * 5)
    for way, rounds in ways.items():
        median = {key: statistics.median(one[key] for one in rounds) for key in rounds[0]}
        print(f"| {way} | {median['connections']:,.0f} | {median['busiest_second']:,.0f} | {median['busiest_tenth']:,.0f} | "
              f"{median['errors']:,.0f} | {median['served_after']:.1f} |", flush=True)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--clients", type=int, default=1000)
    args.add_argument("--rounds", type=int, default=3)
    args.add_argument("--out")
    args.add_argument("--render", metavar="FILE", help="only print the table of this file")
    args.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    a = args.parse_args()
    if a.render:
        result = json.loads(pathlib.Path(a.render).read_text())
        return table(result, result["ways"])
    if not shutil.which("haproxy"):
        sys.exit("haproxy is missing; type: apt-get install haproxy")
    if not a.inside:  # again, inside a private server's life
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
        with_server = f"{cargo_target()}/release/with-server"
        sys.exit(subprocess.run([with_server, "--", sys.executable, __file__, *sys.argv[1:], "--inside"]).returncode)
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    url = os.environ["ONECOPY_URL"]
    sql = "CREATE USER bench@'%' IDENTIFIED BY ''; GRANT ALL ON *.* TO bench@'%'; SET GLOBAL max_connections = 10000"
    subprocess.run([f"{cargo_target()}/release/onecopy", "sql", "--quiet", url], input=sql, text=True, check=True)
    server = Server(urlsplit(os.environ["ONECOPY_TCP_URL"]).port)
    socket_path = url.split("socket=")[1].replace("%2F", "/")
    result = {"command": "bench/storm.py " + " ".join(x for x in sys.argv[1:] if x != "--inside"), **provenance(),
              "haproxy": sh(["haproxy", "-v"]).stdout.splitlines()[0], "clients": a.clients, "ways": {way: [] for way in WAYS}}
    with tempfile.TemporaryDirectory() as folder:
        try:
            for round in range(a.rounds):
                for way in WAYS:
                    result["ways"][way].append(asyncio.run(measure(a, way, server, socket_path, folder)))
                    print(f"{way}: {result['ways'][way][-1]}", file=sys.stderr, flush=True)
        finally:
            for process in Process.running:
                process.stop()
            if server.child:
                server.kill()
    if a.out:
        pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")
    table(result, result["ways"])


if __name__ == "__main__":
    main()
