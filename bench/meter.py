#!/usr/bin/env python3
"""Compares the meter with valgrind: does it count every byte that is copied?

    bench/meter.py [--driver blocking,tokio,shared] [--workloads A,B] [--out FILE]

Runs each workload in two lengths under `valgrind --tool=dhat --mode=copy`, on a private MariaDB and a private Valkey or
Redis, and compares what the longer run copied more by valgrind's count with what it copied more by its own meter, of the
same two processes. valgrind tells from where each copy was made: copies of slices of bytes are held against the meter;
moves of values of other types, which are the state of futures, tasks and connections, carry no byte of a request or
reply and have a column of their own. The two counts must agree within 1 % plus 4 KiB, SET's and GET's within HEAD besides, and
moves must stay under what `moves` allows, plus 4 KiB; exit 1 where they do not. Writes the rows to FILE as JSON. Needs valgrind.
"""
import argparse, json, os, pathlib, re, subprocess, sys, tempfile

from provenance import provenance

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
    "valkey-get-64m": ("get", 1, 64 << 20, (2, 5)),  # from the second on a shared handle has it on a connection beside
    "valkey-get-64m-owned": ("owned", 1, 64 << 20, (1, 4)),
    "valkey-get-64m-stream": ("stream", 1, 64 << 20, (1, 4)),
    "valkey-set-64m-reader": ("reader", 1, 64 << 20, (1, 4)),
}
COMMAND_LINE = {"valkey-get-64m-owned", "valkey-get-64m-stream", "valkey-set-64m-reader"}
KEY = "key:__rand_int__"
# What the meter has and valgrind not, a request: the head of SET or GET, counted and yet written from registers, for its length
# is known when it is compiled.
HEAD = len("*2\r\n$3\r\nGET\r\n")
# Bytes of state that may be moved for each read and each call. tokio moves 152 each time that it polls a task, which is
# once a read or twice; a shared handle's entry for a call is 176, and besides its pipeline has 944, its run on another
# connection, which large values have, 5 kB.
MOVES = {"blocking": (0, 16), "tokio": (320, 16), "shared": (320, 192)}
PIPELINE, ASIDE = 1 << 10, 6 << 10
COPIES = ["bytes_moved", "bytes_copied_by_growth", "bytes_copied_to_homes", "bytes_copied_to_owned",
          "bytes_copied_to_output", "bytes_copied_to_metadata"]


def valgrind(arguments, **kw):
    """Runs onecopy; gives what it did, and the bytes that were copied: in slices of bytes, and as values of other types."""
    with tempfile.NamedTemporaryFile() as out:
        argv = ["valgrind", "--tool=dhat", "--mode=copy", f"--dhat-out-file={out.name}", str(BIN / "onecopy"), *arguments]
        done = subprocess.run(argv, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **kw)
        if done.returncode:
            sys.exit(f"{' '.join(arguments)}: exit status {done.returncode}\n{done.stderr}")
        profile = json.load(open(out.name))
    copied = {True: 0, False: 0}
    for point in profile["pps"]:
        copied[is_bytes([profile["ftbl"][frame] for frame in point["fs"]])] += point["tb"]
    return done, copied[True], copied[False]


def is_bytes(frames):
    """Whether a copy was made of a slice of bytes: the callers say of what, or are the buffers' own or a writer's. Where none
    has a name it is taken for one."""
    names = [frame.split(": ", 1)[-1].split(" (")[0] for frame in frames]
    names = [name for name in names if not re.match(r"_*mem(cpy|move)|mempcpy|UnknownInlinedFun|\?\?\?", name)]
    if any(name.startswith("onecopy_wire::") for name in names[:2]) or not names:
        return True
    return "u8" in names[0] or re.match(r"write(_all)?(_cold)?<", names[0]) is not None


def run(workload, url, driver, n):
    """Bytes copied by valgrind's count, bytes of state moved, bytes copied by the meter, and reads."""
    done, copied, moved = valgrind(["bench", "client", workload, "--url", url, "--driver", driver, "--iterations", str(n), "--json"])
    meter = json.loads(done.stdout)["connection_meter"]
    return copied, moved, sum(meter[key] for key in COPIES), meter["reads"]


def run_valkey(workload, url, driver, n):
    """The same of a workload of Valkey's."""
    test, depth, size, _ = VALKEY[workload]
    if workload in COMMAND_LINE:
        done, copied, moved, is_right = command_line(test, size, url, n)
        reported = re.search(r"^\{.*\}$", done.stderr, re.M)
    else:
        done, copied, moved = valgrind(["bench", "valkey", "--url", url, "-c", "1", "-P", str(depth), "-d", str(size),
                                        "-n", str(n), "-t", test, "--driver", driver, "--json"])
        reported, is_right = re.search(r".+", done.stdout), True
    if not reported or not is_right:
        sys.exit(f"{workload} over {driver}: not what was asked for\n{done.stderr}")
    meter = json.loads(reported[0])
    meter = meter.get("meter", meter)
    return copied, moved, sum(meter[key] for key in COPIES), meter["reads"]


def command_line(test, size, url, n):
    """What one process of the command line did, the two counts, and whether it was the right thing."""
    argv = ["valkey", "--meter=json", "-f", "raw", url]
    if test == "owned":  # lines' replies are owned, one after the other on one connection
        done, copied, moved = valgrind(argv, input=f"GET {KEY}\n" * n)
        return done, copied, moved, len(done.stdout) == n * (size + 1)
    # One value that is n times as large: from a file, by a reader; and back in pieces.
    with tempfile.TemporaryFile() as value:
        value.write(b"x" * (size * n))
        value.seek(0)
        stored = valgrind([*argv, "-x", "SET", KEY], stdin=value) if test == "reader" else None
        if stored:
            return *stored, stored[0].stdout == "OK\n"
        value.seek(0)
        subprocess.run([str(BIN / "onecopy"), *argv, "-x", "SET", KEY], stdin=value, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    done, copied, moved = valgrind([*argv, "GET", KEY])
    return done, copied, moved, len(done.stdout) == n * size


def prepare_valkey(workload, url):
    """Stores the value that a workload reads."""
    size = VALKEY[workload][2]
    subprocess.run([str(BIN / "onecopy"), "bench", "valkey", "--url", url, "-c", "1", "-d", str(size), "-n", "1", "-t", "set"],
                   check=True, stdout=subprocess.DEVNULL)


def drivers_of(workload, asked):
    """Those of the drivers asked for that a workload has: the command line is blocking, MySQL's has no shared handle."""
    lacking = {"tokio", "shared"} if workload in COMMAND_LINE else {"shared"} if workload in LENGTHS else set()
    return [driver for driver in asked if driver not in lacking]


def moves(workload, driver, count, reads):
    """Bytes of state that may be moved for so many requests and reads."""
    a_read, a_call = MOVES[driver]
    _, depth, size, _ = VALKEY.get(workload, ("", 1, 0, ()))
    if driver == "shared":
        a_call += PIPELINE if depth > 1 else ASIDE if size > 1 << 20 else 0
    return a_read * reads + a_call * count // depth


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--driver", default="blocking,tokio,shared")
    args.add_argument("--workloads", default=",".join([*LENGTHS, *VALKEY]))
    args.add_argument("--url")
    args.add_argument("--valkey-url")
    args.add_argument("--out")
    a = args.parse_args()
    if not a.url or not a.valkey_url:
        subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
        again = [str(BIN / "with-server"), "--mysql", "--valkey", "--", sys.executable, __file__, *sys.argv[1:],
                 "--url", "{URL}", "--valkey-url", "{VALKEY_URL}"]
        sys.exit(subprocess.run(again).returncode)
    workloads = a.workloads.split(",")
    if any(workload in LENGTHS for workload in workloads):
        subprocess.run([str(BIN / "onecopy"), "bench", "setup", "--url", a.url], check=True)
    print("| workload | driver | iterations | valgrind, B copied | meter, B copied | valgrind, B of state moved | agree |\n"
          "|---|---|---|---|---|---|---|")
    asked = [(workload, driver) for driver in a.driver.split(",") for workload in workloads if drivers_of(workload, [driver])]
    rows = [row(workload, driver, a) for workload, driver in asked]
    if a.out:
        command = "bench/meter.py " + " ".join(x for x in sys.argv[1:] if x not in ("--url", "--valkey-url", a.url, a.valkey_url))
        pathlib.Path(a.out).write_text(json.dumps({"command": command, "made_of": provenance(), "rows": rows}, indent=1) + "\n")
    sys.exit(0 if all(row["agree"] for row in rows) else 1)


def row(workload, driver, a):
    """Prints a workload's row, and gives it."""
    if workload in VALKEY:
        prepare_valkey(workload, a.valkey_url)
        short, long = VALKEY[workload][3]
        runs = [run_valkey(workload, a.valkey_url, driver, n) for n in (short, long)]
    else:
        short, long = LENGTHS[workload]
        runs = [run(workload, a.url, driver, n) for n in (short, long)]
    copied, moved, meter, reads = (later - sooner for sooner, later in zip(*runs))
    count, slack = long - short, 0.01 * max(abs(copied), meter) + 4096
    head = HEAD * count if workload in VALKEY else 0
    may_move = 4096 + moves(workload, driver, count, runs[1][3])
    agree = -slack - head <= copied - meter <= slack and moved <= may_move
    print(f"| {workload} | {driver} | {count:,} | {copied:,} | {meter:,} | {moved:,} | {'yes' if agree else 'NO'} |", flush=True)
    return {"workload": workload, "driver": driver, "iterations": count, "valgrind_copied": copied, "meter_copied": meter,
            "valgrind_moved": moved, "reads": reads, "agree": agree}


main()
