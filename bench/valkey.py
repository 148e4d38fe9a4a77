#!/usr/bin/env python3
"""Measures onecopy's Valkey client and its peers on one server in one run.

    bench/valkey.py --render FILE...
    bench/valkey.py [--counts] [--time] [--workloads A,B] [--clients A,B] [--rounds 7] [--place HOW] [--out FILE]
    bench/valkey.py --turns 400 [--out FILE]

Builds the programs, starts a private Valkey or Redis, and runs every client on every workload over a Unix socket:
  set, get                              1,024 bytes, 32 commands on their way: by pipelines, or by 32 tasks
  get-64m, get-64m-reuse, get-64m-stream    a value of 64 MiB: owned, into a vector that is used again, in pieces
What is counted and timed is what compare.py counts and times, each per request. Small requests are timed with the server on
one processor and the client on another (--place apart): whether the two share one is a matter of luck else, and moves a time
by a third. Large values are timed where the system puts the two (--place system). With --place together all are timed with
both on one processor, whose caches then hold what was just written. The time of
a value of 64 MiB is the median of single requests, as the programs tell them; hiredis' does not.
With --turns the floors and onecopy take turns of 3,200 small requests in one program, with the server on another processor and
on the same: what a client takes more than the floor is told by turns of 1 to 3 ms beside each other, and not by runs of a second.
hiredis' peer needs cc and its
headers, libvalkey's, which few distributions have, its sources' folder in LIBVALKEY_SRC; redis-benchmark sends the same two
commands. A client that can't be had is left out, and the tables show it.
"""
import argparse, json, os, pathlib, re, shutil, socket, statistics, subprocess, sys

from compare import HERE, ROOT, alternate, cargo_target, counts, peak, sh, timed, times
from provenance import HIREDIS, define, first, libvalkey, provenance

WORKLOADS = {  # requests of the two counted lengths, and of one timed run
    "set": (3200, 35200, 320000),
    "get": (3200, 35200, 320000),
    "get-64m": (2, 8, 20),
    "get-64m-reuse": (2, 8, 20),
    "get-64m-stream": (2, 8, 20),
}
ONECOPY = ["onecopy", "onecopy-tokio"]
TURNING = ["floor", "floor-copy", "onecopy", "floor-tokio", "onecopy-tokio"]
TURN = 3200  # requests, as the program has it
C = ["libvalkey", "hiredis"]
SMALL = ["floor", "floor-tokio", *ONECOPY, "onecopy-shared", "redis-benchmark", *C, "redis", "redis-async", "redis-mux", "fred"]
CLIENTS = {
    "set": ["floor", "floor-copy", *SMALL[1:]],
    "get": SMALL,
    "get-64m": ["floor", "floor-tokio", *ONECOPY, *C, "redis", "redis-async", "fred"],
    "get-64m-reuse": ONECOPY,
    "get-64m-stream": ONECOPY,
}


def build(target):
    subprocess.run(["cargo", "build", "--release", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
    subprocess.run(["cargo", "build", "--release", "--target-dir", target], cwd=HERE / "valkey", check=True)
    flags = {"hiredis": ["-lhiredis"]}
    if src := os.environ.get("LIBVALKEY_SRC"):
        names = "read sds alloc valkey conn net sockcompat async dict dns timer".split()
        files = [f"{src}/src/{name}.c" for name in names if os.path.exists(f"{src}/src/{name}.c")]
        flags["libvalkey"] = ["-DLIBVALKEY", f"-I{src}/include", f"-I{src}/include/valkey", f"-I{src}/src", *files]
    for name in C:
        program = pathlib.Path(f"{target}/peer-{name}")
        program.unlink(missing_ok=True)
        if name not in flags:
            continue
        c = sh(["cc", "-O2", "-g", "-o", program, HERE / "valkey/c/peer.c", *flags[name]])
        if c.returncode:
            print(f"{name}'s peer can't be built:\n" + c.stderr[-300:], file=sys.stderr)


def missing(target):
    """The clients that are not available."""
    gone = {name for name in C if not os.path.exists(f"{target}/peer-{name}")}
    return gone if shutil.which("redis-benchmark") else {*gone, "redis-benchmark"}


def command(client, workload, url, n, target):
    if client in C:
        return [f"{target}/peer-{client}", workload, url.split("://")[1], str(n)]
    if client == "redis-benchmark":
        words = ["SET", "key:000000000001", "x" * 1024] if workload == "set" else ["GET", "key:000000000001"]
        return ["redis-benchmark", "-s", url.split("://")[1], "-c", "1", "-P", "32", "-n", str(n), "-q", *words]
    return [f"{target}/release/onecopy-valkey-peers", client, workload, url, str(n)]


def place(url, how):
    """Puts the server on the last processor, and gives what puts a client on the first, or the last too; or leaves both to the
    system."""
    cpus = sorted(os.sched_getaffinity(0))
    process = int(re.search(r"process_id:(\d+)", about(url))[1])
    os.sched_setaffinity(process, cpus if how == "system" else cpus[-1:])
    client = {"system": cpus, "apart": cpus[:1], "together": cpus[-1:]}[how]
    return ["taskset", "-c", ",".join(map(str, client))]


def about(url):
    """What the server reports about itself."""
    with socket.socket(socket.AF_UNIX) as server:
        server.connect(url.split("://")[1])
        server.sendall(b"INFO server\r\n")
        reply = b""
        while b"process_id:" not in reply or not reply.endswith(b"\r\n"):
            reply += server.recv(65536)
    return reply.decode()


def server(url):
    """Its name and version: a Valkey also reports the Redis version that it is compatible with."""
    says = dict(re.findall(r"(\w+):(.*)\r\n", about(url)))
    return f"valkey {says['valkey_version']}" if "valkey_version" in says else f"redis {says['redis_version']}"


def laps(jobs, n, rounds):
    """As compare.times, by what the programs report for each request."""
    seen = {client: ([], []) for client in jobs}
    for client, make in alternate(jobs, rounds):
        _, wall, out = timed(make(n + 1))
        seen[client][0].extend(int(x) / 1e9 for x in out.split()[1:])
        seen[client][1].append(wall / (n + 1))
    per = lambda values: {"median": statistics.median(values), "min": min(values)}
    return {client: {"cpu": per(cpu), "wall": per(wall)} for client, (cpu, wall) in seen.items()}


def of_floor(client, rows):
    """The client's CPU by the floor's, each round's by the same round's: the median. Over tokio by the floor's there."""
    floor = rows.get("floor-tokio" if client == "onecopy-tokio" else "floor", {})
    ours, floors = (row.get("time", {}).get("cpu", {}).get("rounds") for row in (rows[client], floor))
    return f"{statistics.median(a / b for a, b in zip(ours, floors)):.2f}" if ours and floors else ""


def turns(url, n, target):
    """What each turn of each client took, in ns of CPU a request; by workload and place."""
    seen = {}
    for workload in ["set", "get"]:
        for how in ["apart", "together"]:
            argv = [*place(url, how), *command(",".join(TURNING), workload, url, n * TURN, target)]
            done = sh(argv)
            if done.returncode:
                sys.exit(f"{' '.join(argv)} failed:\n{done.stderr}")
            names, *rows = done.stdout.splitlines()
            columns = zip(*(map(int, row.split()) for row in rows))
            seen.setdefault(workload, {})[how] = dict(zip(names.split(), map(list, columns)))
            print(f"took turns at {workload} {how}", file=sys.stderr)
    return seen


def turns_table(seen):
    print("\n| ns of CPU per request · ratio to the floor (quartiles) | apart | together |\n| --- | --- | --- |")
    for workload, places in seen.items():
        for client in TURNING:
            cells = []
            for rows in places.values():
                floors = rows["floor-tokio" if client.endswith("tokio") else "floor"]
                low, middle, high = statistics.quantiles([a / b for a, b in zip(rows[client], floors)], n=4)
                by = f" · {middle:.2f} ({low:.2f} to {high:.2f})" if rows[client] is not floors else ""
                cells.append(f"{statistics.median(rows[client]):.0f}{by}")
            print(f"| {workload}, {client} | " + " | ".join(cells) + " |")


def table(workload, rows):
    keys = ["cpu µs median / min", "ratio to the floor", "io / all calls", "Ir", "Ir*", "copied B", "allocations / B", "peak KiB"]
    print(f"\n| {workload} | " + " | ".join(keys) + " |\n| --- |" + " --- |" * len(keys))
    num = lambda x: f"{x:,.0f}" if abs(x) >= 100 else f"{x:,.2f}"
    for client, r in rows.items():
        t, c = r.get("time"), r.get("counts")
        print(f"| {client} | " + " | ".join([
            f"{t['cpu']['median'] * 1e6:,.2f} / {t['cpu']['min'] * 1e6:,.2f}" if t else "",
            of_floor(client, rows),
            f"{num(c['io_calls'])} / {num(c['calls'])}" if c else "",
            num(c["ir"]) if c else "",
            num(c["ir_star"]) if c else "",
            num(c["copied"]) if c else "",
            f"{num(c['allocations'])} / {num(c['allocated'])}" if c else "",
            f"{r['peak_kib']:,}" if r.get("peak_kib") else "",
        ]) + " |")


def render(files):
    """Tables of earlier runs' data, put together."""
    together = {}
    for file in files:
        data = json.loads(pathlib.Path(file).read_text())
        if "turns" in data:
            turns_table({w: {how: {c: list(map(int, turns.split())) for c, turns in rows.items()} for how, rows in places.items()}
                         for w, places in data["turns"].items()})
            continue
        for workload, rows in data["workloads"].items():
            for client, row in rows.items():
                together.setdefault(workload, {}).setdefault(client, {}).update(row)
    for workload in WORKLOADS:
        if workload in together:
            table(workload, together[workload])


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--counts", action="store_true")
    args.add_argument("--time", action="store_true")
    args.add_argument("--workloads", default=",".join(WORKLOADS))
    args.add_argument("--clients", default="")
    args.add_argument("--rounds", type=int, default=7)
    args.add_argument("--place", choices=["apart", "together", "system"], help="the server and the clients on processors")
    args.add_argument("--turns", type=int, metavar="N", help="each client's turns, in place of all else")
    args.add_argument("--out")
    args.add_argument("--render", nargs="+", metavar="FILE", help="only print the tables of these files")
    args.add_argument("--url", help="a server's Unix socket, redis+unix:///path; else a private one is started")
    a = args.parse_args()
    if a.turns is not None and (a.turns < 2 or a.counts or a.time or a.clients or a.place or a.workloads != ",".join(WORKLOADS)):
        args.error("--turns takes at least 2, and has clients, workloads and places of its own")
    if a.render:
        return render(a.render)
    target = os.environ.get("ONECOPY_PEERS_TARGET", str(HERE / "valkey/target"))
    if not a.url:  # again, inside a private server's life
        build(target)
        with_server = f"{cargo_target()}/release/with-server"
        sys.exit(subprocess.run([with_server, "--valkey", "--", sys.executable, __file__, *sys.argv[1:], "--url", "{VALKEY_URL}"]).returncode)
    gone = missing(target)
    made_of = provenance(
        HERE / "valkey/Cargo.lock", ("redis", "fred", "tokio"), server=server(a.url), hiredis=define(*HIREDIS),
        libvalkey=libvalkey(os.environ.get("LIBVALKEY_SRC")), **{"redis-benchmark": first("redis-benchmark", "--version")})
    command_line = "bench/valkey.py " + " ".join(x for x in sys.argv[1:] if x != a.url and x != "--url")
    result = {"command": command_line, "made_of": made_of}
    if a.turns is not None:
        seen = turns(a.url, a.turns, target)
        # A line for each client: a number a line would be thousands.
        result["turns"] = {w: {how: {c: " ".join(map(str, values)) for c, values in rows.items()} for how, rows in places.items()}
                           for w, places in seen.items()}
        if a.out:
            pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")
        return turns_table(seen)
    result["workloads"] = {}
    for workload in a.workloads.split(","):
        short, long, n = WORKLOADS[workload]
        clients = [c for c in CLIENTS[workload] if c not in gone and (not a.clients or c in a.clients.split(","))]
        jobs = {c: (lambda k, c=c: command(c, workload, a.url, k, target)) for c in clients}
        rows = {c: {} for c in jobs}
        sh(command("floor", workload, a.url, 1, target)).check_returncode()  # stores what is read: not in anybody's first run
        if a.counts or not a.time:
            for c, make in jobs.items():
                rows[c]["counts"] = counts(make, (short, long))
                print(f"counted {workload} with {c}", file=sys.stderr)
        if a.time or not a.counts:
            pinned = place(a.url, a.place or ("system" if workload.startswith("get-64m") else "apart"))
            on_one = {c: (lambda k, make=make: [*pinned, *make(k)]) for c, make in jobs.items()}
            telling = {c: make for c, make in on_one.items() if c not in C and workload.startswith("get-64m")}
            others = {c: make for c, make in on_one.items() if c not in telling}
            for c, t in (laps(telling, n, a.rounds) | times(others, n, a.rounds)).items():
                rows[c]["time"] = t
                rows[c]["peak_kib"] = peak(jobs[c](n))
        result["workloads"][workload] = rows
        table(workload, rows)
        if a.out:  # after each: the whole takes its time
            pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
