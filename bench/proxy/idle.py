"""Many connections that do nothing: idle.py HOST PORT COUNT, then a word a line on standard input.

Logs in as the user idle, who has no password. `rows` has each ask for one row of 90,000 bytes. It answers each word, and the
logins, with a line.
"""
import resource, socket, sys

from login import packet, response

HOST, PORT, COUNT = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
QUERY = b"\x03SELECT REPEAT('r', 90000)"


def receive(stream, n):
    data = b""
    while len(data) < n:
        piece = stream.recv(min(n - len(data), 1 << 20))
        if not piece:
            sys.exit("idle.py: the connection was closed")
        data += piece
    return data


def payload(stream):
    header = receive(stream, 4)
    return receive(stream, int.from_bytes(header[:3], "little"))


def connect():
    stream = socket.create_connection((HOST, PORT))
    payload(stream)
    stream.sendall(packet(1, response("idle")))
    said = payload(stream)
    if said[0] != 0:
        sys.exit(f"idle.py: {said}")
    return stream


def row(stream):
    stream.sendall(packet(0, QUERY))
    packets = [payload(stream) for _ in range(5)]
    assert len(packets[3]) == 90_003 + 1, len(packets[3])


resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
streams = [connect() for _ in range(COUNT)]
print("connected", flush=True)
for line in sys.stdin:
    for stream in streams:
        row(stream)
    print("done", flush=True)
