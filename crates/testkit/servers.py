#!/usr/bin/env python3
"""Newer servers than the machine's: fetched from Debian's newer suites, unpacked beside each other, tested against.

    crates/testkit/servers.py fetch [NAME...]   fetch what is missing, and print each server's launcher
    crates/testkit/servers.py test [NAME...]    the same, then run the tests against each; at the end what each lacks,
                                                which fails where the server is not known to lack it

A server lives with every library it needs, down to the C library, in target/servers/NAME/root and is never installed:
NAME/launch runs it through its own loader, as any user. It is kept from one run to the next; `rm -r` a folder to fetch
it anew. Downloading is apt's work, with lists, cache and sources of its own and the archive's keyring, so signatures
are checked and the machine's own apt is left as it is.
"""
import argparse, collections, os, pathlib, re, shlex, shutil, subprocess, sys, time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SERVERS = pathlib.Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target").resolve() / "servers"
MIRROR = "http://deb.debian.org/debian"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
OTHERWISE = ("or test a server of your own: ONECOPY_TEST_MYSQL_URL=mysql://user:password@host/database make test, "
             "or ONECOPY_TEST_VALKEY_URL=redis://host")

# Suite, start of the version, package with the server and what it is called there, packages with its plugins and mariadb-binlog,
# single files of further packages by the pattern of their paths, what it may lack as the tests call it. Plugins and files are fetched
# without what their packages depend on, which is for running a service.
# Whatever else is lacking fails the run: a plugin that is gone would take its tests with it.
Server = collections.namedtuple("Server", "kind suite version binary package plugins files may_lack")
KNOWN = {
    "mysql-9": Server("mysql", "sid", "9.", "usr/sbin/mysqld", "mysql-server-core", ["mysql-client-core"],
                      {"mysql-testsuite": "*/plugin/auth_test_plugin.so"}, [
        "RETURNING", "UUID", "INET6", "INET4", "cached metadata", "TIME up to 838:59:59.999999",
        "TIME parameters of 838 hours and microseconds",
        "headers of the PROXY protocol", "mysql_native_password, ed25519", "COM_STMT_BULK_EXECUTE", "bulk execute",
        "mariadb through the proxy", "the tour's stop at the proxy", "progress reports",
        "BEGIN NOT ATOMIC", "clients that died being noticed in SLEEP", "semi-synchronous replication", "Galera",
        "mysql_native_password", "mysql_clear_password", "caching_sha2_password with a password of 300 bytes",
        "sha256_password with a password of 300 bytes", "an account of ed25519", "an account of parsec",
        "a certificate proven by the password", "dialog", "named types",
        "INSERT ... RETURNING", "SET STATEMENT", "BACKUP STAGE START", "EXECUTE IMMEDIATE 'SELECT 1'", "a list of what variables take",
        "mysql_native_password, ed25519, parsec", "two questions", "Aborted_connects_preauth", "the id of the last prepared statement"]),
    "mariadb-11.8": Server("mysql", "trixie", "1:11.8.", "usr/sbin/mariadbd", "mariadb-server-core",
                           ["mariadb-server", "mariadb-client", "libmariadb3"], {"mariadb-test": "*/plugin/dialog_examples.so"}, [
        "type JSON", "VARCHAR(20) CHARACTER SET gb18030", "caching_sha2_password", "mysql_clear_password", "attributes of queries",
        "caching_sha2_password, sha256_password", "an account of caching_sha2_password",
        "an account of sha256_password", "compression zstd", "a second factor", "query attributes", "three factors",
        "a question of PAM", "Galera", "group replication", "SET RESOURCE GROUP USR_default", "LOCK INSTANCE FOR BACKUP",
        "MySQL's own client"]),
    # The whole server, which looks at the name that it is called by.
    "valkey-8": Server("valkey", "trixie", "8.", "usr/bin/valkey-check-rdb", "valkey-tools", [], {}, []),
}
# What talks to a server of each kind, and the variable that names the server to start.
TESTS = {
    "mysql": ["-p", "onecopy-mysql", "-p", "onecopy", "-p", "onecopy-testkit",
              "-p", "onecopy-proxy",
              "--test", "server", "--test", "alloc", "--test", "sql", "--test", "tour", "--test", "bench", "--test", "transfer",
              "--test", "sessions", "--test", "account", "--test", "compression", "--test", "insight", "--test", "pooled",
              "--test", "accounts_pooled", "--test", "failover", "--test", "mirror", "--test", "mirror_packets", "--test", "takeover", "--test", "cuts"],
    "valkey": ["-p", "onecopy-valkey", "-p", "onecopy", "-p", "onecopy-testkit",
               "--test", "server", "--test", "shared", "--test", "commands", "--test", "cluster", "--test", "sentinel",
               "--test", "pool", "--test", "streams", "--test", "typed", "--test", "caching", "--test", "valkey",
               "--test", "bench_valkey"],
}
VARIABLES = {"mysql": ("ONECOPY_TEST_SERVER", "ONECOPY_TEST_MYSQL_URL"),
             "valkey": ("ONECOPY_TEST_VALKEY_SERVER", "ONECOPY_TEST_VALKEY_URL")}


def say(text):
    print(f"servers: {text}", file=sys.stderr, flush=True)


def fetched(name):
    """The launcher of a server, fetched where it is not there, or was fetched before this asked for all of it."""
    launcher = SERVERS / name / "launch"
    files = [pattern.rpartition("/")[2] for pattern in KNOWN[name].files.values()]
    if not launcher.exists() or not all(any((SERVERS / name / "root").rglob(file)) for file in files):
        check_tools()
        # Beside its place, so that what is in its place is whole.
        shutil.rmtree(SERVERS / f"{name}.part", ignore_errors=True)
        fetch(KNOWN[name], SERVERS / f"{name}.part")
        shutil.rmtree(SERVERS / name, ignore_errors=True)
        (SERVERS / f"{name}.part").rename(SERVERS / name)
        say(f"{name} is in {SERVERS / name}")
    return launcher


def check_tools():
    missing = [tool for tool in ["apt-get", "dpkg-deb"] if not shutil.which(tool)]
    if missing:
        sys.exit(f"servers: fetching needs apt and dpkg, and there is no {missing[0]}: use Debian or Ubuntu, {OTHERWISE}")
    if not pathlib.Path(KEYRING).exists():
        sys.exit(f"servers: {KEYRING} is missing; type: sudo apt-get install debian-archive-keyring; {OTHERWISE}")


def fetch(server, folder):
    apt = private_apt(server.suite, folder / "apt")
    say(f"reading the package lists of {server.suite}")
    run(["apt-get", "update", "-q"], apt)
    candidate = run(["apt-cache", "policy", server.package], apt, capture=True)
    version = re.search(r"Candidate: (\S+)", candidate)
    if not version or not version[1].startswith(server.version):
        has = version[1] if version else "none"
        sys.exit(f"servers: {server.suite} has {server.package} {has} and not {server.version}*; "
                 f"change KNOWN in {pathlib.Path(__file__).name}, {OTHERWISE}")
    say(f"fetching {server.package} {version[1]} and its libraries")
    run(["apt-get", "install", "-q", "--yes", "--download-only", server.package], apt)
    archives = folder / "apt" / "archives"
    for plugin in server.plugins:
        run(["apt-get", "download", "-q", plugin], apt, cwd=archives)
    packages = sorted(archives.glob("*.deb"))
    say(f"unpacking {len(packages)} packages")
    for package in packages:
        run(["dpkg-deb", "--extract", package, folder / "root"], apt)
    for package, pattern in server.files.items():
        say(f"fetching {package} for {pattern}")
        parts = folder / "parts"
        parts.mkdir()
        run(["apt-get", "download", "-q", package], apt, cwd=parts)
        archive = next(parts.glob("*.deb"))
        with subprocess.Popen(["dpkg-deb", "--fsys-tarfile", archive], stdout=subprocess.PIPE) as files:
            subprocess.run(["tar", "--extract", "--directory", folder / "root", "--wildcards", pattern], stdin=files.stdout, check=True)
        shutil.rmtree(parts)
    (folder / "packages").write_text("".join(f"{package.name}\n" for package in packages))
    write_launcher(server, folder)
    shutil.rmtree(folder / "apt")


def private_apt(suite, folder):
    """An environment in which apt knows one suite and nothing of this machine."""
    for path in ["lists/partial", "archives/partial"]:
        (folder / path).mkdir(parents=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(f"deb [signed-by={KEYRING}] {MIRROR} {suite} main\n")
    (folder / "apt.conf").write_text(f'''
Dir::State "{folder}";
Dir::State::lists "{folder}/lists";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}";
Dir::Cache::archives "{folder}/archives";
Dir::Etc::sourcelist "{folder}/sources.list";
Dir::Etc::sourceparts "/dev/null";
Dir::Etc::preferences "/dev/null";
Dir::Etc::preferencesparts "/dev/null";
Dir::Etc::trusted "/dev/null";
Dir::Etc::trustedparts "/dev/null";
Acquire::Languages "none";
Acquire::Retries "3";
# Otherwise a list that could not be had is a warning, and the last one is used.
APT::Update::Error-Mode "any";
Acquire::IndexTargets::deb::DEP-11::DefaultEnabled "false";
APT::Install-Recommends "false";
# Nothing is installed: neither what every system must have, nor locks, nor a user of its own.
pkgCacheGen::ForceEssential ",";
Debug::NoLocking "true";
APT::Sandbox::User "";
''')
    return os.environ | {"APT_CONFIG": str(folder / "apt.conf"), "LC_ALL": "C"}


def write_launcher(server, folder):
    """A script that runs the server through its own loader; the first argument is to stay the first."""
    root = folder / "root"
    loader = next(path for pattern in ["usr/lib64/ld-*.so.*", "usr/lib/ld-*.so.*"] for path in root.glob(pattern))
    libraries = next(root.glob("usr/lib/*-linux-gnu*"))
    here = lambda path: f'"$here"/{shlex.quote(str(path.relative_to(folder)))}'
    loaded = f"exec {here(loader)} --library-path {here(libraries)}"
    if server.kind == "valkey":
        end = f'''{loaded} --argv0 {server.package.split("-")[0]}-server {here(root / server.binary)} "$@"
'''
    else:
        charsets = next(root.glob("usr/share/*/charsets"))
        end = f'''first=$1
[ $# -gt 0 ] && shift
{loaded} {here(root / server.binary)} $first \\
    --basedir={here(root / "usr")} --character-sets-dir={here(charsets)} \\
    --lc-messages-dir={here(charsets.parent)} --plugin-dir={here(root / "usr/lib/mysql/plugin")} "$@"
'''
    (folder / "launch").write_text(f'''#!/bin/sh
# Written by servers.py.
here=$(dirname "$(realpath "$0")")
{end}''')
    (folder / "launch").chmod(0o755)


def run(command, environment, cwd=None, capture=False):
    """Standard output is for what this script prints."""
    out = subprocess.PIPE if capture else sys.stderr
    done = subprocess.run([str(word) for word in command], env=environment, cwd=cwd, stdout=out, text=True)
    if done.returncode:
        sys.exit(f"servers: {command[0]} failed with status {done.returncode}; type the same again once the network "
                 f"is there, {OTHERWISE}")
    return done.stdout


def test(name, launcher):
    """Runs the tests against one server: counts, and what it lacks."""
    say(f"testing {name}")
    kind = KNOWN[name].kind
    variable, url = VARIABLES[kind]
    environment = {key: value for key, value in os.environ.items() if key != url} | {variable: str(launcher)}
    command = ["cargo", "test", "--no-fail-fast", "--all-features", *TESTS[kind]]
    start, counts, lacking = time.monotonic(), collections.Counter(), {}
    with subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, errors="replace") as running:
        for line in running.stdout:
            print(line, end="", file=sys.stderr, flush=True)
            if result := re.match(r"test result: .* (\d+) passed; (\d+) failed; (\d+) ignored", line):
                counts.update(dict(zip(["passed", "failed", "ignored"], map(int, result.groups()))))
            if lack := re.search(r"lacks: (\S+): (.*)", line):
                lacking.setdefault(lack[2], set()).add(lack[1])
    return {"status": running.returncode, "seconds": time.monotonic() - start, "counts": counts, "lacking": lacking}


def unexpected(name, lacking):
    """What is lacking, `WHAT: REASON`, and is not among what this server may lack."""
    known = tuple(f"{what}: " for what in KNOWN[name].may_lack)
    return sorted(lack for lack in lacking if not lack.startswith(known))


def report(results):
    for name, result in results.items():
        print(f"\nWhat {name} lacks:" if result["lacking"] else f"\n{name} lacks nothing that is tested.")
        for what, tests in sorted(result["lacking"].items()):
            print(f"- {what} ({', '.join(sorted(tests))})")
    print("\n| server | version | tests | passed | failed | lacking | minutes |\n|---|---|---|---|---|---|---|")
    for name, result in results.items():
        counts = result["counts"]
        print(f"| {name} | {version(name)} | {counts.total()} | {counts['passed']} | {counts['failed']} | "
              f"{len(result['lacking'])} | {result['seconds'] / 60:.1f} |")


def version(name):
    """Of the package, as its file name has it."""
    packages = (package.split("_") for package in (SERVERS / name / "packages").read_text().split())
    return next(parts[1] for parts in packages if parts[0] == KNOWN[name].package).replace("%3a", ":")


def main():
    args = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    args.add_argument("action", choices=["fetch", "test"])
    args.add_argument("names", nargs="*", metavar="NAME", help=f"of {', '.join(KNOWN)}; all if none is given")
    a = args.parse_args()
    unknown = [name for name in a.names if name not in KNOWN]
    if unknown:
        args.error(f"{unknown[0]} is none of {', '.join(KNOWN)}")
    launchers = {name: fetched(name) for name in a.names or KNOWN}
    if a.action == "fetch":
        return print("\n".join(str(launcher) for launcher in launchers.values()))
    results = {name: test(name, launcher) for name, launcher in launchers.items()}
    report(results)
    failed = [name for name, result in results.items() if result["status"] or not result["counts"]["passed"]]
    missed = [(name, lack) for name, result in results.items() for lack in unexpected(name, result["lacking"])]
    for name, lack in missed:
        say(f"{name} should have what it lacks, or KNOWN should list it: {lack}")
    if failed:
        sys.exit(f"servers: tests failed on {', '.join(failed)}")
    if missed:
        sys.exit(1)


if __name__ == "__main__":
    main()
