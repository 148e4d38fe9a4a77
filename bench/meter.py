#!/usr/bin/env python3
"""Holds the meter against valgrind: does it count every byte that is copied?

    bench/meter.py [--driver blocking|tokio] [--workloads A,B]

Runs each workload in two lengths under `valgrind --tool=dhat --mode=copy`, on a private MariaDB, and compares what the
longer run copied more by valgrind's count with what it copied more by its own meter, of the same two processes. They must
agree within 1 % plus 4 KiB; exit 1 where they do not. Needs valgrind.
"""
import argparse, json, os, pathlib, re, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
BIN = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release"
LENGTHS = {
    "one-small-row": (100, 1100),
    "one-big-row": (100, 1100),
    "many-rows": (1, 3),
    "stmt-params": (100, 1100),
    "blob": (1, 4),
    "blob-reuse": (1, 4),
    "blob-stream": (1, 4),
}
COPIES = ["bytes_moved", "bytes_copied_by_growth", "bytes_copied_to_homes", "bytes_copied_to_owned",
          "bytes_copied_to_output", "bytes_copied_to_metadata"]


def run(workload, url, driver, n):
    """Bytes copied by valgrind's count, and by the meter."""
    argv = ["valgrind", "--tool=dhat", "--mode=copy", "--dhat-out-file=/dev/null", BIN / "onecopy", "bench", "client",
            workload, "--url", url, "--driver", driver, "--iterations", str(n), "--json"]
    done = subprocess.run([str(a) for a in argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if done.returncode:
        sys.exit(done.stderr)
    total = int(re.search(r"Total:\s+([\d,]+) bytes", done.stderr)[1].replace(",", ""))
    meter = json.loads(done.stdout)["connection_meter"]
    return total, sum(meter[key] for key in COPIES)


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--driver", default="blocking,tokio")
    args.add_argument("--workloads", default=",".join(LENGTHS))
    args.add_argument("--url")
    a = args.parse_args()
    if not a.url:
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
        again = [str(BIN / "with-server"), "--", sys.executable, __file__, *sys.argv[1:], "--url", "{URL}"]
        sys.exit(subprocess.run(again).returncode)
    subprocess.run([str(BIN / "onecopy"), "bench", "setup", "--url", a.url], check=True)
    print("| workload | driver | iterations | valgrind, B copied | meter, B copied | agree |\n|---|---|---|---|---|---|")
    wrong = 0
    for driver in a.driver.split(","):
        for workload in a.workloads.split(","):
            short, long = LENGTHS[workload]
            (v1, m1), (v2, m2) = run(workload, a.url, driver, short), run(workload, a.url, driver, long)
            valgrind, meter = v2 - v1, m2 - m1
            agree = abs(valgrind - meter) <= 0.01 * max(abs(valgrind), meter) + 4096
            wrong += not agree
            print(f"| {workload} | {driver} | {long - short:,} | {valgrind:,} | {meter:,} | {'yes' if agree else 'NO'} |", flush=True)
    sys.exit(1 if wrong else 0)


main()
