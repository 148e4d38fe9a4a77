"""What the packages are made of: the version, the binary, and how programs are run."""
import datetime, os, pathlib, re, shutil, subprocess, sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
HERE = ROOT / "dist"
TARGET = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()
OUT = TARGET / "packages"
BINARY = TARGET / "dist/onecopy"
SUMMARY = "MySQL proxy and MySQL/Valkey clients that avoid copying data"
DESCRIPTION = """\
onecopy is a transparent proxy for MySQL and MariaDB with health checks, roles, connection pooling, reads on replicas, a live page
and Prometheus metrics. The same command has an SQL shell, a prompt for Valkey and Redis, and loads and dumps tables. The package
runs the proxy as a service that listens on loopback addresses until it is configured."""


class Failure(Exception):
    """What is wrong, in one line that says what to do."""


def say(text):
    print(f"dist: {text}", file=sys.stderr, flush=True)


def run(command, **more):
    """Runs a program to its end and returns what it printed."""
    words = [str(word) for word in command]
    try:
        done = subprocess.run(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
    except FileNotFoundError:
        hint = "; run `make dist`" if words[0] == str(BINARY) else ""
        raise Failure(f"{words[0]} is missing{hint}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).decode(errors="replace").strip()
        raise Failure(f"`{' '.join(words[:3])} ...` ended with {done.returncode}: {said[-2000:]}")
    return done.stdout


def need(program, package):
    if not shutil.which(program):
        raise Failure(f"{program} is missing; install the package {package}")


def architecture():
    return run(["dpkg", "--print-architecture"]).decode().strip()


def commit_time():
    """Every time in a package is that of the commit, so that the same commit gives the same package."""
    return int(run(["git", "log", "-1", "--format=%ct"], cwd=ROOT))


def version():
    """Cargo.toml's for a commit with the tag of it. Before that one which sorts below it: 0.1.0~20261127.cdd15a1."""
    number = re.search(r'^version = "(.+)"', (ROOT / "Cargo.toml").read_text(), re.M)[1]
    tags = run(["git", "tag", "--points-at", "HEAD"], cwd=ROOT).decode().split()
    if f"v{number}" in tags:
        return number
    day = datetime.datetime.fromtimestamp(commit_time(), datetime.timezone.utc)
    commit = run(["git", "rev-parse", "--short=7", "HEAD"], cwd=ROOT).decode().strip()
    return f"{number}~{day:%Y%m%d}.{commit}"


def build():
    say("cargo build --profile dist -p onecopy")
    done = subprocess.run(["cargo", "build", "--locked", "--profile", "dist", "-p", "onecopy"], cwd=ROOT)
    if done.returncode:
        raise Failure("cargo could not build onecopy")
