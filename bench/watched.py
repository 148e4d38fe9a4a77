#!/usr/bin/env python3
"""Measures what it costs to watch the proxy: the same proxy with one thing on after the other, in one run.

    bench/watched.py [--rounds 30] [--seconds 1] [--threads 8] [--queries 5000] [--out FILE]
    bench/watched.py --render FILE

Starts a private MariaDB and one proxy for each row, with a pool of 16 connections, and has sysbench do point selects through each in
turn: the proxy's CPU (user and system, /proc) per query. Then it counts the instructions in user space under valgrind: per query, with
QUERIES of them from one client, and for the page per second. Both include all threads of the proxy. The rows:
  off         nothing
  digests     statements are counted by digest
  slow log    of statements that take 10 s: it gets no line
  audit log   a line for each statement
  traces      one statement in a hundred is sent to a collector
  page        ten viewers of the live page
  all         all of them; instructions without the page
Needs sysbench and valgrind. Prints a Markdown table and writes FILE as JSON.
"""
import argparse, http.server, json, os, pathlib, re, shutil, socket, statistics, subprocess, sys, tempfile, threading, time
from urllib.parse import urlsplit

from compare import ROOT, cargo_target, sh
from proxy import POOL, Process, free_port, prepare, sysbench

VIEWERS = 10
SELECT = ["oltp_point_select", "--tables=1", "--table-size=10000"]
WARM_UP_QUERIES = 500
WARM_UP_SECONDS, PAGE_SECONDS = 5, 20
PARTS = {
    "digests": "[digests]\nmax = 1000",
    "slow log": '[slow-log]\nfile = "{folder}/{name}.slow.json"\nthreshold = "10s"',
    "audit log": '[audit-log]\nfile = "{folder}/{name}.audit.json"\nwhat = ["statements"]',
    "traces": '[traces]\nendpoint = "http://127.0.0.1:{collector}"\nsample = 0.01',
    "page": '[web]\nlisten = "127.0.0.1:{web}"',
}
ROWS = {"off": [], **{name: [name] for name in PARTS}, "all": list(PARTS)}


class Collector(http.server.BaseHTTPRequestHandler):
    """Takes all spans, and counts the requests."""
    protocol_version = "HTTP/1.1"
    requests = 0

    def do_POST(self):
        self.rfile.read(int(self.headers["Content-Length"]))
        type(self).requests += 1
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"{}")

    def log_message(self, *_):
        pass


class Watched(Process):
    """The proxy with some parts on, and under valgrind where it gets a file for its count."""

    def __init__(self, name, parts, server, folder, collector, count_in=None):
        self.name, web = name, free_port()
        settings = "\n".join(PARTS[part].format(folder=folder, name=name.replace(" ", "-"), collector=collector, web=web) for part in parts)
        config = pathlib.Path(folder) / f"{name.replace(' ', '-')}.toml"
        config.write_text(f"""{settings}
[[mysql]]
listen = "127.0.0.1:0"
mode = "transaction"
account = [{{ user = "bench", password = "" }}]
[mysql.pool]
max = {POOL}
[[mysql.backend]]
server = "127.0.0.1:{server}"
""")
        valgrind = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={count_in}"] if count_in else []
        command = [*valgrind, f"{cargo_target()}/release/onecopy", "proxy", "--config", config]
        self.child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.running.append(self)
        for line in self.child.stderr:
            if said := re.search(r"listening(?: on |=)127\.0\.0\.1:(\d+)", line):
                self.port = int(said[1])
                break
        else:
            sys.exit(f"{name} has ended before it listened")
        threading.Thread(target=self.child.stderr.read, daemon=True).start()
        self.viewed = [0] * (VIEWERS if "page" in parts else 0)
        for at in range(len(self.viewed)):
            threading.Thread(target=self.view, args=(at, web), daemon=True).start()

    def view(self, at, port):
        with socket.create_connection(("127.0.0.1", port)) as stream:
            stream.sendall(b"GET /events?of=overview HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
            while piece := stream.recv(1 << 16):
                self.viewed[at] += len(piece)


def dump(proxy, count):
    """Instructions since the last dump. Those of the start differ from run to run, because a random RSA key is generated."""
    already = len(list(count.parent.glob(count.name + ".*")))
    sh(["callgrind_control", "--dump", str(proxy.child.pid)]).check_returncode()
    return int(re.search(r"^totals: (\d+)", (count.parent / f"{count.name}.{already + 1}").read_text(), re.M)[1])


def counted(name, queries, server, folder, collector):
    """Instructions a query, or a second of the page."""
    parts = ["page"] if name == "page" else [part for part in ROWS[name] if part != "page"]
    count = pathlib.Path(folder) / f"count-{name.replace(' ', '-')}"
    proxy = Watched(name, parts, server, folder, collector, count)

    def work(events, seconds):
        if name == "page":
            time.sleep(seconds)
        else:
            sysbench(proxy.port, 1, SELECT, "--time=0", f"--events={events}", "run")
        return dump(proxy, count)

    work(WARM_UP_QUERIES, WARM_UP_SECONDS)
    total = work(queries, PAGE_SECONDS)
    proxy.stop()
    Process.running.remove(proxy)
    return {"a second": total // PAGE_SECONDS} if name == "page" else {"a query": total // queries}


def quartile(rounds):
    """Other load on the machine only adds CPU, so the lower quartile says more about the proxy than the median."""
    return statistics.quantiles(rounds, n=4, method="inclusive")[0] if len(rounds) > 1 else rounds[0]


def table(result):
    rows, counts = result["rows"], result["instructions"]
    off, off_count = quartile(rows["off"]), counts["off"]["a query"]
    print("| | CPU µs a query, lower quartile | median | max | more than off | instructions a query | more than off |\n|---|---:|---:|---:|---:|---:|---:|")
    for name, rounds in rows.items():
        [(what, count)] = counts[name].items()
        shown = f"{count:,} | {100 * (count / off_count - 1):+.1f} %" if what == "a query" else f"{count:,} {what} |"
        print(f"| {name} | {quartile(rounds):.2f} | {statistics.median(rounds):.2f} | {max(rounds):.2f} | {100 * (quartile(rounds) / off - 1):+.1f} % | {shown} |")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=30)
    args.add_argument("--seconds", type=int, default=1)
    args.add_argument("--threads", type=int, default=8)
    args.add_argument("--queries", type=int, default=5000)
    args.add_argument("--out")
    args.add_argument("--render", metavar="FILE", help="only print the table of this file")
    args.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    a = args.parse_args()
    if a.render:
        return table(json.loads(pathlib.Path(a.render).read_text()))
    for tool in "sysbench", "valgrind":
        if not shutil.which(tool):
            sys.exit(f"{tool} is missing; type: apt-get install {tool}")
    if not a.inside:  # again, inside a private server's life
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
        again = [f"{cargo_target()}/release/with-server", "--", sys.executable, __file__, *sys.argv[1:], "--inside"]
        sys.exit(subprocess.run(again).returncode)
    server = urlsplit(os.environ["ONECOPY_TCP_URL"]).port
    prepare(server, os.environ["ONECOPY_URL"])
    collector = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Collector)
    threading.Thread(target=collector.serve_forever, daemon=True).start()
    result = {"command": "bench/watched.py " + " ".join(x for x in sys.argv[1:] if x != "--inside"), "processors": os.cpu_count(),
              "sysbench": sh(["sysbench", "--version"]).stdout.strip(), "rows": {name: [] for name in ROWS}, "instructions": {}}
    with tempfile.TemporaryDirectory() as folder:
        try:
            proxies = [Watched(name, parts, server, folder, collector.server_port) for name, parts in ROWS.items()]
            for round in range(a.rounds):
                for proxy in proxies[round % len(proxies):] + proxies[:round % len(proxies)]:
                    before = proxy.cpu()
                    said = sysbench(proxy.port, a.threads, SELECT, f"--time={a.seconds}", "run")
                    count = int(re.search(r"queries:\s+(\d+)", said)[1])
                    result["rows"][proxy.name].append((proxy.cpu() - before) / count * 1e6)
            # What is measured has happened.
            for proxy in proxies:
                if not all(proxy.viewed):
                    sys.exit(f"{proxy.name}: not all viewers were sent something")
            if not Collector.requests:
                sys.exit("nothing came to the collector")
            for name in ROWS:
                print(f"counting the instructions of {name}", file=sys.stderr)
                result["instructions"][name] = counted(name, a.queries, server, folder, collector.server_port)
        finally:
            for proxy in Process.running:
                proxy.stop()
    table(result)
    if a.out:
        pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
