#!/usr/bin/env python3
"""Counts what the proxy asks a server beside its clients' statements, on a pooled listener, by the server's own counters.

    cargo build --release -p onecopy -p onecopy-testkit --bins && bench/pool_questions.py

Each line is a workload of sysbench with so many clients on 16 connections of a private server: `Questions` for each statement of the
clients beside that statement, without sessions that rest (warning-hold = "0ms") and with them.
"""
import os, pathlib, re, socket, subprocess, sys, tempfile, time
from urllib.parse import urlsplit

TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or pathlib.Path(__file__).resolve().parents[1] / "target") / "release"
INSERT, READ_WRITE = ("oltp_insert", 10_000), ("oltp_read_write", 1_000)
CASES = [(workload, threads, more) for workload in [INSERT, READ_WRITE]
         for threads, more in [(8, []), (16, []), (64, []), (64, ["--rate=1000"])]]


def sql(text):
    return subprocess.run([TARGET / "onecopy", "sql", "--quiet", "-f", "tsv", os.environ["ONECOPY_URL"]], input=text, text=True,
                          stdout=subprocess.PIPE, check=True).stdout


def questions():
    return int(sql("SHOW GLOBAL STATUS LIKE 'Questions'").split()[-1])


def sysbench(workload, port, what, *more):
    command = ["sysbench", "--db-driver=mysql", "--mysql-host=127.0.0.1", f"--mysql-port={port}", "--mysql-user=app", "--mysql-password=app",
               "--mysql-db=test", "--db-ps-mode=disable", "--time=60", "--tables=1", "--table-size=5000", *more, workload, what]
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, check=True).stdout


def proxied(folder, server, hold):
    """A proxy whose clients share 16 connections, and its port."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    (folder / "proxy.toml").write_text(f"""
[[mysql]]
listen = "127.0.0.1:{port}"
mode = "transaction"
account = [{{ user = "app", password = "app" }}]
[mysql.pool]
max = 16
warning-hold = "{hold}"
[[mysql.backend]]
server = "127.0.0.1:{server}"
""")
    process = subprocess.Popen([TARGET / "onecopy", "proxy", "--config", folder / "proxy.toml"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return process, port
        time.sleep(0.05)
    sys.exit("the proxy does not listen")


def beside(server, workload, threads, more, hold):
    """Questions of the proxy's own for each statement of its clients."""
    (name, events) = workload
    with tempfile.TemporaryDirectory() as folder:
        process, port = proxied(pathlib.Path(folder), server, hold)
        try:
            sysbench(name, server, "prepare")
            before = questions()
            said = sysbench(name, port, "run", f"--threads={threads}", f"--events={events}", *more)
            asked = questions() - before
            sysbench(name, server, "cleanup")
        finally:
            process.terminate()
            process.wait()
    theirs = int(re.search(r"queries:\s+(\d+)", said)[1])
    return asked / theirs - 1


def main():
    if "--inside" not in sys.argv:
        sys.exit(subprocess.run([TARGET / "with-server", "--", sys.executable, __file__, "--inside"]).returncode)
    server = urlsplit(os.environ["ONECOPY_TCP_URL"]).port
    sql("CREATE USER app@'%' IDENTIFIED BY 'app'; GRANT ALL ON *.* TO app@'%'")
    print("| workload | clients | warning-hold = 0 | 50 ms |\n|---|---|---|---|")
    for workload, threads, more in CASES:
        without, resting = (beside(server, workload, threads, more, hold) for hold in ["0ms", "50ms"])
        clients = f"{threads}, {more[0][7:]} events a second" if more else threads
        print(f"| {workload[0]} | {clients} | {without:.3f} | {resting:.3f} |", flush=True)


if __name__ == "__main__":
    main()
