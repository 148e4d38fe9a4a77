#!/usr/bin/env python3
"""Measures how onecopy and its peers parse replies that lie in memory, in one run.

    bench/parse.py [--rounds 7] [--out FILE]

Builds the programs, then runs every parser on the streams of `onecopy bench parse`, alternating: MB a second of CPU, the
median of the rounds; and instructions a unit (callgrind, all and without the C library's mem* functions) and allocations
(dhat), from the difference of two lengths, so that start-up drops out. Prints a Markdown table and writes FILE as JSON.
Needs valgrind and cc; hiredis needs libhiredis-dev; libvalkey, which few distributions have, its sources' folder in
LIBVALKEY_SRC. A parser that can't be built is left out, and the table shows it.
"""
import argparse, json, os, pathlib, re, statistics, subprocess, sys, tempfile

from compare import callgrind
from provenance import HIREDIS, define, libvalkey, provenance

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET = os.environ.get("CARGO_TARGET_DIR", str(ROOT / "target"))
PEERS = f"{TARGET}/peers"
LIBVALKEY_SRC = os.environ.get("LIBVALKEY_SRC")
STREAMS = {  # turns of a timed run, of the two counted ones, units a turn
    "status": (10_000_000, 10_000, 110_000, 1),
    "bulks": (2_000_000, 2_000, 12_000, 1),
    "arrays": (300_000, 100, 1_100, 100),
    "large": (50, 1, 3, 1),
    "mixed": (200_000, 100, 1_100, 1),
    "varied": (2_500_000, 2_500, 27_500, 4),
    "integers": (1_500_000, 1_250, 13_750, 8),
    "doubles": (1_000_000, 1_250, 13_750, 8),
    "pushes": (1_000_000, 1_000, 11_000, 4),
}


OWNED = "onecopy, owned replies"


def sh(argv):
    return subprocess.run([str(a) for a in argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def build():
    """Builds what can be; gives each parser's command for a stream, its turn's file and a number of turns."""
    os.makedirs(PEERS, exist_ok=True)
    subprocess.run(["cargo", "build", "--release", "-p", "onecopy"], cwd=ROOT, check=True)
    onecopy = f"{TARGET}/release/onecopy"
    parsers = {
        "onecopy": lambda s, f, n: [onecopy, "bench", "parse", s, "--json", "--iterations", str(n)],
        "onecopy, all elements read": lambda s, f, n: [onecopy, "bench", "parse", s, "--json", "--elements", "--iterations", str(n)],
        OWNED: lambda s, f, n: [onecopy, "bench", "parse", s, "--json", "--owned", "--iterations", str(n)],
    }
    source = HERE / "parse/peer.c"
    wanted = {"hiredis": ["-lhiredis"]}
    if src := LIBVALKEY_SRC:
        names = "read sds alloc valkey conn net sockcompat async dict dns timer".split()
        files = [f"{src}/src/{name}.c" for name in names if os.path.exists(f"{src}/src/{name}.c")]
        wanted = {"libvalkey": ["-DLIBVALKEY", f"-I{src}/include", f"-I{src}/include/valkey", f"-I{src}/src", *files], **wanted}
    for name, flags in wanted.items():
        program = f"{PEERS}/peer-parse-{name}"
        if (built := sh(["cc", "-O2", "-o", program, source, *flags])).returncode:
            print(f"{name}'s peer can't be built:\n{built.stderr[-300:]}", file=sys.stderr)
            continue
        parsers[f"{name}, no reply objects"] = lambda s, f, n, p=program: [p, f, s, str(n)]
        parsers[name] = lambda s, f, n, p=program: [p, f, s, str(n), "objects"]
    built = subprocess.run(["cargo", "build", "--release", "--target-dir", PEERS], cwd=HERE, stderr=subprocess.PIPE, text=True)
    if built.returncode == 0:
        for name in ("redis", "redis-protocol"):
            parsers[name] = lambda s, f, n, name=name: [f"{PEERS}/release/onecopy-peers", f"parse-{name}", s, f, str(n)]
    else:
        print("the Rust peers can't be built:\n" + built.stderr[-600:], file=sys.stderr)
    return parsers


def speed(command):
    run = sh(command)
    if run.returncode:
        return None
    return json.loads(run.stdout)["mb_per_s"] if run.stdout.startswith("{") else float(run.stdout)


def allocations(command, folder):
    run = sh(["valgrind", "--tool=dhat", f"--dhat-out-file={folder}/dhat", *command])
    run.check_returncode()
    return int(re.search(r"Total:\s+[\d,]+ bytes in ([\d,]+) blocks", run.stderr)[1].replace(",", ""))


def counts(make, short, long, units, folder):
    (a, a_star), (b, b_star) = (callgrind(make(n), folder).values() for n in (short, long))
    blocks = allocations(make(long), folder) - allocations(make(short), folder)
    per = lambda n: round(n / (long - short) / units, 2)
    return {"ir": per(b - a), "ir_star": per(b_star - a_star), "allocations": per(blocks)}


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("--rounds", type=int, default=7)
    args.add_argument("--out")
    args = args.parse_args()
    parsers, result = build(), {}
    with tempfile.TemporaryDirectory() as folder:
        for stream, (turns, short, long, units) in STREAMS.items():
            turn = f"{folder}/{stream}"
            made = subprocess.run([f"{TARGET}/release/onecopy", "bench", "parse", stream, "--turn"], stdout=subprocess.PIPE, check=True)
            pathlib.Path(turn).write_bytes(made.stdout)
            speeds = {name: [] for name in parsers}
            # A large bulk is read in pieces: there is nothing to own.
            taken = {name: make for name, make in parsers.items() if (name, stream) != (OWNED, "large")}
            for _ in range(args.rounds):
                for name, make in taken.items():
                    speeds[name].append(speed(make(stream, turn, turns if not name.startswith("redis") else max(turns // 10, 1))))
            for name, make in taken.items():
                if None in speeds[name]:
                    continue  # it does not speak RESP3
                row = counts(lambda n: make(stream, turn, n), short, long, units, folder)
                row["mb_per_s"] = {"median": statistics.median(speeds[name]), "max": max(speeds[name])}
                result.setdefault(name, {})[stream] = row
    command = " ".join(["bench/parse.py", *sys.argv[1:]])
    made_of = provenance(HERE / "Cargo.lock", ("redis", "redis-protocol"), hiredis=define(*HIREDIS), libvalkey=libvalkey(LIBVALKEY_SRC))
    if args.out:
        pathlib.Path(args.out).write_text(json.dumps({"command": command, "made_of": made_of, "parsers": result}, indent=1) + "\n")
    print(table(result))


def table(result):
    """Two tables, of streams whose replies repeat and of those whose do not: all in one would be too wide."""
    names, cell = list(STREAMS), lambda r: f"{r['mb_per_s']['median']:,.0f} · {r['ir']:,.0f} · {r['allocations']:g}" if r else ""
    tables = []
    for streams in (names[:5], names[5:]):
        lines = [f"| | {' | '.join(streams)} |", f"| --- {'| --- ' * len(streams)}|"]
        lines += [f"| {name} | {' | '.join(cell(rows.get(stream)) for stream in streams)} |" for name, rows in result.items()]
        tables.append("\n".join(lines))
    return "\n\n".join(tables)


main()
