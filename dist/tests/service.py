"""What holds for the service of both packages, in a machine where it is installed and runs."""
import json

from project import Failure
from tests.load import BUSY, SILENT, Load

CONFIGURATION = "/etc/onecopy/proxy.toml"
MAIN = "systemctl show --property MainPID --value onecopy"
PAGE = "http://127.0.0.1:9105"


def check(machine):
    """From a running service to a page with traffic, reload, and the end."""
    machine.until(f"curl --fail --silent {PAGE}/live", "the proxy's page")
    machine.call("systemd-analyze verify onecopy.service")
    files(machine)
    traffic(machine)
    confined(machine)
    reload(machine)
    upgrade(machine)
    stop(machine)


def stop(machine):
    machine.call("systemctl stop onecopy")
    ended = machine.call("systemctl show onecopy --property Result --property ExecMainStatus").stdout.split()
    expect(sorted(ended) == ["ExecMainStatus=0", "Result=success"], f"the service ended with {ended}")


def expect(is_so, what):
    if not is_so:
        raise Failure(what)


def files(machine):
    modes = machine.call("stat --format '%U:%G %a' /etc/onecopy /etc/onecopy/proxy.toml").stdout.splitlines()
    expect(modes == ["root:onecopy 750", "root:onecopy 640"], f"the configuration is {modes}")
    machine.call("test $(id -u onecopy) -gt 0 && getent passwd onecopy | grep --quiet nologin")
    for page in ["onecopy", "onecopy-proxy", "onecopy-bench-client"]:
        machine.call(f"man --where {page}")
    machine.call("bash -c '. /usr/share/bash-completion/completions/onecopy && complete -p onecopy'")
    machine.call("onecopy --version")


def traffic(machine):
    machine.call("""mariadb --execute "CREATE USER app@localhost IDENTIFIED BY 'secret'" """)
    sql = "mariadb --host 127.0.0.1 --port 3307 --user app --password=secret --skip-column-names --execute"
    for number in range(5):
        said = machine.call(f'{sql} "SELECT {number} + 1"').stdout.strip()
        expect(said == str(number + 1), f"SELECT {number} + 1 through the proxy is {said}")
    now = json.loads(machine.call(f"curl --fail --silent {PAGE}/api/now").stdout)
    listener = now["listeners"][0]
    expect(listener["accepted"] >= 5, f"the page counts {listener}")
    page = machine.call(f"curl --fail --silent {PAGE}/").stdout
    expect("db1" in page and "<table" in page, "the page shows no backend")
    expect(machine.call(f"curl --silent --output /dev/null --write-out '%{{http_code}}' {PAGE}/ready").stdout == "200", "/ready is not 200")
    metrics = machine.call(f"curl --fail --silent {PAGE}/metrics").stdout
    expect('onecopy_logins_total{listener="mysql",backend="db1"} 5' in metrics, "the metrics do not count 5 logins")
    # /proc is not hidden from it.
    expect("process_start_time_seconds" in metrics, "there is no start time in the metrics")


def confined(machine):
    status = machine.call("cat /proc/$(systemctl show --property MainPID --value onecopy)/status").stdout
    fields = dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)
    expect(int(fields["CapEff"], 16) == 0 and int(fields["CapBnd"], 16) == 0, "the service has capabilities")
    expect(fields["NoNewPrivs"] == "1" and fields["Seccomp"] == "2", "the service has no filter of system calls")
    exposure = machine.call("systemd-analyze security onecopy.service --no-pager | tail -1").stdout
    print("   ", exposure.strip())


def reload(machine):
    """A valid file takes effect; an invalid one fails `systemctl reload`, and the service goes on."""
    machine.call(f"sed -i 's/^listen = \"127.0.0.1:3307\"/listen = [\"127.0.0.1:3307\", \"127.0.0.1:3308\"]/' {CONFIGURATION}")
    machine.call("systemctl reload onecopy")
    machine.until("mariadb --host 127.0.0.1 --port 3308 --user app --password=secret --execute 'DO 1'", "the new address")
    machine.call(f"echo 'unknown = 1' >>{CONFIGURATION}")
    machine.call("systemctl reload onecopy", expect=1)
    log = machine.call("journalctl --unit onecopy --no-pager").stdout
    expect("unknown key `unknown`" in log, "the journal does not say why it was not reloaded")
    machine.call("mariadb --host 127.0.0.1 --port 3308 --user app --password=secret --execute 'DO 1'")
    machine.call(f"sed -i '/^unknown/d' {CONFIGURATION}")


def upgrade(machine):
    """Another process is the service; a client that is there stays, and systemd sees the end of the new process at once."""
    before = machine.call(MAIN).stdout.strip()
    sql = "mariadb --host 127.0.0.1 --port 3307 --user app --password=secret --skip-column-names"
    machine.call("mkfifo /run/statements")
    machine.background(f"{sql} --unbuffered </run/statements >/run/rows 2>&1")
    machine.background("sleep 1000 >/run/statements")
    machine.call("echo 'SELECT 1;' >/run/statements")
    machine.until("grep --quiet 1 /run/rows", "the client's first row")
    said = machine.call("onecopy upgrade --config /etc/onecopy/proxy.toml 2>&1").stdout
    expect("has taken over; 1 sessions stay" in said, f"onecopy upgrade said: {said}")
    after = machine.call(MAIN).stdout.strip()
    expect(after not in (before, "0") and after in said, f"the main process is {after} after {before}")
    machine.call("systemctl is-active onecopy")
    machine.call("echo 'SELECT 2;' >/run/statements")
    machine.until("grep --quiet 2 /run/rows", "a row of the client that stayed")
    machine.call(f"{sql} --execute 'SELECT 3'")
    machine.call("pkill --exact sleep; true")
    machine.until(f"test ! -e /proc/{before}", "the end of the process before")
    # systemd is its parent: it starts another one.
    machine.call(f"kill -KILL {after}")
    machine.until(f"test $({MAIN}) != {after} -a $({MAIN}) != 0 && systemctl is-active onecopy", "a restart after a crash")
    machine.until(f"curl --fail --silent {PAGE}/live", "the proxy's page")


# Added to the configuration for an upgrade under load: a listener that shares connections, with TLS for those who want it.
POOL, ADMIN = 3309, 6032
# Seconds without a sign of life after which systemd ends the service.
WATCHDOG = 4
SHARED = f"""
[admin]
listen = "127.0.0.1:{ADMIN}"
password-file = "admin.password"

[[mysql]]
name = "pool"
listen = "127.0.0.1:{POOL}"
mode = "transaction"
account = [{{ user = "app", password-file = "app.password" }}]
[mysql.tls]
certificate = "server.pem"
key = "server.key"
[mysql.pool]
max = 8
[[mysql.backend]]
name = "db1"
server = "127.0.0.1:3306"
"""


def upgrade_of_package(machine, install):
    """`install` installs a newer package. Clients do not notice it, systemd sees one service that goes on, and the next upgrade is possible."""
    share(machine)
    before = machine.call(MAIN).stdout.strip()
    load = start(machine)
    load.is_under_way()
    said = machine.call(install)
    said = said.stdout + said.stderr
    after = machine.call(MAIN).stdout.strip()
    expect(f"process {after} has taken over" in said, f"the installation did not upgrade the service: {said[-1500:]}")
    expect(after not in (before, "0"), f"the main process is {after} after {before}")
    machine.call(f"test /proc/{after}/exe -ef /usr/bin/onecopy && test ! /proc/{before}/exe -ef /usr/bin/onecopy")
    load.is_under_way()
    # Longer than WATCHDOG. The new process is the one that systemd watches now.
    machine.call(f"sleep {2 * WATCHDOG}")
    load.is_under_way()
    expect(machine.call(MAIN).stdout.strip() == after, "systemd has restarted the service that was upgraded")
    states = machine.call("systemctl show onecopy --property NRestarts --property ActiveState").stdout.split()
    expect(sorted(states) == ["ActiveState=active", "NRestarts=0"], f"systemd says {states}")
    machine.call(f"mariadb --host 127.0.0.1 --port {ADMIN} --user admin --password=admin --execute 'SHOW LISTENERS'")
    machine.call(f"curl --fail --silent {PAGE}/ready")
    print("   ", load.end())
    machine.until(f"test ! -e /proc/{before}", "the end of the process before")
    machine.call("systemctl is-active onecopy")
    # No package knows of them.
    machine.call("rm /etc/onecopy/server.* /etc/onecopy/*.password && rm --recursive /etc/systemd/system/onecopy.service.d && systemctl daemon-reload")


def share(machine):
    """Restarts the service with a listener that shares connections, an admin listener and a short time for the watchdog."""
    machine.call("cd /etc/onecopy && openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -keyout server.key -out server.pem")
    machine.call("cd /etc/onecopy && echo secret >app.password && echo admin >admin.password && chgrp onecopy server.* *.password && chmod 640 *.password server.key")
    machine.write("/root/shared.toml", SHARED.encode())
    machine.call(f"cat /root/shared.toml >>{CONFIGURATION}")
    machine.call("mkdir --parents /etc/systemd/system/onecopy.service.d && "
                 f"printf '[Service]\\nWatchdogSec={WATCHDOG}\\n' >/etc/systemd/system/onecopy.service.d/watchdog.conf && systemctl daemon-reload")
    machine.call("systemctl restart onecopy")


def start(machine):
    machine.call("""mariadb --execute "CREATE DATABASE IF NOT EXISTS test; GRANT ALL ON test.* TO app@localhost" """)
    machine.call("sysbench oltp_read_write --mysql-host=127.0.0.1 --mysql-port=3306 --mysql-user=app --mysql-password=secret --mysql-db=test "
                 "--tables=2 --table-size=1000 prepare")
    load = Load(machine)
    for name, port, options in [("pass", 3307, ""), ("pool", POOL, ""), ("pool-tls", POOL, "--ssl")]:
        load.stayer(f"{name}-busy", port, BUSY, options)
        load.stayer(f"{name}-silent", port, SILENT, options)
        load.comer(f"{name}-comer", port, options)
    for name, port in [("pass", 3307), ("pool", POOL)]:
        load.sysbench(f"{name}-reads", port, "oltp_read_only")
        load.sysbench(f"{name}-updates", port, "oltp_update_non_index")
    return load
