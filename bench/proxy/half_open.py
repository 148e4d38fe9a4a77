"""A burst of connections that never log in, beside one client that runs queries.

    bench/proxy/half_open.py [--count 3000] [--burst 0.5] [--hold 3] [--after 9] [--pid PID] [--user USER] HOST PORT

Opens COUNT connections within BURST seconds, reads no greeting, and closes them HOLD seconds later. One client of a process
of its own is logged in as USER, who has no password, and runs `DO 1` each millisecond. Prints one JSON object: median, 99th
percentile and maximum of its latencies in milliseconds, counted from when each statement was due: in the second before the
burst (`calm`), from the burst's begin to one second after its end (`burst`), and in the second after the close (`close`); resident memory of PID in KiB before the burst, at its end, and AFTER seconds after the close.
"""
import argparse, json, multiprocessing, re, resource, socket, sys, time

from login import packet, response

PACE = 0.001


def payload(stream):
    header = stream.recv(4, socket.MSG_WAITALL)
    if len(header) < 4:
        sys.exit("half_open.py: the connection was closed")
    return stream.recv(int.from_bytes(header[:3], "little"), socket.MSG_WAITALL)


def log_in(host, port, user):
    stream = socket.create_connection((host, port))
    stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    payload(stream)
    stream.sendall(packet(1, response(user)))
    said = payload(stream)
    if said[0] != 0:
        sys.exit(f"half_open.py: {said}")
    return stream


def query(a, is_over, out):
    """Runs a statement each millisecond until it is told to stop; gives when each was due and how long its answer took then."""
    stream, took, question = log_in(a.host, a.port, a.user), [], packet(0, b"\x03DO 1")
    out.put("ready")
    due = time.monotonic()
    while not is_over.is_set():
        due += PACE
        ahead = due - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
        stream.sendall(question)
        payload(stream)
        took.append((due, time.monotonic() - due))
    out.put(took)


def burst(a):
    """All connections, a few at a time, so that they spread over the time."""
    streams, began = [], time.monotonic()
    for i in range(a.count):
        stream = socket.socket()
        stream.setblocking(False)
        stream.connect_ex((a.host, a.port))
        streams.append(stream)
        ahead = began + a.burst * i / a.count - time.monotonic()
        if ahead > 0:
            time.sleep(ahead)
    return streams


def figures(took, begin, end):
    times = sorted(1_000 * seconds for at, seconds in took if begin <= at < end)
    if not times:
        return None
    at = lambda share: round(times[min(len(times) - 1, int(share * len(times)))], 2)
    return {"statements": len(times), "median": at(0.5), "p99": at(0.99), "max": round(times[-1], 2)}


def resident_kib(pid):
    return pid and int(re.search(r"VmRSS:\s+(\d+)", open(f"/proc/{pid}/status").read())[1])


def measure(a):
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    is_over, out = multiprocessing.Event(), multiprocessing.Queue()
    client = multiprocessing.Process(target=query, args=(a, is_over, out), daemon=True)
    client.start()
    out.get(timeout=30)
    calm = time.monotonic()
    time.sleep(1)
    before, begin = resident_kib(a.pid), time.monotonic()
    streams = burst(a)
    end = time.monotonic()
    time.sleep(a.hold)
    during = resident_kib(a.pid)
    # Those that were refused or reset have something to say.
    gone = sum(1 for stream in streams if is_gone(stream))
    close = time.monotonic()
    for stream in streams:
        stream.close()
    time.sleep(1)
    is_over.set()
    took = out.get(timeout=30)
    time.sleep(a.after)
    return {"seconds": round(end - begin, 2), "refused": gone, "calm": figures(took, calm, begin),
            "burst": figures(took, begin, end + 1), "close": figures(took, close, close + 1),
            "rss_before": before, "rss_during": during, "rss_after": resident_kib(a.pid)}


def is_gone(stream):
    try:
        return stream.recv(1 << 16, socket.MSG_PEEK) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=3000)
    parser.add_argument("--burst", type=float, default=0.5)
    parser.add_argument("--hold", type=float, default=3)
    parser.add_argument("--after", type=float, default=9)
    parser.add_argument("--pid", type=int)
    parser.add_argument("--user", default="idle")
    parser.add_argument("host")
    parser.add_argument("port", type=int)
    return parser.parse_args(argv)


if __name__ == "__main__":
    print(json.dumps(measure(arguments())))
