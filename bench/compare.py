#!/usr/bin/env python3
"""Measures onecopy and its peers on one server in one run.

    bench/compare.py --render FILE...
    bench/compare.py [--counts] [--time] [--workloads A,B] [--clients A,B] [--rounds 7] [--out FILE]

Builds the programs, starts a private MariaDB, makes the tables, and runs every client on every workload:
  counts  instructions (callgrind, all and without the C library's mem* functions), bytes copied by mem* (dhat copy mode),
          heap blocks and bytes (dhat), read/write calls and all calls (strace): per iteration, from the difference of two
          lengths, so that start-up drops out
  time    CPU (user + system) and wall time per iteration, clients alternating, medians and minima over the rounds
Prints Markdown tables and writes FILE as JSON. Needs valgrind, strace, cc and libmariadb's headers for its peer; a client
that can't be built is left out, and the tables say so.
"""
import argparse, json, os, pathlib, re, resource, shutil, statistics, subprocess, sys, tempfile, time
from urllib.parse import unquote

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
WORKLOADS = {  # name: iterations of the two counted lengths, and of one timed run
    "one-small-row": (200, 1200, 10000),
    "one-big-row": (200, 1200, 5000),
    "many-rows": (1, 3, 3),
    "stmt-params": (200, 1200, 5000),
    "blob": (1, 4, 10),
    "blob-reuse": (1, 4, 10),
    "blob-stream": (1, 4, 10),
}
ONECOPY_ONLY = {"blob-reuse", "blob-stream"}
MEM = re.compile(r"\b_*(mem(cpy|move|set|chr)|mempcpy)")


def sh(argv, **kw):
    return subprocess.run([str(a) for a in argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)


def build(target, wanted):
    """Builds what the wanted clients need (all of them where none is named); gives those that can be run."""
    wants = lambda *clients: not wanted or set(clients) & set(wanted)
    subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
    clients = ["floor", "onecopy", "onecopy-tokio", "onecopy-tcp", "onecopy-tls"]
    if wants("mysql", "mysql-async", "sqlx"):
        peers = sh(["cargo", "build", "--release", "--target-dir", target], cwd=HERE)
        if peers.returncode == 0:
            clients += ["mysql", "mysql-async", "sqlx"]
        else:
            print("the Rust peers can't be built:\n" + peers.stderr[-600:], file=sys.stderr)
    if not wants("libmariadb", "libmariadb-tls"):
        return clients
    pathlib.Path(target).mkdir(parents=True, exist_ok=True)
    flags = sh(["mariadb_config", "--cflags", "--libs"]).stdout.split() if shutil.which("mariadb_config") else ["-I/usr/include/mariadb", "-lmariadb"]
    c = sh(["cc", "-O2", "-o", f"{target}/peer-mariadb", HERE / "libmariadb/peer.c", *flags])
    if c.returncode == 0:
        clients += ["libmariadb", "libmariadb-tls"]
    else:
        print("libmariadb's peer can't be built (install libmariadb-dev):\n" + c.stderr[-300:], file=sys.stderr)
    return clients


def command(client, workload, url, n, target):
    if client in ("floor", "onecopy", "onecopy-tokio", "onecopy-tcp", "onecopy-tls"):
        extra = {"floor": ["--floor"], "onecopy-tokio": ["--driver", "tokio"]}.get(client, [])
        if client in ("onecopy-tcp", "onecopy-tls"):  # what TLS costs shows beside the same socket in clear text
            url = os.environ.get(client.replace("onecopy-", "ONECOPY_").upper() + "_URL")
            if not url:
                return None
        return [f"{cargo_target()}/release/onecopy", "bench", "client", workload, "--url", url, "--iterations", str(n), "--json", *extra]
    # sqlx 0.9 fails at its second execution here, docs/benchmarks.md.
    if workload in ONECOPY_ONLY or (client, workload) == ("sqlx", "blob"):
        return None
    if client == "libmariadb-tls":
        url = os.environ.get("ONECOPY_TLS_URL", "")
        if not url:
            return None
        user, password, port, database, ca = re.match(r"mysql://([^:]+):([^@]*)@127.0.0.1:(\d+)/([^?]*)\?.*ssl-ca=(.*)", url).groups()
        return [f"{target}/peer-mariadb", workload, port, user, password, database, str(n), unquote(ca)]
    if client == "libmariadb":
        user, password, database, socket = re.match(r"mysql://([^:]+):([^@]*)@[^/]*/([^?]*)\?socket=(.*)", url).groups()
        return [f"{target}/peer-mariadb", workload, unquote(socket), user, password, database, str(n)]
    return [f"{target}/release/onecopy-peers", client, workload, url, str(n)]


def cargo_target():
    return os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))


def callgrind(cmd, folder):
    out = f"{folder}/callgrind"
    sh(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out}", *cmd]).check_returncode()
    total = mem = 0
    for line in sh(["callgrind_annotate", "--threshold=100", "--auto=no", out]).stdout.splitlines():
        m = re.match(r"\s*([\d,]+)(?:\s*\([\d. ]+%\))?\s+(.*)", line)
        if m:
            n = int(m[1].replace(",", ""))
            if "PROGRAM TOTALS" in m[2]:
                total = n
            elif MEM.search(m[2]):
                mem += n
    return {"ir": total, "ir_star": total - mem}


def dhat(cmd, folder, mode):
    run = sh(["valgrind", "--tool=dhat", f"--mode={mode}", f"--dhat-out-file={folder}/dhat", *cmd])
    run.check_returncode()
    size, blocks = (int(x.replace(",", "")) for x in re.search(r"Total:\s+([\d,]+) bytes in ([\d,]+) blocks", run.stderr).groups())
    return {"copied": size} if mode == "copy" else {"allocations": blocks, "allocated": size}


def strace(cmd, folder):
    out = f"{folder}/strace"
    sh(["strace", "-c", "-f", "-o", out, *cmd]).check_returncode()
    io = total = 0
    for line in open(out):
        f = line.split()
        if len(f) >= 5 and f[3].isdigit():
            if f[-1] == "total":
                total = int(f[3])
            elif re.search(r"read|write|recv|send", f[-1]) and not f[-1].startswith("readlink"):
                io += int(f[3])
    return {"io_calls": io, "calls": total}


def counts(make, lengths):
    short, long = lengths
    result = {}
    with tempfile.TemporaryDirectory() as folder:
        for tool in (callgrind, lambda c, d: dhat(c, d, "copy"), lambda c, d: dhat(c, d, "heap"), strace):
            a, b = tool(make(short), folder), tool(make(long), folder)
            result |= {key: round((b[key] - a[key]) / (long - short), 3) for key in a}
    return result


def timed(cmd):
    """CPU and wall seconds, peak resident KiB, and what the program printed."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    child = subprocess.Popen(cmd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    out, err = child.communicate()
    wall, after = time.monotonic() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if child.returncode:
        sys.exit(f"{' '.join(cmd)}\n{err}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return cpu, wall, out


def alternate(jobs, rounds):
    """Runs the clients in turn, so that other load on the machine affects all of them alike. Each round begins with another
    client, so that none is always the first after a pause."""
    order = list(jobs.items())
    for _ in range(rounds):
        yield from order
        order = order[1:] + order[:1]


def times(jobs, n, rounds):
    """Seconds of CPU and of the clock an execution, by client, start-up subtracted."""
    seen = {client: [] for client in jobs}
    for client, make in alternate(jobs, rounds):
        idle, full = timed(make(1)), timed(make(n + 1))
        seen[client].append(((full[0] - idle[0]) / n, (full[1] - idle[1]) / n))
    per = lambda values: {"median": statistics.median(values), "min": min(values), "rounds": values}
    return {client: {"cpu": per([c for c, _ in runs]), "wall": per([w for _, w in runs])} for client, runs in seen.items()}


def peak(cmd):
    with tempfile.NamedTemporaryFile() as out:
        if not shutil.which("time"):
            return None
        sh(["/usr/bin/time", "-f", "%M", "-o", out.name, *cmd])
        return int(open(out.name).read().split()[-1])


def table(workload, rows):
    keys = ["cpu µs median / min", "io / all calls", "Ir*", "copied B", "allocations / B", "peak KiB"]
    print(f"\n| {workload} | " + " | ".join(keys) + " |\n| --- |" + " --- |" * len(keys))
    for client, r in rows.items():
        t, c = r.get("time"), r.get("counts")
        num = lambda x: f"{x:,.0f}" if abs(x) >= 100 else f"{x:,.1f}"
        print(f"| {client} | " + " | ".join([
            f"{t['cpu']['median'] * 1e6:,.1f} / {t['cpu']['min'] * 1e6:,.1f}" if t else "",
            f"{num(c['io_calls'])} / {num(c['calls'])}" if c else "",
            num(c["ir_star"]) if c else "",
            num(c["copied"]) if c else "",
            f"{num(c['allocations'])} / {num(c['allocated'])}" if c else "",
            f"{r['peak_kib']:,}" if r.get("peak_kib") else "",
        ]) + " |")


def render(files):
    """Tables of earlier runs' data, put together."""
    together = {}
    for file in files:
        for workload, rows in json.loads(pathlib.Path(file).read_text())["workloads"].items():
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
    args.add_argument("--out")
    args.add_argument("--render", nargs="+", metavar="FILE", help="only print the tables of these files")
    args.add_argument("--url", help="a server whose tables are there; else a private one is started")
    a = args.parse_args()
    if a.render:
        return render(a.render)
    target = os.environ.get("ONECOPY_PEERS_TARGET", str(HERE / "target"))
    wanted = a.clients.split(",") if a.clients else []
    clients = [c for c in build(target, wanted) if not wanted or c in wanted]
    if not a.url:  # again, inside a private server's life
        with_server = f"{cargo_target()}/release/with-server"
        sys.exit(subprocess.run([with_server, "--", sys.executable, __file__, *sys.argv[1:], "--url", "{URL}"]).returncode)
    subprocess.run([f"{cargo_target()}/release/onecopy", "bench", "setup", "--url", a.url], check=True)
    result = {"command": "bench/compare.py " + " ".join(x for x in sys.argv[1:] if x != a.url and x != "--url"), "workloads": {}}
    for workload in a.workloads.split(","):
        short, long, n = WORKLOADS[workload]
        jobs = {c: (lambda k, c=c: command(c, workload, a.url, k, target)) for c in clients if command(c, workload, a.url, 1, target)}
        rows = {c: {} for c in jobs}
        if a.counts or not a.time:
            for c, make in jobs.items():
                rows[c]["counts"] = counts(make, (short, long))
                print(f"counted {workload} with {c}", file=sys.stderr)
        if a.time or not a.counts:
            for c, t in times(jobs, n, a.rounds).items():
                rows[c]["time"] = t
                rows[c]["peak_kib"] = peak(jobs[c](n))
        result["workloads"][workload] = rows
        table(workload, rows)
        if a.out:  # after each: the whole takes its time
            pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
