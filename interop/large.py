"""Values around 16 MiB and of 256 MiB, over TLS or compressed or not on either side, and the proxy's memory meanwhile."""
import collections, contextlib, hashlib, pathlib, random, subprocess, tempfile

import tools
from changes import backend, certificate
from front import Configured, sharing
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


# What is encrypted, and by what it is compressed: the client's side, the server's.
Kind = collections.namedtuple("Kind", "front back packed_front packed_back", defaults=[None, None])
KINDS = [Kind(front, back) for front in [False, True] for back in [False, True]]
# What neither is compressed nor encrypted is among the others.
PACKED_KINDS = [Kind(False, False, None, "zlib"), Kind(False, False, "zlib", None), Kind(False, False, "zlib", "zlib"),
                Kind(True, True, "zlib", "zlib")]
# Only MySQL has it; of the clients here only its own.
ZSTD_KINDS = [Kind(False, False, None, "zstd"), Kind(True, True, "zlib", "zstd")]


def large(server, proxy):
    return carry(server, KINDS, proxy.mode)


def compressed(server, _):
    return carry(server, PACKED_KINDS + (ZSTD_KINDS if server.is_mysql else []), "pass")


def carry(server, kinds, mode):
    """All sizes over these kinds of the two sides: as long and with the checksum that was sent, in memory that is flat."""
    with tempfile.TemporaryDirectory(prefix="interop-") as name, contextlib.ExitStack() as stack:
        path = pathlib.Path(name)
        certificate(path, "front")
        proxy = stack.enter_context(Configured(path, [listener(server, kind) | sharing(server, mode) for kind in kinds], {"": {"workers": 1}}))
        peaks = []
        for kind, port in zip(kinds, proxy.ports(len(kinds))):
            way = Way(server, port, path / "front.pem" if kind.front else None, kind.packed_front)
            # What a session of this kind needs at all is there before it is measured.
            way.go([1000])
            way.is_of(kind, proxy)
            before = proxy.memory()
            proxy.forget_peak()
            sizes = SIZES if kind == kinds[0] else SOME
            for run in [lambda: way.go(sizes), lambda: way.go([HUGE]), way.mariadb]:
                run()
                peaks.append(proxy.memory("VmHWM") - before)
                if peaks[-1] > GROWTH_KIB:
                    raise Failure(f"{kind}: the proxy had {before} KiB and took {peaks[-1]} more")
            tools.say(f"{kind}: at most {max(peaks[-3:])} KiB more than {before}")
        carried, moved = proxy.metric("onecopy_meter_bytes_read_total"), proxy.metric("onecopy_meter_bytes_moved_total")
        proxy.stop()
        return (f"{len(SIZES)} sizes up to {max(SIZES)} and {HUGE >> 20} MiB, each by three ways and as a file, over {len(kinds)} kinds of sides: "
                f"{carried / 1e9:.1f} GB carried, {moved / 1e6:.1f} MB moved, at most {max(peaks)} KiB more than {before}")


def listener(server, kind):
    # Where only one side is encrypted the password is put under another key.
    keys = {"name": str(kind), "listen": "127.0.0.1:0", "reencrypt-passwords": True, "backends": [backend(server)]}
    if kind.front:
        keys["tls"] = {"certificate": "front.pem", "key": "front.key", "required": True}
    if kind.back:
        keys["backends"][0]["tls"] = {"mode": "verify-full", "ca": server.authority}
    if kind.packed_front:
        keys["compression"] = kind.packed_front
    if kind.packed_back:
        keys["backends"][0]["compression"] = kind.packed_back
    return keys


class Way:
    """How clients reach a listener."""

    def __init__(self, server, port, ca, is_packed):
        self.server, self.port, self.ca, self.is_packed = server, port, ca, is_packed

    def go(self, sizes):
        """Go's driver: a query, a parameter, long data, and a file."""
        more = (["--ca", self.ca] if self.ca else []) + (["--compress"] if self.is_packed else [])
        server = self.server
        command = [tools.own() / "go-large", *more, "127.0.0.1", self.port, server.user, server.password, server.database, *sizes]
        lines = tools.run(command, timeout=1800).stdout.splitlines()
        # Three values there, each of which comes back, and a file.
        if len(lines) != 7 * len(sizes) + 1 or any("false" in line or "true" not in line for line in lines[:-1]):
            raise Failure(f"values are not as they were sent: {[line for line in lines if 'true' not in line or 'false' in line][:3]}")

    def options(self):
        tls = ["--ssl", f"--ssl-ca={self.ca}", "--ssl-verify-server-cert"] if self.ca else ["--skip-ssl"]
        return tls + (["--compress"] if self.is_packed else [])

    def mariadb(self):
        """The mariadb client: a query of 256 MiB, and its row."""
        letters = bytes(random.Random(7).choices(b"abcdefghijklmnopqrstuvwxyz", k=1 << 20))
        expected = hashlib.sha256(letters * (HUGE >> 20)).hexdigest()
        command = self.server.mariadb(self.port, "--batch", "--skip-column-names", "--quick", "--max-allowed-packet=1G", *self.options())
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

    def is_of(self, kind, proxy):
        """Whether the server sees what was asked for, and the client's side is what was asked for."""
        asks = "SHOW STATUS LIKE 'Ssl_cipher'; SHOW STATUS LIKE 'Compression'; SHOW STATUS LIKE 'Compression_algorithm'"
        shown = dict((line + "\t").split("\t")[:2] for line in self.server.sql(self.port, asks, *self.options()).splitlines())
        algorithm = shown.get("Compression_algorithm") or kind.packed_back
        if bool(shown["Ssl_cipher"]) != kind.back or (shown["Compression"] == "ON") != bool(kind.packed_back) or algorithm != kind.packed_back:
            raise Failure(f"{kind}: the server says {shown}")
        read = proxy.metric("onecopy_compression_compressed_read_bytes_total")
        self.server.sql(self.port, f"DO LENGTH('{'x' * 10000}')", *self.options())
        if (proxy.metric("onecopy_compression_compressed_read_bytes_total") > read) != bool(kind.packed_front or kind.packed_back):
            raise Failure(f"{kind}: it is not compressed as it should be")


CASES = {"large": large, "compressed": compressed}
