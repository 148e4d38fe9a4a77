#!/usr/bin/env python3
"""Measures the proxy beside the direct path, haproxy and a relay without a protocol, in one run.

    bench/proxy.py --render FILE...
    bench/proxy.py [--parts queries,idle,connects] [--workloads A,B] [--proxies A,B] [--rounds 5] [--seconds 5] [--out FILE]

Builds the programs, starts a private MariaDB and each proxy in front of it, all over TCP on this machine:
  queries   sysbench's point selects at 8 and 64 threads, its read only at 8, and at 8 rows of 90,000 bytes, 10,000 rows of
            120 bytes, and connect-query-quit: queries a second, and the proxy's CPU (user and system, /proc) a query; the
            proxies take turns, medians and extremes of the rounds
  idle      resident memory of 5,000 logged-in connections, each: before and after one row of 90,000 bytes each
  connects  1,000 connections a second made and closed, for a minute: what was reached, and what is left of them
  pooled    sysbench's point selects and read-write with 8, 64 and 2,000 clients, direct, by haproxy, by the proxy as a wire, and
            by its pool of 16 connections: queries a second, p50 and p99 of the latency of an event, the proxy's CPU a query, and
            the server's connections, threads and resident memory
haproxy is the distribution's, with its own buffers of 16 KiB and with 128 KiB; floor is crates/proxy/examples/relay.rs, the
proxy's streams and event loops without a look at the bytes. Needs sysbench and haproxy. Prints Markdown tables and writes
FILE as JSON.
"""
import argparse, json, os, pathlib, re, shutil, signal, socket, statistics, subprocess, sys, tempfile, time
from urllib.parse import urlsplit

from compare import HERE, ROOT, cargo_target, sh
from provenance import provenance

WORKLOADS = {  # name: threads, sysbench's script and options
    "point select 8": (8, ["oltp_point_select", "--tables=1", "--table-size=10000"]),
    "point select 64": (64, ["oltp_point_select", "--tables=1", "--table-size=10000"]),
    "read only 8": (8, ["oltp_read_only", "--tables=1", "--table-size=10000"]),
    "row of 90 kB, 8": (8, [HERE / "proxy/big_row.lua"]),
    "10,000 rows, 8": (8, [HERE / "proxy/many_rows.lua"]),
    "connect, query, quit 8": (8, [HERE / "proxy/connect.lua"]),
}
POOLED = ["direct", "haproxy", "onecopy", "pooled"]
POOLED_WORKLOADS = {"point select": "oltp_point_select", "read-write": "oltp_read_write"}
POOL = 16
PROXIES = ["direct", "haproxy", "haproxy 128k", "onecopy", "floor"]
IDLE = 5000
TICKS = os.sysconf("SC_CLK_TCK")


class Process:
    """A running proxy, or none."""
    running = []

    def __init__(self, name, server, folder, most=POOL):
        """`most`: connections of a pool."""
        self.name, self.child = name, None
        if name == "direct":
            self.port = server
            return
        if name.startswith("haproxy"):
            self.port = free_port()
            config = pathlib.Path(folder) / f"{name.replace(' ', '-')}.cfg"
            config.write_text(haproxy(self.port, server, "128k" in name))
            command = ["haproxy", "-db", "-f", config]
            self.child = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
            self.running.append(self)
            wait_for(self.port)
            return
        pooled = pathlib.Path(folder) / "pooled.toml"
        pooled.write_text(f"""[[mysql]]
listen = "127.0.0.1:0"
mode = "transaction"
account = [{{ user = "bench", password = "" }}]
[mysql.pool]
max = {most}
wait-timeout = "60s"
[[mysql.backend]]
server = "127.0.0.1:{server}"
""")
        command = {
            "pooled": [f"{cargo_target()}/release/onecopy", "proxy", "--config", pooled],
            "onecopy": [f"{cargo_target()}/release/onecopy", "proxy", "--mysql", f"127.0.0.1:0=127.0.0.1:{server}"],
            "floor": [f"{cargo_target()}/release/examples/relay", f"127.0.0.1:0=127.0.0.1:{server}"],
        }[name]
        self.child = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        self.running.append(self)
        for line in self.child.stderr:
            if said := re.search(r"listening(?: on |=)127\.0\.0\.1:(\d+)", line):
                self.port = int(said[1])
                return
        sys.exit(f"{name} has ended before it listened")

    def cpu(self):
        """Seconds so far."""
        if not self.child:
            return 0.0
        fields = open(f"/proc/{self.child.pid}/stat").read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def resident_kib(self):
        return int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{self.child.pid}/status").read())[1])

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.child.pid}/fd"))

    def stop(self):
        if self.child:
            self.child.send_signal(signal.SIGKILL)
            self.child.wait()


def haproxy(port, server, large):
    return f"""global
  nbthread {os.cpu_count()}
  maxconn 8000
  {"tune.bufsize 131072" if large else ""}
defaults
  mode tcp
  maxconn 8000
  timeout connect 5s
  timeout client 1h
  timeout server 1h
listen mysql
  bind 127.0.0.1:{port}
  server db 127.0.0.1:{server}
"""


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def wait_for(port):
    for _ in range(500):
        try:
            return socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.01)
    sys.exit(f"nobody listens on {port}")


SYSBENCH = ["sysbench", "--db-driver=mysql", "--mysql-host=127.0.0.1", "--mysql-user=bench", "--mysql-password=", "--mysql-db=test"]


def sysbench(port, threads, script, *more):
    done = sh([*SYSBENCH, f"--mysql-port={port}", f"--threads={threads}", *script, *more])
    if done.returncode or "FATAL" in done.stdout:
        sys.exit(f"sysbench {' '.join(map(str, script))}: {done.stdout[-800:]} {done.stderr[-300:]}")
    return done.stdout


def prepare(server, url):
    sql = ("CREATE USER IF NOT EXISTS bench@'%' IDENTIFIED BY ''; GRANT ALL ON *.* TO bench@'%'; "
           "CREATE USER IF NOT EXISTS idle@'%' IDENTIFIED BY ''; SET GLOBAL max_connections = 10000; "
           "SET GLOBAL max_prepared_stmt_count = 1000000; "
           "CREATE TABLE IF NOT EXISTS test.proxy_big (id INT PRIMARY KEY, a MEDIUMTEXT); "
           "REPLACE INTO test.proxy_big SELECT seq, REPEAT(CHAR(64 + seq % 26), 90000) FROM seq_1_to_64")
    subprocess.run([f"{cargo_target()}/release/onecopy", "sql", "--quiet", url], input=sql, text=True, check=True)
    sysbench(server, 1, ["oltp_point_select", "--tables=1", "--table-size=10000"], "prepare")


def queries(a, server, folder, result):
    proxies = [Process(name, server, folder) for name in a.proxies]
    for workload in a.workloads:
        threads, script = WORKLOADS[workload]
        rows = result["queries"][workload] = {proxy.name: {"rate": [], "cpu": []} for proxy in proxies}
        for round in range(a.rounds):
            for proxy in proxies[round % len(proxies):] + proxies[:round % len(proxies)]:
                before = proxy.cpu()
                said = sysbench(proxy.port, threads, script, f"--time={a.seconds}", "run")
                count, rate = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", said).groups()
                rows[proxy.name]["rate"].append(float(rate))
                rows[proxy.name]["cpu"].append((proxy.cpu() - before) / int(count) * 1e6)
        result["load"].append(os.getloadavg()[0])
        table(workload, rows)
        save(a, result)
    for proxy in proxies:
        proxy.stop()


def idle(a, server, folder, result):
    for name in a.proxies:
        if name == "direct":
            continue
        proxy = Process(name, server, folder)
        time.sleep(1)
        start = proxy.resident_kib()
        command = [sys.executable, HERE / "proxy/idle.py", "127.0.0.1", str(proxy.port), str(IDLE)]
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        if child.stdout.readline() != "connected\n":
            sys.exit(f"{name}: not all of {IDLE} connections came in")
        time.sleep(5)
        before = proxy.resident_kib()
        child.stdin.write("rows\n")
        child.stdin.flush()
        if child.stdout.readline() != "done\n":
            sys.exit(f"{name}: not all rows came")
        time.sleep(5)
        after = proxy.resident_kib()
        result["idle"][name] = {"connections": IDLE, "start_kib": start, "before": (before - start) / IDLE, "after": (after - start) / IDLE}
        child.stdin.close()
        child.wait()
        proxy.stop()
        print(f"{name}: {result['idle'][name]}", file=sys.stderr)
        save(a, result)
    idle_table(result["idle"])


def connects(a, server, folder, result):
    for name in a.proxies:
        proxy = Process(name, server, folder)
        time.sleep(1)
        held = (proxy.descriptors(), proxy.resident_kib()) if proxy.child else (0, 0)
        before = proxy.cpu()
        said = sysbench(proxy.port, 16, [HERE / "proxy/connect.lua"], "--rate=1000", f"--time={a.minute}", "run")
        count = int(re.search(r"total number of events:\s+(\d+)", said)[1])
        late = float(re.search(r"95th percentile:\s+([\d.]+)", said)[1])
        cpu = (proxy.cpu() - before) / count * 1e6
        time.sleep(3)
        left = (proxy.descriptors(), proxy.resident_kib()) if proxy.child else (0, 0)
        result["connects"][name] = {"seconds": a.minute, "connections": count, "rate": count / a.minute, "cpu": cpu, "p95_ms": late,
                                    "descriptors_left": left[0] - held[0], "kib_more": left[1] - held[1]}
        proxy.stop()
        print(f"{name}: {result['connects'][name]}", file=sys.stderr)
        save(a, result)
    connects_table(result["connects"])


def server_of(port):
    """The process that listens there: its number of the kernel's."""
    for line in sh(["ss", "-ltnpH", f"sport = :{port}"]).stdout.splitlines():
        if said := re.search(r"pid=(\d+)", line):
            return int(said[1])
    sys.exit(f"nobody listens on {port}")


def pooled(a, server, folder, result):
    pid = server_of(server)
    for workload, script in POOLED_WORKLOADS.items():
        for clients in map(int, a.clients.split(",")):
            name = f"{workload} {clients}"
            rows = result["pooled"][name] = {proxy: {"rate": [], "p50": [], "p99": [], "cpu": [], "connections": [], "threads": [], "server_mib": []} for proxy in POOLED}
            for round in range(a.rounds):
                for which in POOLED[round % len(POOLED):] + POOLED[:round % len(POOLED)]:
                    proxy = Process(which, server, folder)
                    before = proxy.cpu()
                    command = [*SYSBENCH, f"--mysql-port={proxy.port}", f"--threads={clients}", script, "--tables=1",
                               "--table-size=10000", f"--time={a.seconds}", "--histogram", "run"]
                    child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
                    time.sleep(a.seconds / 2 + clients / 1000)
                    connections = int(sh(["sh", "-c", f"ss -tnH state established sport = :{server} | wc -l"]).stdout)
                    status = open(f"/proc/{pid}/status").read()
                    resident, threads = (int(re.search(rf"{key}:\s+(\d+)", status)[1]) for key in ["VmRSS", "Threads"])
                    said = child.communicate()[0]
                    if child.returncode or "FATAL" in said:
                        sys.exit(f"{which}, {name}: {said[-800:]}")
                    count, rate = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", said).groups()
                    p50, p99 = percentiles(said)
                    for key, value in [("rate", float(rate)), ("p50", p50), ("p99", p99), ("cpu", (proxy.cpu() - before) / int(count) * 1e6),
                                       ("connections", connections), ("threads", threads), ("server_mib", resident / 1024)]:
                        rows[which][key].append(value)
                    proxy.stop()
            pooled_table(name, rows)
            save(a, result)


def percentiles(said):
    """p50 and p99 in ms, of sysbench's histogram."""
    buckets = [(float(value), int(count)) for value, count in re.findall(r"^\s+([\d.]+) \|\**\s+(\d+)$", said, re.M)]
    total, found = sum(count for _, count in buckets), []
    for part in (0.5, 0.99):
        below = 0
        for value, count in buckets:
            below += count
            if below >= part * total:
                found.append(value)
                break
    return found


def pooled_table(name, rows):
    print(f"\n| {name} clients | q/s median | ratio to direct | p50, ms | p99, ms | proxy's CPU µs per query | server's connections | "
          "its threads | its memory, MiB |\n| --- |" + " --- |" * 8)
    median = {which: {key: statistics.median(values) for key, values in row.items()} for which, row in rows.items()}
    for which, row in median.items():
        cpu = f"{row['cpu']:.1f}" if which != "direct" else ""
        print(f"| {which} | {row['rate']:,.0f} | {row['rate'] / median['direct']['rate']:.2f} | {row['p50']:.2f} | {row['p99']:.2f} | {cpu} | "
              f"{row['connections']:,.0f} | {row['threads']:,.0f} | {row['server_mib']:,.0f} |", flush=True)


def save(a, result):
    if a.out:  # after each: the whole takes its time
        pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")


def table(workload, rows):
    print(f"\n| {workload} | q/s median | ratio to direct | proxy's CPU µs per query, median | min – max | ratio to the floor |\n| --- |" + " --- |" * 5)
    direct = statistics.median(rows["direct"]["rate"]) if "direct" in rows else None
    floor = statistics.median(rows["floor"]["cpu"]) if "floor" in rows else None
    for name, row in rows.items():
        rate, cpu = statistics.median(row["rate"]), statistics.median(row["cpu"])
        print(f"| {name} | {rate:,.0f} | {f'{rate / direct:.2f}' if direct else ''} | " + (" | | |" if name == "direct" else
              f"{cpu:,.1f} | {min(row['cpu']):,.1f} – {max(row['cpu']):,.1f} | {f'{cpu / floor:.2f}' if floor else ''} |"), flush=True)


def idle_table(rows):
    print(f"\n| {IDLE:,} idle connections | KB per connection | the same after one row of 90 kB each |\n| --- | --- | --- |")
    for name, row in rows.items():
        print(f"| {name} | {row['before']:.1f} | {row['after']:.1f} |")


def connects_table(rows):
    seconds = next(iter(rows.values()))["seconds"]
    print(f"\n| 1,000 connections a second for {seconds} s | connections a second | CPU µs per connection | descriptors still open | "
          "memory growth, KiB |\n| --- |" + " --- |" * 4)
    for name, row in rows.items():
        proxy = name != "direct"
        print(f"| {name} | {row['rate']:,.0f} | {row['cpu']:,.0f} | "
              f"{row['descriptors_left'] if proxy else ''} | {row['kib_more'] if proxy else ''} |")


def render(files):
    """Tables of earlier runs' data, put together."""
    for file in files:
        result = json.loads(pathlib.Path(file).read_text())
        for workload, rows in result["queries"].items():
            table(workload, rows)
        if result["idle"]:
            idle_table(result["idle"])
        if result["connects"]:
            connects_table(result["connects"])
        for name, rows in result.get("pooled", {}).items():
            pooled_table(name, rows)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--parts", default="queries,idle,connects")
    args.add_argument("--workloads", help="their names with a semicolon between", default=";".join(WORKLOADS))
    args.add_argument("--proxies", default=",".join(PROXIES))
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--seconds", type=int, default=5)
    args.add_argument("--minute", type=int, default=60, help="how long connections are made and closed")
    args.add_argument("--clients", default="8,64,2000", help="how many of the part pooled")
    args.add_argument("--out")
    args.add_argument("--render", nargs="+", metavar="FILE", help="only print the tables of these files")
    args.add_argument("--inside", action="store_true", help=argparse.SUPPRESS)
    a = args.parse_args()
    if a.render:
        return render(a.render)
    missing = [tool for tool in ["sysbench", "haproxy"] if not shutil.which(tool)]
    if missing:
        sys.exit(f"{missing[0]} is missing; type: apt-get install {missing[0]}")
    if not a.inside:  # again, inside a private server's life
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy-proxy", "--example", "relay"], cwd=ROOT, check=True)
        with_server = f"{cargo_target()}/release/with-server"
        sys.exit(subprocess.run([with_server, "--", sys.executable, __file__, *sys.argv[1:], "--inside"]).returncode)
    a.workloads, a.proxies = a.workloads.split(";"), a.proxies.split(",")
    for names, known in [(a.workloads, WORKLOADS), (a.proxies, PROXIES)]:
        if unknown := [name for name in names if name not in known]:
            sys.exit(f"no such name: {unknown[0]}; known are: {'; '.join(known)}")
    server = urlsplit(os.environ["ONECOPY_TCP_URL"]).port
    version = lambda *command: sh(command).stdout.splitlines()[0]
    result = {"command": "bench/proxy.py " + " ".join(x for x in sys.argv[1:] if x != "--inside"),
              **provenance(), "haproxy": version("haproxy", "-v"), "sysbench": version("sysbench", "--version"), "processors": os.cpu_count(),
              "load": [os.getloadavg()[0]], "queries": {}, "idle": {}, "connects": {}, "pooled": {}}
    prepare(server, os.environ["ONECOPY_URL"])
    with tempfile.TemporaryDirectory() as folder:
        try:
            for part in a.parts.split(","):
                {"queries": queries, "idle": idle, "connects": connects, "pooled": pooled}[part](a, server, folder, result)
        finally:
            for proxy in Process.running:
                proxy.stop()


if __name__ == "__main__":
    main()
