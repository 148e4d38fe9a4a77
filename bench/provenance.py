"""The versions and the machine of a measurement, for the JSON with its figures."""
import pathlib, platform, re, shutil, subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent


def provenance(lock=None, peers=(), **others):
    """The commit, the machine, the tools, and the versions of peers: crates by their lock file, others as they are given."""
    crates = {}
    if lock:
        for name, version in re.findall(r'name = "([^"]+)"\nversion = "([^"]+)"', pathlib.Path(lock).read_text()):
            if name in peers:
                crates[name] = version
    return {
        "commit": commit(),
        "processor": processor(),
        "kernel": platform.release(),
        "rustc": first("rustc", "--version"),
        "cc": first("cc", "--version"),
        "valgrind": first("valgrind", "--version"),
        **crates,
        **others,
    }


def commit():
    """The commit, and whether something else than documents and figures differs from it."""
    head = first("git", "-C", ROOT, "rev-parse", "--short", "HEAD")
    differs = first("git", "-C", ROOT, "status", "--porcelain", "--", ".", ":!docs")
    return f"{head}-dirty" if differs else head


def first(*argv):
    """The first line that a program prints; nothing if it is not installed."""
    if not shutil.which(argv[0]):
        return None
    done = subprocess.run([str(a) for a in argv], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    return done.stdout.partition("\n")[0] or None


def define(header, *names):
    """A version out of the macros of a C header that lies where the compiler looks; nothing where it does not."""
    done = subprocess.run(["cc", "-dM", "-E", "-include", header, "-x", "c", "/dev/null"], text=True, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    parts = [re.search(rf"#define {name} (\S+)", done.stdout) for name in names]
    return ".".join(part[1] for part in parts) if all(parts) else None


def processor():
    model = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    return model[1] if model else platform.processor()


HIREDIS = ("hiredis/hiredis.h", "HIREDIS_MAJOR", "HIREDIS_MINOR", "HIREDIS_PATCH")


def libvalkey(source):
    """The version of libvalkey's sources in this folder."""
    names = ("LIBVALKEY_VERSION_MAJOR", "LIBVALKEY_VERSION_MINOR", "LIBVALKEY_VERSION_PATCH")
    return define(f"{source}/include/valkey/valkey.h", *names) if source else None
