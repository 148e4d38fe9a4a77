"""MariaDB's own regression tests: package mariadb-test. They start servers of their own, and the proxy takes their addresses."""
import collections, json, os, pathlib, re, shutil, subprocess, tempfile, time

import tools
from suite import FAIL, PASS, SKIP, differences
from tools import Failure

NAME = "mariadb-test"
# The programs are looked for at one place, so that all that the tests use is unpacked there and nothing of the machine's used.
PACKAGES = ["mariadb-test", "mariadb-test-data", "mariadb-server", "mariadb-server-core", "mariadb-client", "mariadb-client-core",
            "libmariadb3", "libpcre2-posix3"]
SUITE = "main"
AT_LEAST = 300

Mode = collections.namedtuple("Mode", "options listener backend")
COMPRESSED = 'compression = "zlib"'
# The tests' own certificate, because their clients know its CA.
TLS = '[mysql.tls]\ncertificate = "{data}/server-cert.pem"\nkey = "{data}/server-key.pem"'
TLS_BEHIND = '[mysql.backend.tls]\nmode = "required"'
OVER = {"tcp": Mode([], "", ""), "tls": Mode(["--ssl"], TLS, TLS_BEHIND), "zlib": Mode(["--compress"], COMPRESSED, COMPRESSED)}
PROTOCOLS = {"": [], "-ps": ["--ps-protocol"], "-cursor": ["--cursor-protocol"]}
# Idle connections are closed soon, as many tests wait for the server to have none.
POOLED = """mode = "{mode}"
account = {{accounts}}
[mysql.pool]
max = 100
idle-timeout = "100ms\""""
SHARED = {name: Mode([], POOLED.format(mode=mode), "") for name, mode in [("pooled", "transaction"), ("pooled-session", "session")]}
MODES = {f"{over}{name}": mode._replace(options=mode.options + protocol)
         for name, protocol in PROTOCOLS.items() for over, mode in OVER.items()} | SHARED
# The modes in which all tests run by default; the others take a sample.
WHOLE = ["tcp", "tcp-ps"]


def folder():
    return tools.own() / NAME


def fetch():
    if folder().exists():
        return
    tools.program("perl")
    tools.say(f"fetching {', '.join(PACKAGES)}")
    part = tools.own() / f"{NAME}.part"
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    tools.step(["apt-get", "download", "-q", *PACKAGES], "type: apt-get update", cwd=part)
    for file in part.glob("*.deb"):
        tools.step(["dpkg-deb", "--extract", file, part], "it can't be unpacked")
        file.unlink()
    change(part / "usr/share/mysql/mysql-test/include")
    sbin = part / "usr/sbin"
    (sbin / "real").mkdir()
    (sbin / "mariadbd").rename(sbin / "real/mariadbd")
    (sbin / "mariadbd").symlink_to(tools.HERE / "suite/mariadbd.py")
    for program in [sbin / "real/mariadbd", part / "usr/bin/mariadb-test"]:
        if "not found" in tools.run(["ldd", program], env=environment(part)).stdout:
            raise Failure(f"{program.name} lacks libraries; type: apt-get install mariadb-server")
    part.rename(folder())


def change(include):
    """Changes what the tests include; the tests stay as they are."""
    # By TCP: `localhost` is a Unix socket otherwise. The tests' own option for more configuration has no effect.
    client = include / "default_client.cnf"
    client.write_text(client.read_text().replace("[mysqltest]\n", "[mysqltest]\nprotocol=tcp\n"))
    # While the server is down the proxy answers with an error that no server has.
    for name in ["wait_until_connected_again.inc", "wait_until_disconnected.inc"]:
        file = include / name
        file.write_text(file.read_text().replace(",ER_SERVER_SHUTDOWN,", ",ER_SERVER_SHUTDOWN,ER_CONNECT_TO_FOREIGN_DATA_SOURCE,"))


def environment(root):
    libraries = ":".join(str(path) for path in (root / "usr/lib").glob("*-linux-gnu*"))
    return os.environ | {"LD_LIBRARY_PATH": libraries}


def compare(names, tests, row):
    """Runs the tests in each mode, directly and through the proxy; gives whether nothing differs."""
    listed = differences.read(NAME)
    right = True
    for name in (name for name in names if name in MODES):
        start = time.monotonic()
        direct = told(name, tests, listed, False)
        through = told(name, tests, listed, True)
        left_out = [(entry.test, "left out", entry.reason) for entry in listed.of(name, "machine")]
        compared = listed.compare(name, "machine", direct, through)._replace(listed=left_out)
        if not tests and sum(verdict == PASS for verdict in direct.values()) < AT_LEAST:
            raise Failure(f"fewer than {AT_LEAST} tests pass directly; target/interop/logs has what they say")
        row(f"MariaDB {version()}", NAME, name, direct, through, compared, time.monotonic() - start)
        right &= not compared.unlisted
    return right


def chosen(name, tests):
    """The tests to name: those that were asked for, none for all, or a sample."""
    if tests:
        return [] if tests == ["all"] else tests
    return [] if name in WHOLE else sample()


def sample():
    """Every second test that runs on the server that the others run on too: restarts take most of the time."""
    main = home() / SUITE
    own = ["*.opt", "*.cnf", "*.combinations", "*.sh", "*.rdiff"]
    special = {re.sub(r"(-master|-slave)?\.[^.]+$", "", file.name) for pattern in own for file in main.glob(pattern)}
    restarts = re.compile(r"restart|shutdown|start_mysqld|kill_mysqld", re.I)
    return [test.stem for test in sorted(main.glob("*.test"))
            if test.stem not in special and not restarts.search(test.read_text(errors="replace"))][::2]


def home():
    return folder() / "usr/share/mysql/mysql-test"


def version():
    return re.search(r"Ver (\S+)-MariaDB", tools.run([folder() / "usr/sbin/mariadbd", "--no-defaults", "--version"]).stdout)[1]


def accounts():
    """Those that the tests log in with, as TOML, each with the password that is the most frequent with it."""
    word = r"""[ \t]*(?:"([^"$\n]*)"|'([^'$\n]*)'|([^\s,;()"'$]*))[ \t]*"""
    connect = rf"connect\b[ \t]*\(?[ \t]*\w+[ \t]*,{word},{word}(?:,{word})?"
    connects = re.compile(rf"^[ \t-]*(?:{connect}|change_user[ \t]{word}(?:,{word})?)", re.M | re.I)
    passwords = collections.defaultdict(collections.Counter)
    for file in [*home().joinpath(SUITE).glob("*.test"), *home().joinpath("include").glob("*.inc")]:
        for found in connects.finditer(file.read_text(errors="replace")):
            words = ["".join(part or "" for part in found.groups()[at:at + 3]) for at in range(0, 15, 3)]
            user, password = words[1:3] if words[1] else words[3:5]
            passwords[user][password] += 1
    passwords.pop("", None)
    passwords["root"] = collections.Counter([""])
    entries = [f"{{ user = {json.dumps(user)}, password = {json.dumps(found.most_common(1)[0][0])} }}" for user, found in sorted(passwords.items())]
    return f"[{', '.join(entries)}]"


def told(name, tests, listed, is_through):
    """{test: verdict} of a run; what it said and what the proxies logged is kept."""
    mode = MODES[name]
    logs = tools.own() / "logs"
    logs.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="interop-") as temporary:
        path = pathlib.Path(temporary)
        more = environment(folder())
        if is_through:
            more |= {"INTEROP_FOLDER": str(path), "INTEROP_PROXY": str(tools.onecopy()),
                     "INTEROP_LISTENER": mode.listener.format(data=home() / "std_data", accounts=accounts() if name in SHARED else ""),
                     "INTEROP_BACKEND": mode.backend}
        without = path / "without"
        without.write_text("".join(f"{entry.test} : {entry.reason}\n" for entry in listed.of(name, "machine")))
        command = ["perl", "mariadb-test-run.pl", f"--suite={SUITE}", "--force", "--max-test-fail=0", "--retry=3", "--testcase-timeout=5",
                   "--suite-timeout=600", "--nowarnings", f"--vardir={path}/var", f"--parallel={min(os.cpu_count(), 8)}",
                   f"--skip-test-list={without}", f"--skip-test-list={home()}/unstable-tests", *mode.options, *chosen(name, tests)]
        log = logs / f"{NAME}-{name}-{'proxy' if is_through else 'direct'}.log"
        with open(log, "w") as out:
            subprocess.run(command, cwd=home(), env=more, stdin=subprocess.DEVNULL, stdout=out, stderr=out)
        for proxy in path.glob("mysqld*.log"):
            shutil.copy(proxy, logs / f"{NAME}-{name}-{proxy.name}")
            if "panicked" in proxy.read_text(errors="replace"):
                raise Failure(f"the proxy panicked; see {logs / f'{NAME}-{name}-{proxy.name}'}")
    return results(log.read_text(errors="replace"))


def results(said):
    """The last line of a test counts, as those that fail are tried again; each combination is a test of its own."""
    words = {"pass": PASS, "retry-pass": PASS, "fail": FAIL, "retry-fail": FAIL, "skipped": SKIP}
    lines = re.finditer(rf"^({SUITE}\.\S+(?: '[^']*')?)\s+(?:w\d+ )?\[ (\S+) \]", said, re.M)
    return {line[1]: words[line[2]] for line in lines if line[2] in words}
