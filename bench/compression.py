#!/usr/bin/env python3
"""Measures compressed connections, onecopy's and mysql_async's, on one server in one run.

    bench/compression.py [--rounds 5]

Builds bench/compression, starts a private server (ONECOPY_TEST_SERVER names another one than MariaDB), and lets each client read
a result of 20,000 rows and send a statement of 1 MiB, uncompressed and compressed with the algorithms that the client and the
server have. For each: the bytes that the server has counted on the network, the client's instructions in user space by callgrind,
and its CPU time, user and system, the median of the rounds. All are differences of two counts, so that start-up drops out, and
are given for a byte of values. Prints a Markdown table. Needs valgrind.
"""
import argparse, os, pathlib, re, resource, statistics, subprocess, sys, tempfile

from provenance import provenance

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
CLIENTS = [f"{client}-{algorithm}" for algorithm, clients in {
    "plain": ["onecopy", "onecopy-tokio", "mysql-async"],
    "zlib": ["onecopy", "onecopy-tokio", "mysql-async"],
    "zstd": ["onecopy", "onecopy-tokio"],
}.items() for client in clients]
# How often, in the two counted runs and in the two timed ones.
WORKLOADS = {"read": ((1, 4), (2, 42)), "write": ((1, 4), (2, 42))}


def run(command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        return None, done.stderr
    figures = {name: int(number) for name, number in (line.split() for line in done.stdout.splitlines())}
    figures["cpu"] = sum(getattr(after, name) - getattr(before, name) for name in ("ru_utime", "ru_stime"))
    return figures, done.stderr


def must(figures):
    if figures[0] is None:
        sys.exit(figures[1][-800:])
    return figures


def instructions(command):
    with tempfile.NamedTemporaryFile() as out:
        _, text = must(run(["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", *command]))
        return int(re.search(r"Collected : (\d+)", text)[1])


def measure(program, url, client, workload, rounds):
    command = lambda count: [program, client, url, workload, str(count)]
    (few, many), (short, long) = WORKLOADS[workload]
    first, text = run(command(few))
    if first is None and "CompressionNotOffered" in text:
        return print(f"| {client} | {workload} | the server does not offer it | | |", flush=True)
    must((first, text))
    last = must(run(command(many)))[0]
    direction = {"read": "Bytes_sent", "write": "Bytes_received"}[workload]
    network = (last[direction] - first[direction]) / (many - few)
    values = {"read": (last["values"] - first["values"]) / (many - few), "write": 1 << 20}[workload]
    counted = (instructions(command(many)) - instructions(command(few))) / (many - few)
    times = [must(run(command(long)))[0]["cpu"] - must(run(command(short)))[0]["cpu"] for _ in range(rounds)]
    cpu = statistics.median(times) / (long - short)
    print(f"| {client} | {workload} | {network / values:.3f} | {counted / values:.2f} | {cpu / values * 1e9:.2f} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--inside", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.inside:
        program, url = arguments.inside
        must(run([program, "onecopy-plain", url, "prepare", "0"]))
        print("| client | | bytes on the network / bytes | instructions a byte | CPU ns a byte |\n|---|---|---:|---:|---:|")
        for workload in WORKLOADS:
            for client in CLIENTS:
                measure(program, url, client, workload, arguments.rounds)
        return
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    subprocess.run(["cargo", "build", "--release", "--target-dir", target / "compression-peers"], cwd=HERE / "compression", check=True)
    subprocess.run(["cargo", "build", "--quiet", "-p", "onecopy-testkit", "--bin", "with-server"], cwd=ROOT, check=True)
    print(provenance(HERE / "compression/Cargo.lock", ("mysql_async", "flate2", "zlib-rs", "miniz_oxide", "zstd-sys")), file=sys.stderr)
    program = target / "compression-peers/release/onecopy-compression-peers"
    itself = [sys.executable, __file__, "--rounds", str(arguments.rounds), "--inside", program, "{URL}"]
    subprocess.run([target / "debug/with-server", "--", *itself], cwd=ROOT, check=True)


main()
