"""The dashboard and the alert rules in a real Prometheus, which scrapes a proxy with a primary, a replica, a dead server and clients."""
import json, os, pathlib, re, subprocess, sys, tempfile, threading, urllib.parse

if __name__ == "__main__":
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

import project
from project import BINARY, ROOT, Failure
from tests import firing
from tests.prometheus import RULES, Prometheus
from tests.service import expect

# In place of what Grafana fills in.
VARIABLES = {"$__rate_interval": "10s", "$instance": ".*", "$listener": ".*"}
# So that there are two values for each rate.
SCRAPES = 5
# On the primary and, by replication, on the replica.
USER = "app"
ADDRESS = re.compile(r"listening on (\S+)|live page at http://(\S+)/")


def test():
    project.run([ROOT / "deploy/generate.py", "--check"])
    project.need("promtool", "prometheus")
    project.run(["promtool", "check", "rules", RULES])
    firing.test()
    command = ["cargo", "run", "--quiet", "-p", "onecopy-testkit", "--", "--pair", "--", sys.executable, __file__]
    if subprocess.run(command, cwd=ROOT).returncode:
        raise Failure("see above")


def main():
    primary, replica = (urllib.parse.urlsplit(os.environ[f"ONECOPY_{name}_URL"]) for name in ["PRIMARY", "REPLICA"])
    replicate(primary, replica)
    with Proxy(primary, replica) as proxy, Prometheus(proxy.page) as prometheus:
        clients = [threading.Thread(target=proxy.work, daemon=True) for _ in range(3)]
        for client in clients:
            client.start()
        ready = f"min(count_over_time(onecopy_uptime_seconds[1m])) > {SCRAPES}"
        prometheus.until(lambda: prometheus.value(ready) is not None, "too few scrapes")
        prometheus.until(lambda: prometheus.value('onecopy_backend_replication_lag_seconds') is not None, "no lag is known")
        dashboard(prometheus)
        alerts(prometheus)


def dashboard(prometheus):
    """Every query has a result with the labels of its legend."""
    panels = json.loads((ROOT / "deploy/grafana/onecopy.json").read_text())["panels"]
    targets = [(panel["title"], target) for panel in panels for target in panel.get("targets", [])]
    expect(len(targets) > 50, "the dashboard has too few queries")
    for title, target in targets:
        expression = target["expr"]
        for name, value in VARIABLES.items():
            expression = expression.replace(name, value)
        series = prometheus.query(expression)
        expect(series, f"`{title}` shows nothing: {expression}")
        for label in re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]):
            expect(all(label in labels for labels, _ in series), f"`{title}` has no label {label}: {expression}")
    working = prometheus.query('sum by (listener) (rate(onecopy_commands_total[10s]))')
    expect(len(working) == 2 and all(value > 0 for _, value in working), f"not every listener has commands: {working}")
    print(f"    {len(targets)} queries of the dashboard have results")


def alerts(prometheus):
    """Prometheus evaluates all of them; only those of the dead server are active."""
    rules = lambda: prometheus.get("rules")["groups"][0]["rules"]
    prometheus.until(lambda: all(rule["health"] == "ok" for rule in rules()), "not every rule is evaluated")
    find = lambda: {rule["name"]: rule["alerts"] for rule in rules() if rule["alerts"]}
    prometheus.until(lambda: "OnecopyBackendDown" in find(), "the dead server raises no alert")
    found = find()
    expect(set(found) == {"OnecopyBackendDown"}, f"these alerts are active: {', '.join(found)}")
    summary = found["OnecopyBackendDown"][0]["annotations"]["summary"]
    expect(summary.endswith("listener reports, backend gone is down"), f"the alert says {summary}")
    print(f"    {len(rules())} alert rules are evaluated: {summary}")


def sql(url, *statements, expect_success=True):
    done = subprocess.run([BINARY, "sql", url, "--quiet", *statements], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if expect_success and done.returncode:
        raise Failure(f"{statements}: {done.stderr}")


def replicate(primary, replica):
    # Both have made the database `test` themselves.
    sql(primary.geturl(), "RESET MASTER")
    sql(replica.geturl(), "RESET MASTER")
    sql(replica.geturl(), f"CHANGE MASTER TO MASTER_HOST='127.0.0.1', MASTER_PORT={primary.port}, MASTER_USER='{primary.username}', "
        f"MASTER_PASSWORD='{urllib.parse.unquote(primary.password)}', MASTER_USE_GTID=slave_pos", "START SLAVE", "SET GLOBAL read_only = 1")
    # The passwords of root differ.
    sql(primary.geturl(), f"CREATE USER {USER}@'%' IDENTIFIED BY '{USER}'", f"GRANT ALL ON *.* TO {USER}@'%'")


class Proxy:
    """A listener that shares connections and reads on the replica, and one that does not, with a dead server."""

    def __init__(self, primary, replica):
        login = f'user = "{USER}"\npassword = "{USER}"\n'
        backend = lambda name, port, role: f'[[mysql.backend]]\nname = "{name}"\nserver = "127.0.0.1:{port}"\nrole = "{role}"\n'
        self.config = (
            f'[web]\nlisten = "127.0.0.1:0"\n[health]\ninterval = "500ms"\n{login}'
            f'[[mysql]]\nname = "shop"\nlisten = "127.0.0.1:0"\nmode = "transaction"\nreads = "replica"\nreencrypt-passwords = true\n'
            f'[[mysql.account]]\n{login}[[mysql.rule]]\nname = "no drops"\nstarts-with = "DROP"\nreject = "no drops"\n'
            f'[mysql.pool]\nmax = 2\n{backend("primary", primary.port, "primary")}{backend("replica", replica.port, "replica")}'
            f'[[mysql]]\nname = "reports"\nlisten = "127.0.0.1:0"\n{backend("db", primary.port, "any")}{backend("gone", 1, "any")}')

    def __enter__(self):
        self.folder = tempfile.TemporaryDirectory()
        config = pathlib.Path(self.folder.name, "proxy.toml")
        config.write_text(self.config)
        self.process = subprocess.Popen([BINARY, "proxy", "--config", config], stderr=subprocess.PIPE, text=True)
        listeners, self.page = [], None
        for line in self.process.stderr:
            if found := ADDRESS.search(line):
                listeners += [found[1]] if found[1] else []
                self.page = found[2] or self.page
            if self.page and len(listeners) == 2:
                break
        else:
            raise Failure(f"the proxy has ended with {self.process.wait()}")
        self.urls = [f"mysql://{USER}:{USER}@{address}/test" for address in listeners]
        # It must not wait for whoever reads its log.
        threading.Thread(target=self.process.stderr.read, daemon=True).start()
        return self

    def work(self):
        while self.process.poll() is None:
            for url in self.urls:
                sql(url, "SELECT 1", "BEGIN", "SELECT 2", "COMMIT", expect_success=False)
                sql(url, "SELECT * FROM nothing", expect_success=False)
            sql(self.urls[0], "DROP TABLE nothing", expect_success=False)

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.folder.cleanup()


if __name__ == "__main__":
    try:
        main()
    except Failure as failure:
        sys.exit(f"monitoring: {failure}")
