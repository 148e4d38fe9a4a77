#!/usr/bin/env python3
"""Measures onecopy's Valkey client and its peers where many tasks share them, in one run.

    bench/many.py [--rounds 5] [--out FILE]
    bench/many.py --render FILE

Builds the programs, and starts a private Valkey or Redis and a cluster of three. The workloads:
  cluster-set, cluster-get   64 tasks, values of 1,024 bytes under 10,000 keys of the cluster
  cached-get                 a value of 1,024 bytes in the client's cache; fred has none
  publish                    messages of 100 bytes to 1,000 readers in one program, as each client's documentation has it: one
                             connection with onecopy and fred, one a reader with redis-rs
libvalkey, which few distributions have, needs cc, libevent-dev and its sources' folder in LIBVALKEY_SRC. It is measured on the
cluster alone: its client has no cache, and its readers of one channel are one callback.
CPU is that of the client's process, of a request or of a delivery. Clients take turns; tables have the median of the rounds.
"""
import argparse, json, os, pathlib, statistics, subprocess, sys

from compare import HERE, ROOT, alternate, cargo_target, sh
from provenance import libvalkey, provenance
from valkey import server

WORKLOADS = {"cluster-set": 128_000, "cluster-get": 128_000, "cached-get": 2_000_000, "publish": 300}
CLIENTS = ["onecopy", "redis", "fred", "libvalkey"]
NAMES = {"redis": "redis-rs"}
COLUMNS = ["cpu", "p50", "p99"]


def build_libvalkey(source, program):
    names = "adlist alloc async cluster command conn crc16 dict dns net read sds sockcompat timer valkey vkutil".split()
    files = [f"{source}/src/{name}.c" for name in names if os.path.exists(f"{source}/src/{name}.c")]
    includes = [f"-I{source}/include", f"-I{source}/include/valkey", f"-I{source}/src"]
    subprocess.run(["cc", "-O2", "-g", "-o", program, HERE / "valkey/c/many.c", *includes, *files, "-levent"], check=True)


def command(client, workload, url, target):
    requests = str(WORKLOADS[workload])
    if client == "libvalkey":
        return [f"{target}/many-libvalkey", workload, url.split("://")[1], requests]
    return [f"{target}/release/many", client, workload, url, requests]


def is_there(client, workload):
    """Whether a client does this, and can be had."""
    if client == "libvalkey":
        return workload.startswith("cluster") and "LIBVALKEY_SRC" in os.environ
    return (client, workload) != ("fred", "cached-get")


def table(workload, rows):
    each = "delivery" if workload == "publish" else "request"
    has_times = workload.startswith("cluster")
    print(f"\n| {workload} | CPU ns a {each}, median | min | max |" + (" p50 µs | p99 µs |" if has_times else ""))
    print("|---|---:|---:|---:|" + ("---:|---:|" if has_times else ""))
    for client, rounds in rows.items():
        cpu, p50, p99 = zip(*rounds)
        times = "".join(f" {statistics.median(values) / 1e3:,.0f} |" for values in (p50, p99)) if has_times else ""
        print(f"| {NAMES.get(client, client)} | {statistics.median(cpu):,.0f} | {min(cpu):,} | {max(cpu):,} |{times}")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=5)
    args.add_argument("--workloads", default=",".join(WORKLOADS))
    args.add_argument("--out")
    args.add_argument("--render", metavar="FILE", help="only print the tables of this file")
    args.add_argument("--servers", nargs=3, help="URLs of a server over its Unix socket and over TCP, and of a cluster; else private ones are started")
    a = args.parse_args()
    if a.render:
        for workload, rows in json.loads(pathlib.Path(a.render).read_text())["workloads"].items():
            table(workload, rows)
        return
    target = os.environ.get("ONECOPY_PEERS_TARGET", str(HERE / "valkey/target"))
    if not a.servers:
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
        subprocess.run(["cargo", "build", "--release", "--target-dir", target, "--bin", "many"], cwd=HERE / "valkey", check=True)
        if "LIBVALKEY_SRC" in os.environ:
            build_libvalkey(os.environ["LIBVALKEY_SRC"], f"{target}/many-libvalkey")
        again = [sys.executable, __file__, *sys.argv[1:], "--servers", "{VALKEY_URL}"]
        script = '"$@" "$ONECOPY_VALKEY_TCP_URL" "$ONECOPY_CLUSTER_URL"'
        with_server = [f"{cargo_target()}/release/with-server", "--valkey", "--cluster", "--", "sh", "-c", script, "sh", *again]
        sys.exit(subprocess.run(with_server).returncode)
    socket, tcp, cluster = a.servers
    node = "redis://" + cluster.split("://")[1].split(",")[0]
    made_of = provenance(HERE / "valkey/Cargo.lock", ("redis", "fred", "tokio"), server=server(socket),
                         libvalkey=libvalkey(os.environ.get("LIBVALKEY_SRC")))
    asked = [word for word in sys.argv[1:] if word not in ("--servers", *a.servers)]
    result = {"command": " ".join(["bench/many.py", *asked]), "made_of": made_of, "workloads": {}}
    for workload in a.workloads.split(","):
        url = node if workload.startswith("cluster") else tcp
        jobs = {c: command(c, workload, url, target) for c in CLIENTS if is_there(c, workload)}
        if workload == "cluster-get":
            sh(jobs["onecopy"][:2] + ["cluster-set", node, "64000"]).check_returncode()
        rows = {c: [] for c in jobs}
        for client, argv in alternate(jobs, a.rounds):
            done = sh(argv)
            if done.returncode:
                sys.exit(f"{' '.join(argv)} failed:\n{done.stderr}")
            rows[client].append(list(map(int, done.stdout.split())))
        result["workloads"][workload] = rows
        table(workload, rows)
        if a.out:
            pathlib.Path(a.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
