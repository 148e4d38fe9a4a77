"""MySQL's own client, which alone compresses by zstd: what it says, and values beyond 16 MiB both ways."""
import contextlib, hashlib, pathlib, random, re, tempfile

import tools
from changes import backend
from front import Configured, sharing
from tools import HERE, Failure

# What a listener offers, how its backend is spoken to, and what the client wants.
WAYS = [("off", "off", "uncompressed"), ("off", "zstd", "uncompressed"), ("both", "off", "zlib"), ("both", "off", "zstd"),
        ("both", "zlib", "zstd"), ("zstd", "zstd", "zstd"), ("backend", "zstd", "zstd")]
LENGTH = 40 << 20


def mysql(server, proxy):
    """A script with errors in it, and a value of three packets, over each pair of compressed sides."""
    if server.name != "mysql-9":
        return "not here: the client came with the server mysql-9"
    # What the script drops at its beginning is there each time.
    server.sql(server.port, "DROP TABLE IF EXISTS interop; CREATE TABLE interop (a INT); "
               "DROP PROCEDURE IF EXISTS interop_results; CREATE PROCEDURE interop_results() DO 1", server.database)
    expected = script(server, server.port, "uncompressed")
    if "ERROR 1146" not in expected[1] or "the last line" not in expected[0]:
        raise Failure(f"the script did not run: {expected[1][-300:]}")
    # Connections that clients share are not compressed.
    ways = WAYS if proxy.mode == "pass" else WAYS[:1]
    with tempfile.TemporaryDirectory(prefix="interop-") as name, contextlib.ExitStack() as stack:
        listeners = [{"name": f"{number}", "listen": "127.0.0.1:0", "compression": front, "reencrypt-passwords": True,
                      "backends": [backend(server) | {"compression": back}]} | sharing(server, proxy.mode)
                     for number, (front, back, _) in enumerate(ways)]
        ours = stack.enter_context(Configured(pathlib.Path(name), listeners))
        for (front, back, wanted), port in zip(ways, ours.ports(len(ways))):
            way = f"by {wanted} to a listener with {front} and a backend with {back}"
            if (said := script(server, port, wanted)) != expected:
                raise Failure(f"it says something else {way}: {said[1][-300:]}")
            status = ask(server, port, wanted, "SHOW STATUS LIKE 'Compression_algorithm'").split()
            shown = [row[-2:] for row in ours.administer("SHOW CLIENTS")]
            if status[1:] != ([] if back == "off" else [back]):
                raise Failure(f"the server sees {status} {way}; {shown}")
            value = "".join(random.Random(front + back + wanted).choices("abcdefghijklmnopqrstuvwxyz", k=1 << 20)) * (LENGTH >> 20)
            came = ask(server, port, wanted, f"SET @large = '{value}'; SELECT SHA2(@large, 256); SELECT @large").split("\n")
            if came[0] != hashlib.sha256(value.encode()).hexdigest() or came[1] != value:
                raise Failure(f"{LENGTH} bytes are otherwise {way}")
        packed = ours.metric("onecopy_compression_compressed_read_bytes_total")
        ours.stop()
    return f"the same over {len(ways)} pairs of sides; {LENGTH >> 20} MiB both ways over each, {packed / 1e6:.0f} MB of compressed frames read"


def client(server, port, wanted, *more):
    program = tools.of_server(server.name, "mysql")
    return program + server.mariadb(port, "--ssl-mode=DISABLED", "--get-server-public-key", f"--compression-algorithms={wanted}",
                                    "--max-allowed-packet=1G", *more)[1:]


def ask(server, port, wanted, text):
    return tools.run(client(server, port, wanted, "--batch", "--skip-column-names", "--quick"), input=text).stdout


def script(server, port, wanted):
    done = tools.run(client(server, port, wanted, "--force", "-vv", server.database), input=(HERE / "statements.sql").read_text(), expect=None)
    return re.sub(r"\(\d+\.\d+ sec\)", "", done.stdout), done.stderr


CASES = {"mysql": mysql}
