#!/usr/bin/env python3
"""Stands in for mariadbd in MariaDB's regression tests: the server on another port and socket, the proxy on those that tests know.

The tests look for the server at one path, where mariadb_test.py puts a link to this file; the server itself is beside it, in
`real/`. The environment says what stands before it:

  INTEROP_FOLDER    where configurations and logs of the proxy go; not set: the server is started as it is
  INTEROP_PROXY     the program onecopy
  INTEROP_LISTENER  TOML, more keys and tables of each listener
  INTEROP_BACKEND   TOML, more keys and tables of each backend

Each server has a proxy of its own, which begins to listen when the server does, and which the kernel kills when the server
ends: tests that restart the server see it go and come as they do without a proxy.
"""
import ctypes, os, pathlib, re, signal, sys, time

PR_SET_PDEATHSIG = 1
# The tests take ports from 10000 to 32766, and 30 for each of their workers from 19000 on.
OFFSET = 12000


def main():
    program, arguments = pathlib.Path(sys.argv[0]), sys.argv[1:]
    folder = os.environ.get("INTEROP_FOLDER")
    if folder and (place := serves(arguments)):
        name, port, socket = place
        behind = port + OFFSET, f"{socket}.behind"
        file = configure(pathlib.Path(folder), name, (port, socket), behind, "::" in "".join(arguments))
        if os.fork() == 0:
            stand_before(file, socket, behind[1])
        arguments += [f"--port={behind[0]}", f"--socket={behind[1]}"]
    # The same process continues: the tests watch it by its id.
    os.execv(program.parent / "real" / program.name, [sys.argv[0], *arguments])


def serves(arguments):
    """Name, port and socket of the server that the tests start; `None` where it is asked for help, say, or bootstraps."""
    option = lambda name: next((word.split("=", 1)[1] for word in arguments if word.startswith(f"--{name}=")), None)
    suffix, file = option("defaults-group-suffix"), option("defaults-file")
    if not suffix or not file or any(word in arguments for word in ["--help", "--bootstrap", "--version", "--print-defaults"]):
        return None
    group = re.search(rf"^\[mysqld{re.escape(suffix)}\]\n(.*?)(?=^\[|\Z)", pathlib.Path(file).read_text(), re.M | re.S)
    values = dict(re.findall(r"^([\w-]+)=(.*)$", group[1], re.M)) if group else {}
    if "port" not in values or "socket" not in values:
        return None
    return f"mysqld{suffix}", int(values["port"]), values["socket"]


def configure(folder, name, front, behind, has_ipv6):
    """Writes the proxy's configuration, in which each way to the proxy continues by the same way."""
    ways = [("tcp", f"127.0.0.1:{front[0]}", f"127.0.0.1:{behind[0]}"), ("unix", front[1], behind[1])]
    if has_ipv6:
        ways.append(("tcp6", f"[::1]:{front[0]}", f"[::1]:{behind[0]}"))
    # Without health checks the server counts the connections of the tests and no others.
    lines = ["workers = 1", "[health]", 'interval = "off"']
    for way, place, server in ways:
        lines += ["[[mysql]]", f'name = "{way}"', f'listen = "{place}"', os.environ["INTEROP_LISTENER"],
                  "[[mysql.backend]]", f'server = "{server}"', os.environ["INTEROP_BACKEND"]]
    # The workers of the tests call their servers alike; their ports differ.
    file = folder / f"{name}-{front[0]}.toml"
    file.write_text("\n".join(lines) + "\n")
    return file


def stand_before(file, socket, behind):
    """Becomes the proxy as soon as the server listens. This process never returns from here."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    log = os.open(file.with_suffix(".log"), os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    for descriptor in [1, 2]:
        os.dup2(log, descriptor)
    # Looked up and not tried, as the server would count a connection.
    while not listens(behind):
        time.sleep(0.005)
    pathlib.Path(socket).unlink(missing_ok=True)
    os.execv(os.environ["INTEROP_PROXY"], [os.environ["INTEROP_PROXY"], "proxy", "--config", str(file)])


def listens(path):
    # Num RefCount Protocol Flags Type St Inode Path; the flag __SO_ACCEPTCON.
    lines = (line.split() for line in pathlib.Path("/proc/net/unix").read_text().splitlines())
    return any(fields[-1] == path and fields[3] == "00010000" for fields in lines)


if __name__ == "__main__":
    main()
