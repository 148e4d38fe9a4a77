"""What holds for the service of both packages, in a machine where it is installed and runs."""
import json

from project import Failure

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
    configuration = "/etc/onecopy/proxy.toml"
    machine.call(f"sed -i 's/^listen = \"127.0.0.1:3307\"/listen = [\"127.0.0.1:3307\", \"127.0.0.1:3308\"]/' {configuration}")
    machine.call("systemctl reload onecopy")
    machine.until("mariadb --host 127.0.0.1 --port 3308 --user app --password=secret --execute 'DO 1'", "the new address")
    machine.call(f"echo 'unknown = 1' >>{configuration}")
    machine.call("systemctl reload onecopy", expect=1)
    log = machine.call("journalctl --unit onecopy --no-pager").stdout
    expect("unknown key `unknown`" in log, "the journal does not say why it was not reloaded")
    machine.call("mariadb --host 127.0.0.1 --port 3308 --user app --password=secret --execute 'DO 1'")
    machine.call(f"sed -i '/^unknown/d' {configuration}")


def upgrade(machine):
    """Another process is the service; a client that is there stays, and systemd sees the end of the new process at once."""
    main = "systemctl show --property MainPID --value onecopy"
    before = machine.call(main).stdout.strip()
    sql = "mariadb --host 127.0.0.1 --port 3307 --user app --password=secret --skip-column-names"
    machine.call(f"mkfifo /run/statements && ({sql} --unbuffered </run/statements >/run/rows 2>&1 &) && sleep 1000 >/run/statements &")
    machine.call("echo 'SELECT 1;' >/run/statements")
    machine.until("grep --quiet 1 /run/rows", "the client's first row")
    said = machine.call("onecopy upgrade --config /etc/onecopy/proxy.toml 2>&1").stdout
    expect("has taken over; 1 sessions stay" in said, f"onecopy upgrade said: {said}")
    after = machine.call(main).stdout.strip()
    expect(after not in (before, "0") and after in said, f"the main process is {after} after {before}")
    machine.call("systemctl is-active onecopy")
    machine.call("echo 'SELECT 2;' >/run/statements")
    machine.until("grep --quiet 2 /run/rows", "a row of the client that stayed")
    machine.call(f"{sql} --execute 'SELECT 3'")
    machine.call("pkill --exact sleep; true")
    machine.until(f"test ! -e /proc/{before}", "the end of the process before")
    # systemd is its parent: it starts another one.
    machine.call(f"kill -KILL {after}")
    machine.until(f"test $({main}) != {after} -a $({main}) != 0 && systemctl is-active onecopy", "a restart after a crash")
    machine.until(f"curl --fail --silent {PAGE}/live", "the proxy's page")
