"""`onecopy proxy` as a process: how it is started, told things, and looked at."""
import json, os, re, signal, socket, subprocess, threading, time

import tools
from tools import Failure

# Signals, files and threads of a loaded machine take their time.
PATIENCE = 60


class Proxy:
    """The program with some arguments, until it is stopped."""

    def __init__(self, *arguments):
        command = [tools.onecopy(), "proxy", *arguments]
        self.process = subprocess.Popen([str(word) for word in command], stderr=subprocess.PIPE, text=True)
        self.said, self.news = [], threading.Condition()
        self.reader = threading.Thread(target=self.listen, daemon=True)
        self.reader.start()
        self.port = int(self.wait_for(r"^listening on 127\.0\.0\.1:(\d+)")[1])

    # How its clients have server connections, and how many descriptors one that does nothing takes.
    mode, per_client = "pass", 2

    @classmethod
    def before(cls, port):
        """In front of one port."""
        return cls("--mysql", f"127.0.0.1:0=127.0.0.1:{port}")

    def listen(self):
        for line in self.process.stderr:
            with self.news:
                self.said.append(line.rstrip("\n"))
                self.news.notify_all()
        with self.news:
            self.said.append(None)
            self.news.notify_all()

    def wait_for(self, pattern, since=0):
        """The first line from `since` on that has the pattern in it."""
        deadline = time.monotonic() + PATIENCE
        with self.news:
            while True:
                for line in self.said[since:]:
                    if line is None or time.monotonic() > deadline:
                        raise Failure(f"the proxy did not say {pattern!r}: {' '.join(filter(None, self.said[since:]))[-500:]}")
                    if found := re.search(pattern, line):
                        return found
                since = len(self.said)
                self.news.wait(max(0, deadline - time.monotonic()))
                if time.monotonic() > deadline:
                    raise Failure(f"the proxy did not say {pattern!r}")

    def ports(self, count):
        """Those of its first listeners, in their order."""
        until(lambda: len(self.listening()) >= count, "it did not listen")
        return self.listening()[:count]

    def listening(self):
        found = [re.match(r"listening on 127\.0\.0\.1:(\d+)", line or "") for line in self.said]
        return [int(port[1]) for port in found if port]

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def is_ready(self):
        """Notes what it has while nobody is there. It has said where it listens before it has all that it needs."""
        time.sleep(0.5)
        self.idle = self.descriptors()
        return self

    def settle(self, what):
        """Waits until no descriptor is left of any session."""
        deadline = time.monotonic() + 10
        while (now := self.descriptors()) != self.idle:
            if time.monotonic() > deadline:
                raise Failure(f"the proxy has {now} descriptors and had {self.idle} before: {what}")
            time.sleep(0.02)

    def memory(self, key="VmRSS"):
        """KiB that are resident now, or `VmHWM` that were since the peak was forgotten."""
        status = open(f"/proc/{self.process.pid}/status").read()
        return int(re.search(rf"^{key}:\s+(\d+) kB", status, re.M)[1])

    def forget_peak(self):
        open(f"/proc/{self.process.pid}/clear_refs", "w").write("5")

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        """Waits for its end, and fails where that is not as it should be."""
        status = self.process.wait(PATIENCE)
        self.reader.join(PATIENCE)
        said = "\n".join(filter(None, self.said))
        if status or "panicked" in said:
            raise Failure(f"the proxy ended with {status}: {said[-1000:]}")

    def stop(self):
        self.signal(signal.SIGTERM)
        self.end()

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        # Normally it was stopped already; this is for failures before that.
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


class Configured(Proxy):
    """One with a file in a folder, and sockets for its administrator and for metrics beside it."""

    def __init__(self, folder, listeners, tables=None, name="proxy"):
        self.file = folder / f"{name}.toml"
        self.admin_socket, self.http_socket = folder / f"{name}.admin", folder / f"{name}.http"
        self.put(listeners, tables)
        super().__init__("--config", self.file)

    def put(self, listeners, tables=None):
        """Writes the file; nothing is read yet."""
        tables = {"admin": {"listen": str(self.admin_socket), "password": "order"},
                  "metrics": {"listen": str(self.http_socket)}} | (tables or {})
        self.write(text(listeners, tables))

    def write(self, said):
        # As a whole or not at all, as an editor does it.
        part = self.file.with_suffix(".part")
        part.write_text(said)
        part.rename(self.file)

    def reload(self, expect):
        """SIGHUP; waits for what it says of that, in which `expect` must be."""
        since = len(self.said)
        self.signal(signal.SIGHUP)
        self.wait_for(r"^(not )?reloaded", since)
        self.wait_for(expect, since)

    def http(self, path):
        """Status and body, `None` where nobody answers."""
        try:
            with socket.socket(socket.AF_UNIX) as stream:
                stream.settimeout(PATIENCE)
                stream.connect(str(self.http_socket))
                stream.sendall(f"GET {path} HTTP/1.1\r\nHost: proxy\r\nConnection: close\r\n\r\n".encode())
                answer = b"".join(iter(lambda: stream.recv(65536), b"")).decode()
        except OSError:
            return None, ""
        head, _, body = answer.partition("\r\n\r\n")
        return int(head.split()[1]), body

    def metric(self, name):
        """The sum over all labels."""
        lines = re.findall(rf"^{name}(?:\{{.*\}})? ([\d.e+]+)$", self.http("/metrics")[1], re.M)
        return sum(float(value) for value in lines)

    def administer(self, statement):
        command = [tools.program("mariadb"), "--no-defaults", f"--socket={self.admin_socket}", "--user=admin", "--password=order",
                   "--batch", "--skip-column-names"]
        return [line.split("\t") for line in tools.run(command, input=statement).stdout.splitlines()]


class Pooled(Configured):
    """One whose clients share connections to a server; these are no descriptors that a client could leave behind."""
    per_client = 1

    def __init__(self, folder, server, mode, most=32):
        self.mode, self.most, self.server_port = mode, most, server.port
        backend = {"name": "server", "server": f"127.0.0.1:{server.port}"}
        listener = {"name": mode, "listen": "127.0.0.1:0", "reencrypt-passwords": True, "backends": [backend]}
        super().__init__(folder, [listener | sharing(server, mode, most)])

    def descriptors(self):
        to_server = sockets_to(self.server_port)
        links = []
        for name in os.listdir(f"/proc/{self.process.pid}/fd"):
            try:
                links.append(os.readlink(f"/proc/{self.process.pid}/fd/{name}"))
            except FileNotFoundError:
                pass
        shared = [link for link in links if link in to_server]
        if len(shared) > self.most:
            raise Failure(f"the pool has {len(shared)} connections, and may have {self.most}")
        return len(links) - len(shared)


def sharing(server, mode, most=32):
    """The keys of a listener whose clients share connections, with the account of all cases; none where it is a wire."""
    if mode == "pass":
        return {}
    return {"mode": mode, "account": [{"user": server.user, "password": server.password}], "pool": {"max": most}}


def sockets_to(port):
    """The sockets of this machine that are connected to a port, as links of descriptors name them."""
    lines = open("/proc/net/tcp").read().splitlines()[1:]
    fields = [line.split() for line in lines]
    return {f"socket:[{field[9]}]" for field in fields if int(field[2].split(":")[1], 16) == port}


def until(is_so, failure):
    """Waits until it is so."""
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        if time.monotonic() > deadline:
            raise Failure(failure)
        time.sleep(0.02)


def text(listeners, tables):
    """A configuration: `tables[""]` are the keys in front of all tables, and a listener has `backends` and may have `tls`."""
    lines = keys(tables.get("", {}))
    for name, table in tables.items():
        if name:
            lines += [f"[{name}]", *keys(table)]
    for listener in listeners:
        lines += ["[[mysql]]", *keys(listener)]
        if "pool" in listener:
            lines += ["[mysql.pool]", *keys(listener["pool"])]
        if "tls" in listener:
            lines += ["[mysql.tls]", *keys(listener["tls"])]
        for backend in listener["backends"]:
            lines += ["[[mysql.backend]]", *keys(backend)]
            if "tls" in backend:
                lines += ["[mysql.backend.tls]", *keys(backend["tls"])]
    return "\n".join(lines) + "\n"


def keys(table):
    return [f"{key} = {value(one)}" for key, one in table.items() if key not in ["tls", "pool", "backends"]]


def value(one):
    # What JSON has for text, numbers, truth and lists TOML has as well.
    if isinstance(one, list):
        return f"[{', '.join(map(value, one))}]"
    if isinstance(one, dict):
        return "{ " + ", ".join(f"{key} = {value(part)}" for key, part in one.items()) + " }"
    return json.dumps(one)
