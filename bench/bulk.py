#!/usr/bin/env python3
"""Measures rows into a table and out of it: onecopy, mysql_async, mariadb-import, mariadb and mariadb-dump, in one run.

    bench/bulk.py [--rows 1000000] [--rounds 3] [--out docs/benchmarks/bulk.json]
    bench/bulk.py --render FILE

Builds the programs, starts a private MariaDB, and runs each way in turn, on an empty table of four columns (BIGINT, two
VARCHAR(40) of which one is NULL in a tenth, DOUBLE). For each: rows a second, CPU of the client's process (user and system)
a row, and its peak of resident memory; medians of the rounds. The server's work is the same for ways that send the same, and
takes most of the time: compare CPU and memory, and the time with care. Needs GNU time.
"""
import argparse, json, os, pathlib, re, shutil, statistics, subprocess, sys, tempfile, time
from urllib.parse import unquote

from provenance import first, provenance

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
COLUMNS = "(id BIGINT PRIMARY KEY, name VARCHAR(40), price DOUBLE, note VARCHAR(40)) ENGINE=InnoDB"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out")
    parser.add_argument("--render")
    parser.add_argument("--inside", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.render:
        return render(json.loads(pathlib.Path(arguments.render).read_text()))
    if arguments.inside:
        return measure(arguments)
    build()
    inside = [sys.executable, __file__, "--inside", "{URL}", "--rows", str(arguments.rows), "--rounds", str(arguments.rounds)]
    if arguments.out:
        inside += ["--out", str(pathlib.Path(arguments.out).resolve())]
    subprocess.run([TARGET / "release/with-server", "--", *inside], check=True)


def build():
    cargo = ["cargo", "build", "--release"]
    subprocess.run([*cargo, "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)
    subprocess.run([*cargo, "-p", "onecopy-mysql", "--example", "bulk_insert"], cwd=ROOT, check=True)
    subprocess.run([*cargo, "--target-dir", TARGET / "peers"], cwd=HERE / "bulk", check=True)


def ways(url, folder):
    """Name, whether rows go in or out, the command, and the file for its standard output."""
    user, password, database, socket = re.match(r"mysql://([^:]+):([^@]*)@[^/]*/([^?]*)\?socket=(.*)", url).groups()
    socket = unquote(socket)
    login = [f"--user={user}", f"--password={password}", f"--socket={socket}"]
    onecopy, example = TARGET / "release/onecopy", TARGET / "release/examples/bulk_insert"
    peer = TARGET / "peers/release/onecopy-bulk-peer"
    rows = "{rows}"
    table = "bulk_rows"
    load = lambda method, name: [onecopy, "load", url, table, f"{folder}/{name}", "-q", "--method", method]
    dump = lambda *options: [onecopy, "dump", url, "bulk_source", "-q", *options]
    return [
        ("onecopy-mysql, bulk execute", "in", [example, url, table, rows, "execute"], None),
        ("onecopy-mysql, multi-row INSERT", "in", [example, url, table, rows, "insert"], None),
        ("onecopy-mysql, a pipeline of 1,000 executions", "in", [example, url, table, rows, "pipeline"], None),
        ("onecopy-mysql, an execution a row", "in", [example, url, table, rows, "single"], None),
        ("mysql_async, INSERT of 1,000 rows", "in", [peer, "insert", url, table, rows], None),
        ("mysql_async, exec_batch", "in", [peer, "batch", url, table, rows], None),
        ("onecopy load, bulk, tsv", "in", load("bulk", "rows.tsv"), None),
        ("onecopy load, bulk, csv", "in", load("bulk", "rows.csv"), None),
        ("onecopy load, bulk, ndjson", "in", load("bulk", "rows.ndjson"), None),
        ("onecopy load, insert, tsv", "in", load("insert", "rows.tsv"), None),
        ("onecopy load, infile, tsv", "in", load("infile", "rows.tsv"), None),
        ("mariadb-import --local", "in", ["mariadb-import", *login, "--local", "--ignore-lines=1", database, f"{folder}/{table}.tsv"], None),
        ("onecopy dump, tsv", "out", dump("-f", "tsv"), "dump.tsv"),
        ("onecopy dump, csv", "out", dump("-f", "csv"), "dump.csv"),
        ("onecopy dump, ndjson", "out", dump("-f", "ndjson"), "dump.ndjson"),
        ("onecopy dump, sql", "out", dump("-f", "sql"), "dump.sql"),
        ("mysql_async, rows written as tsv", "out", [peer, "rows", url, "bulk_source", rows], "peer-async.tsv"),
        ("mariadb --batch --quick", "out", ["mariadb", *login, "--batch", "--quick", database, "-e", "SELECT * FROM bulk_source"], "peer.tsv"),
        ("mariadb-dump", "out", ["mariadb-dump", *login, "--no-create-info", "--skip-lock-tables", database, "bulk_source"], "peer.sql"),
    ]


def measure(arguments):
    url = arguments.inside
    with tempfile.TemporaryDirectory() as folder:
        prepare(url, folder, arguments.rows)
        results = {}
        for round in range(arguments.rounds):
            for name, direction, command, output in ways(url, folder):
                if not shutil.which(command[0]):
                    print(f"{name}: {command[0]} is not there", file=sys.stderr)
                    continue
                if direction == "in":
                    sql(url, "DROP TABLE IF EXISTS bulk_rows", f"CREATE TABLE bulk_rows {COLUMNS}")
                command = [str(part).replace("{rows}", str(arguments.rows)) for part in command]
                figures = run(command, f"{folder}/{output}" if output else os.devnull)
                if direction == "in":
                    check(url, arguments.rows, name)
                results.setdefault(name, {"direction": direction, "rounds": []})["rounds"].append(figures)
                print(f"{round + 1}/{arguments.rounds} {name}: {figures}", file=sys.stderr)
    versions = {tool: first(tool, "--version") for tool in ("mariadbd", "mariadb-import", "mariadb-dump") if shutil.which(tool)}
    document = {
        "command": "bench/bulk.py",
        "rows": arguments.rows,
        **provenance(HERE / "bulk/Cargo.lock", ("mysql_async",), **versions),
        "results": {name: summary(result, arguments.rows) for name, result in results.items()},
    }
    if arguments.out:
        pathlib.Path(arguments.out).write_text(json.dumps(document, indent=1) + "\n")
    render(document)


def prepare(url, folder, rows):
    """A table to be dumped, made by the example, and files to be loaded, made from it."""
    sql(url, "DROP TABLE IF EXISTS bulk_source", f"CREATE TABLE bulk_source {COLUMNS}")
    subprocess.run([TARGET / "release/examples/bulk_insert", url, "bulk_source", str(rows)], check=True, stdout=subprocess.DEVNULL)
    for end in ("tsv", "csv", "ndjson"):
        subprocess.run([TARGET / "release/onecopy", "dump", url, "bulk_source", "-q", "-o", f"{folder}/rows.{end}"], check=True)
    os.link(f"{folder}/rows.tsv", f"{folder}/bulk_rows.tsv")


def sql(url, *statements):
    subprocess.run([TARGET / "release/onecopy", "sql", url, "-q", *statements], check=True, stdout=subprocess.DEVNULL)


def check(url, rows, name):
    asked = "SELECT COUNT(*), SUM(id), SUM(note IS NULL) FROM bulk_rows"
    found = subprocess.run([TARGET / "release/onecopy", "sql", url, "-qN", asked], check=True, text=True, stdout=subprocess.PIPE).stdout.split()
    expected = [str(rows), str(rows * (rows + 1) // 2), str(rows // 10)]
    if found != expected:
        sys.exit(f"{name}: {found} in place of {expected}")


def run(command, output):
    """Wall time, CPU and peak memory of one process. GNU time starts it: a child of this one would count this one's memory as
    its own peak."""
    with open(output, "wb") as out, tempfile.NamedTemporaryFile("r") as peak:
        start = time.monotonic()
        child = subprocess.Popen(["time", "-q", "-f", "%M", "-o", peak.name, *command], stdout=out)
        _, status, usage = os.wait4(child.pid, 0)
        wall = time.monotonic() - start
        peak_kib = int(peak.read().split()[-1])
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode != 0:
        sys.exit(f"{command} failed")
    return {"wall_s": round(wall, 3), "cpu_s": round(usage.ru_utime + usage.ru_stime, 3), "peak_kib": peak_kib}


def summary(result, rows):
    median = lambda key: statistics.median(figures[key] for figures in result["rounds"])
    return {
        **result,
        "rows_per_s": round(rows / median("wall_s")),
        "cpu_ns_per_row": round(median("cpu_s") / rows * 1e9),
        "peak_mib": round(median("peak_kib") / 1024, 1),
    }


def render(document):
    print(f"{document['rows']:,} rows, commit {document['commit']}, {document['processor']}\n")
    for direction, title in (("in", "Rows in"), ("out", "Rows out")):
        print(f"| {title} | rows/s | CPU ns a row | peak MiB |\n|---|---:|---:|---:|")
        for name, result in document["results"].items():
            if result["direction"] == direction:
                print(f"| {name} | {result['rows_per_s']:,} | {result['cpu_ns_per_row']:,} | {result['peak_mib']} |")
        print()


if __name__ == "__main__":
    main()
