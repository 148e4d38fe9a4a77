#!/usr/bin/env python3
"""Counts the instructions of a checkout from pools, onecopy's and others', in user space.

    bench/pool.py

Builds bench/pool, starts a private server, and runs each pool under callgrind with two numbers of checkouts; the difference is
divided, so that start-up drops out. Prints a Markdown table. Needs valgrind.
"""
import os, pathlib, re, subprocess, sys, tempfile

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
    if len(sys.argv) == 3:
        # Inside with-server.
        program, url = sys.argv[1:]
        print("| pool | | instructions a checkout |\n|---|---|---|")
        for pool, note in POOLS.items():
            short, long = (instructions(program, pool, url, n) for n in (SHORT, LONG))
            print(f"| {pool} | {note} | {(long - short) / (LONG - SHORT):,.0f} |", flush=True)
        return
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "pool-peers"
    subprocess.run(["cargo", "build", "--release", "--target-dir", target], cwd=HERE / "pool", check=True)
    program = target / "release/onecopy-pool-peers"
    server = ["cargo", "run", "--quiet", "-p", "onecopy-testkit", "--bin", "with-server", "--", "--"]
    itself = ["sh", "-c", f"{sys.executable} {__file__} {program} $ONECOPY_TCP_URL"]
    subprocess.run(server + itself, cwd=ROOT, check=True)


main()
