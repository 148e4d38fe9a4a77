"""Programs: where they are, and how they are fetched."""
import os, pathlib, shutil, subprocess, sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent
sys.path.append(str(ROOT / "crates/testkit"))
import servers
PYTHON = ["PyMySQL[rsa]==1.2.4", "mysql-connector-python==26.10.0"]
NODE = "mysql2@3.24.6"


class Failure(Exception):
    """What is wrong, in one line that says what to do."""


def say(text):
    print(f"interop: {text}", file=sys.stderr, flush=True)


def target():
    return pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve()


def own():
    """What was fetched for these runs."""
    return target() / "interop"


def onecopy():
    return target() / "release/onecopy"


def run(command, input=None, expect=0, **more):
    """Runs a program to its end. `expect` is the exit status that is right, `None` any."""
    done = subprocess.run([str(word) for word in command], input=input, text=more.pop("text", True),
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=more.pop("timeout", 600), **more)
    if expect is not None and done.returncode != expect:
        said = done.stderr or done.stdout
        said = said if isinstance(said, str) else said.decode(errors="replace")
        raise Failure(f"{pathlib.Path(command[0]).name} ended with {done.returncode}: {said.strip()[-500:]}")
    return done


def build():
    subprocess.run(["cargo", "build", "--release", "-p", "onecopy", "-p", "onecopy-testkit", "--bins"], cwd=ROOT, check=True)


def launcher(name):
    """The program of a server; `None` for the machine's own."""
    if name == "machine":
        return None
    done = subprocess.run([ROOT / "crates/testkit/servers.py", "fetch", name], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise Failure(f"the server {name} can't be had; --servers machine does without")
    return done.stdout.strip()


def program(name):
    """A program of the machine's, or one that was fetched."""
    fetched = own() / "root/usr/bin" / name
    found = str(fetched) if fetched.exists() else shutil.which(name)
    if not found:
        raise Failure(f"{name} is missing; type: apt-get install {PACKAGES.get(name, name)}")
    return found


def of_server(server, name):
    """A program that came with a fetched server, by that server's own loader."""
    folder = target() / "servers" / server
    root = folder / "root"
    found = root / "usr/bin" / name
    if not found.exists():
        raise Failure(f"{name} is not among what was fetched of {server}; type: rm -r {folder}, and run this again")
    loader = next(path for pattern in ["usr/lib64/ld-*.so.*", "usr/lib/ld-*.so.*"] for path in root.glob(pattern))
    return [loader, "--library-path", next(root.glob("usr/lib/*-linux-gnu*")), found]


PACKAGES = {"mariadb": "mariadb-client-core", "mariadb-dump": "mariadb-client", "mariadb-binlog": "mariadb-client",
            "sysbench": "sysbench", "go": "golang", "openssl": "openssl", "node": "nodejs", "npm": "npm", "unshare": "util-linux",
            "ip": "iproute2", "perl": "perl", "mariadb_config": "libmariadb-dev", "pkg-config": "pkg-config"}
# Which cases need what; none named is all of them.
NEEDS = {"mariadb": [], "mariadb-dump": ["mariadb-dump"], "mariadb-binlog": ["binlog"], "openssl": ["certificates", "large", "compressed"],
         "sysbench": ["sysbench", "reload", "certificates", "drain"]}


def python():
    return own() / "venv/bin/python"


def fetch(wanted):
    """Fetches what the cases need and the machine lacks."""
    needs = lambda case: not wanted or case in wanted
    own().mkdir(parents=True, exist_ok=True)
    for name, of_these in NEEDS.items():
        is_needed = not of_these or any(map(needs, of_these))
        if is_needed and not (own() / "root/usr/bin" / name).exists() and not shutil.which(name):
            package(PACKAGES[name])
            program(name)
    if (needs("PyMySQL") or needs("mysql-connector-python")) and not (own() / "python").exists():
        say(f"fetching {' and '.join(PYTHON)} into a virtual environment")
        step([sys.executable, "-m", "venv", own() / "venv"], "python3-venv is needed")
        step([python(), "-m", "pip", "install", "--quiet", *PYTHON], "the Python package index can't be reached")
        (own() / "python").touch()
    if needs("mysql2"):
        program("node")
    if needs("mysql2") and not (own() / "node/node_modules/mysql2").exists():
        say(f"fetching {NODE}")
        npm(own() / "node", NODE)
    if any(map(needs, ["go-sql-driver", "large", "compressed"])):
        program("go")
        say("building the programs that use Go's go-sql-driver")
        for name, source in [("go-driver", "."), ("go-large", "./large")]:
            step(["go", "build", "-o", own() / name, source], "the Go module proxy can't be reached, or Go is too old",
                 cwd=HERE / "go")


def npm(folder, *packages):
    """Packages of npm's, installed in a folder of ours; their scripts don't run."""
    program("npm")
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    (folder / "package.json").write_text("{}\n")
    step(["npm", "install", "--silent", "--ignore-scripts", "--no-audit", "--no-fund", *packages], "the npm registry can't be reached", cwd=folder)


def package(name):
    """A package of the distribution's, unpacked and not installed."""
    say(f"fetching {name} into {own()}")
    folder = own() / "packages"
    folder.mkdir(parents=True, exist_ok=True)
    step(["apt-get", "download", "-q", name], f"type: apt-get update, or apt-get install {name}", cwd=folder)
    for file in folder.glob(f"{name}_*.deb"):
        step(["dpkg-deb", "--extract", file, own() / "root"], "it can't be unpacked")


def source_package(suite, name, version, folder):
    """The upstream source of a package of one of the distribution's suites, unpacked."""
    say(f"fetching the source of {name} {version}")
    apt = own() / f"apt-{suite}"
    shutil.rmtree(apt, ignore_errors=True)
    environment = servers.private_apt(suite, apt)
    sources = apt / "sources.list"
    sources.write_text(sources.read_text().replace("deb ", "deb-src ", 1))
    hint = f"Debian's archive can't be reached, or {suite} has no {name} {version} any more"
    step(["apt-get", "update", "-q"], hint, env=environment)
    step(["apt-get", "source", "-q", "--download-only", "--tar-only", name], hint, cwd=apt, env=environment)
    archives = sorted(apt.glob(f"{name}_{version}.orig.tar.*"))
    if not archives:
        raise Failure(hint)
    part = folder.with_suffix(".part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    step(["tar", "-xf", archives[0], "-C", part, "--strip-components=1"], "it can't be unpacked")
    part.rename(folder)
    shutil.rmtree(apt)


def step(command, hint, capture=False, **more):
    """Runs one step of fetching; what it says goes to standard error, or is given back where it is to be captured."""
    try:
        done = subprocess.run([str(word) for word in command], stdout=subprocess.PIPE if capture else sys.stderr, text=True, **more)
    except FileNotFoundError as error:
        raise Failure(f"{error}; {hint}")
    if done.returncode:
        raise Failure(f"{' '.join(str(word) for word in command[:4])}... ended with {done.returncode}: {hint}")
    return done.stdout
