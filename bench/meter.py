#!/usr/bin/env python3
"""Holds the meter against valgrind: does it count every byte that is copied?

    bench/meter.py [--driver blocking,tokio,shared] [--workloads A,B]

Runs each workload in two lengths under `valgrind --tool=dhat --mode=copy`, on a private MariaDB and a private Valkey or
Redis, and compares what the longer run copied more by valgrind's count with what it copied more by its own meter, of the
same two processes. They must agree within 1 % plus 4 KiB, Valkey's within HEAD, POLL and CALL besides; exit 1 where they
do not. Needs valgrind.
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
VALKEY = {  # test, -P, bytes of a value, requests
    "valkey-set": ("set", 1, 1024, (100, 1100)),
    "valkey-get": ("get", 1, 1024, (100, 1100)),
    "valkey-set-32": ("set", 32, 1024, (320, 3520)),
    "valkey-get-32": ("get", 32, 1024, (320, 3520)),
    "valkey-get-64m": ("get", 1, 64 << 20, (1, 4)),
    "valkey-get-64m-owned": ("owned", 1, 64 << 20, (1, 4)),
}
KEY = "key:__rand_int__"
# What the two may differ by and no byte of a reply or request is. Less by valgrind, a request: the head of GET, which is
# counted and yet written from registers, for its length is known when it is compiled. More by valgrind: the 152 bytes of
# state that tokio moves as it polls a task, at least once a read; a shared connection's entry for a call, 176 bytes; and
# the state of a shared connection's pipeline, which is made once and moved into the futures that run it, 944 bytes.
HEAD = len("*2\r\n$3\r\nGET\r\n")
POLL = {"blocking": 0, "tokio": 152, "shared": 152}
CALL = {"blocking": 0, "tokio": 0, "shared": 176}
PIPELINE = {"blocking": 0, "tokio": 0, "shared": 944}
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


def run_valkey(workload, url, driver, n):
    """The same of a workload of Valkey's, and its reads."""
    test, depth, size, _ = VALKEY[workload]
    argv = ["valgrind", "--tool=dhat", "--mode=copy", "--dhat-out-file=/dev/null", str(BIN / "onecopy")]
    if test == "owned":  # lines' replies are owned, one after the other on one connection
        argv += ["valkey", "--meter=json", "-f", "raw", url]
        done = subprocess.run(argv, input=f"GET {KEY}\n" * n, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        reported = re.search(r"^\{.*\}$", done.stderr, re.M)
        size_wrong = len(done.stdout) != n * (size + 1)
    else:
        argv += ["bench", "valkey", "--url", url, "-c", "1", "-P", str(depth), "-d", str(size), "-n", str(n), "-t", test,
                 "--driver", driver, "--json"]
        done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        reported, size_wrong = re.search(r".+", done.stdout), False
    if done.returncode or not reported or size_wrong:
        sys.exit(f"{workload} over {driver}: exit status {done.returncode}\n{done.stderr}")
    total = int(re.search(r"Total:\s+([\d,]+) bytes", done.stderr)[1].replace(",", ""))
    meter = json.loads(reported[0])
    meter = meter.get("meter", meter)
    return total, sum(meter[key] for key in COPIES), meter["reads"]


def prepare_valkey(workload, url):
    """Stores the value that a workload reads."""
    size = VALKEY[workload][2]
    subprocess.run([str(BIN / "onecopy"), "bench", "valkey", "--url", url, "-c", "1", "-d", str(size), "-n", "1", "-t", "set"],
                   check=True, stdout=subprocess.DEVNULL)


def drivers_of(workload, asked):
    """Those of the drivers asked for that a workload has."""
    if workload == "valkey-get-64m-owned":
        return [driver for driver in asked if driver == "blocking"]  # the command line's
    return [driver for driver in asked if driver != "shared" or workload in VALKEY]


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--driver", default="blocking,tokio,shared")
    args.add_argument("--workloads", default=",".join([*LENGTHS, *VALKEY]))
    args.add_argument("--url")
    args.add_argument("--valkey-url")
    a = args.parse_args()
    if not a.url or not a.valkey_url:
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
        again = [str(BIN / "with-server"), "--mysql", "--valkey", "--", sys.executable, __file__, *sys.argv[1:],
                 "--url", "{URL}", "--valkey-url", "{VALKEY_URL}"]
        sys.exit(subprocess.run(again).returncode)
    workloads = a.workloads.split(",")
    if any(workload in LENGTHS for workload in workloads):
        subprocess.run([str(BIN / "onecopy"), "bench", "setup", "--url", a.url], check=True)
    print("| workload | driver | iterations | valgrind, B copied | meter, B copied | agree |\n|---|---|---|---|---|---|")
    rows = [(workload, driver) for driver in a.driver.split(",") for workload in workloads if drivers_of(workload, [driver])]
    wrong = sum(not row(workload, driver, a) for workload, driver in rows)
    sys.exit(1 if wrong else 0)


def row(workload, driver, a):
    """Prints a workload's row; gives whether the two counts agree."""
    if workload in VALKEY:
        prepare_valkey(workload, a.valkey_url)
        short, long = VALKEY[workload][3]
        runs = [run_valkey(workload, a.valkey_url, driver, n) for n in (short, long)]
    else:
        short, long = LENGTHS[workload]
        runs = [run(workload, a.url, driver, n) for n in (short, long)]
    valgrind, meter, *reads = (later - sooner for sooner, later in zip(*runs))
    slack, count = 0.01 * max(abs(valgrind), meter) + 4096, long - short
    below = above = slack
    if workload in VALKEY:
        below += HEAD * count
        depth = VALKEY[workload][1]
        calls = count / depth
        above += POLL[driver] * reads[0] + CALL[driver] * calls + (PIPELINE[driver] * calls if depth > 1 else 0)
    agree = -below <= valgrind - meter <= above
    print(f"| {workload} | {driver} | {count:,} | {valgrind:,} | {meter:,} | {'yes' if agree else 'NO'} |", flush=True)
    return agree


main()
