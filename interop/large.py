"""Values around 16 MiB and of 256 MiB, over TLS and without on either side, and the proxy's memory meanwhile."""
import collections, contextlib, hashlib, pathlib, random, subprocess, tempfile

import tools
from changes import backend, certificate
from front import Configured
from tools import Failure

PACKET = 0xFFFFFF
HUGE = 256 << 20

# Around one and two packets: of the value, of the row that it comes back in, whose length is in front of it in 4 or 9 bytes,
# and of the query that sets it, which is 16 bytes longer.
SOME = [PACKET - 16, PACKET - 4, 1 << 24, 2 * PACKET - 9, 1 << 25]
SIZES = sorted(size + off for size in [*SOME, 2 * PACKET - 16] for off in [-1, 0, 1])

# By which the resident memory may be larger while a value passes than it was before any came. A session has two directions
# with a buffer of at most 512 KiB each, TLS keeps records of 16 KiB a side, and the rest is what the allocator, the C
# library's malloc, keeps of what was given back.
GROWTH_KIB = 4 << 10


# What is encrypted: the client's side, the server's.
Kind = collections.namedtuple("Kind", "front back")
KINDS = [Kind(front, back) for front in [False, True] for back in [False, True]]


def large(server, _):
    """All sizes over all four kinds of the two sides: as long and with the checksum that was sent, in memory that is flat."""
    with tempfile.TemporaryDirectory(prefix="interop-") as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        certificate(path, "front")
        proxy = stack.enter_context(Configured(path, [listener(server, kind) for kind in KINDS], {"": {"workers": 1}}))
        peaks = []
        for kind, port in zip(KINDS, proxy.ports(len(KINDS))):
            ca = path / "front.pem" if kind.front else None
            # What a session of this kind needs at all is there before it is measured.
            go(server, port, ca, [1000])
            encrypts(server, port, ca, kind.back)
            before = proxy.memory()
            proxy.forget_peak()
            sizes = SIZES if kind == KINDS[0] else SOME
            for run in [lambda: go(server, port, ca, sizes), lambda: go(server, port, ca, [HUGE]), lambda: mariadb(server, port, ca)]:
                run()
                peaks.append(proxy.memory("VmHWM") - before)
                if peaks[-1] > GROWTH_KIB:
                    raise Failure(f"{kind}: the proxy had {before} KiB and took {peaks[-1]} more")
        carried, moved = proxy.metric("onecopy_meter_bytes_read_total"), proxy.metric("onecopy_meter_bytes_moved_total")
        proxy.stop()
        return (f"{len(SIZES)} sizes up to {max(SIZES)} and {HUGE >> 20} MiB, each by three ways and as a file, over four kinds of sides: "
                f"{carried / 1e9:.1f} GB carried, {moved / 1e6:.1f} MB moved, at most {max(peaks)} KiB more than {before}")


def listener(server, kind):
    # Where only one side is encrypted the password is put under another key.
    keys = {"name": str(kind), "listen": "127.0.0.1:0", "reencrypt-passwords": True, "backends": [backend(server)]}
    if kind.front:
        keys["tls"] = {"certificate": "front.pem", "key": "front.key", "required": True}
    if kind.back:
        keys["backends"][0]["tls"] = {"mode": "verify-full", "ca": server.authority}
    return keys


def go(server, port, ca, sizes):
    """Go's driver: a query, a parameter, long data, and a file."""
    more = ["--ca", ca] if ca else []
    command = [tools.own() / "go-large", *more, "127.0.0.1", port, server.user, server.password, server.database, *sizes]
    lines = tools.run(command, timeout=1800).stdout.splitlines()
    # Three values there, each of which comes back, and a file.
    if len(lines) != 7 * len(sizes) + 1 or any("false" in line or "true" not in line for line in lines[:-1]):
        raise Failure(f"values are not as they were sent: {[line for line in lines if 'true' not in line or 'false' in line][:3]}")


def mariadb(server, port, ca):
    """The mariadb client: a query of 256 MiB, and its row."""
    letters = bytes(random.Random(7).choices(b"abcdefghijklmnopqrstuvwxyz", k=1 << 20))
    expected = hashlib.sha256(letters * (HUGE >> 20)).hexdigest()
    options = ["--ssl", f"--ssl-ca={ca}", "--ssl-verify-server-cert"] if ca else ["--skip-ssl"]
    command = server.mariadb(port, "--batch", "--skip-column-names", "--quick", "--max-allowed-packet=1G", *options)
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    process.stdin.write(b"SET @large = '")
    for _ in range(HUGE >> 20):
        process.stdin.write(letters)
    process.stdin.write(b"'; SELECT @large; SELECT SHA2(@large, 256);\n")
    process.stdin.close()
    sum, length, end = hashlib.sha256(), 0, b""
    while piece := process.stdout.read(1 << 20):
        end += piece
        # All but the last two lines, which are short.
        sum.update(end[:-66])
        length, end = length + len(end[:-66]), end[-66:]
    if process.wait() or length != HUGE or sum.hexdigest() != expected or end.decode().strip() != expected:
        raise Failure(f"mariadb ended with {process.returncode} after {length} bytes: {end!r}")


def encrypts(server, port, ca, there):
    """Whether the server sees TLS is what was asked for."""
    options = ["--ssl", f"--ssl-ca={ca}"] if ca else ["--skip-ssl"]
    cipher = server.sql(port, "SHOW STATUS LIKE 'Ssl_cipher'", *options).split()
    if (len(cipher) == 2) != there:
        raise Failure(f"the server's side has the cipher {cipher}")


CASES = {"large": large}
