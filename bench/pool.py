#!/usr/bin/env python3
"""Counts the instructions of a checkout from pools, onecopy's and others', in user space.

    bench/pool.py [--out docs/benchmarks/pool.json]
    bench/pool.py --render FILE

Builds bench/pool, starts a private server, and runs each pool under callgrind with two numbers of checkouts; the difference is
divided, so that start-up drops out. Prints a Markdown table. Needs valgrind.
"""
import argparse, json, os, pathlib, re, subprocess, sys, tempfile

from provenance import first, provenance

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
POOLS = {
    "onecopy": "threads; one peek",
    "onecopy-tokio": "tokio; one peek",
    "sqlx": "pings at each checkout, as by default",
    "sqlx-untested": "test_before_acquire(false)",
    "mysql-async": "resets at each return, as by default",
    "mysql-async-unreset": "with_reset_connection(false)",
    "deadpool": "the pool alone, of a box",
}
SHORT, LONG = 200, 1200


def instructions(program, pool, url, checkouts):
    with tempfile.NamedTemporaryFile() as out:
        command = ["valgrind", "--tool=callgrind", f"--callgrind-out-file={out.name}", program, pool, url, str(checkouts)]
        run = subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        if run.returncode:
            sys.exit(f"{pool}: {run.stderr[-600:]}")
        return int(re.search(r"Collected : (\d+)", run.stderr)[1])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--render", metavar="FILE", help="only print the table of this file")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.render:
        return render(json.loads(pathlib.Path(arguments.render).read_text()))
    if arguments.inside:
        return measure(arguments.inside, os.environ["ONECOPY_TCP_URL"], arguments.out)
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    subprocess.run(["cargo", "build", "--release", "--target-dir", target / "pool-peers"], cwd=HERE / "pool", check=True)
    subprocess.run(["cargo", "build", "--release", "-p", "onecopy-testkit", "--bin", "with-server"], cwd=ROOT, check=True)
    inside = [sys.executable, __file__, "--inside", target / "pool-peers/release/onecopy-pool-peers"]
    if arguments.out:
        inside += ["--out", pathlib.Path(arguments.out).resolve()]
    subprocess.run([target / "release/with-server", "--", *inside], check=True)


def measure(program, url, out):
    counts = {}
    for pool in POOLS:
        short, long = (instructions(program, pool, url, n) for n in (SHORT, LONG))
        counts[pool] = round((long - short) / (LONG - SHORT))
        print(f"{pool}: {counts[pool]}", file=sys.stderr)
    peers = ("sqlx", "mysql_async", "deadpool")
    document = {
        "command": "bench/pool.py",
        **provenance(HERE / "pool/Cargo.lock", peers, mariadbd=first("mariadbd", "--version")),
        "instructions": counts,
    }
    if out:
        pathlib.Path(out).write_text(json.dumps(document, indent=1) + "\n")
    render(document)


def render(document):
    print(f"commit {document['commit']}, {document['processor']}\n")
    print("| pool | | instructions a checkout |\n|---|---|---:|")
    for pool, count in document["instructions"].items():
        print(f"| {pool} | {POOLS[pool]} | {count:,} |")


if __name__ == "__main__":
    main()
