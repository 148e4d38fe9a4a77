"""A real Prometheus on a free port, with our alert rules; it lives as long as its `with` block."""
import json, pathlib, socket, subprocess, tempfile, time, urllib.error, urllib.parse, urllib.request

import project
from project import ROOT, Failure

RULES = ROOT / "deploy/prometheus/alerts.yaml"
WITHIN = 60


class Prometheus:
    def __init__(self, target):
        self.target = target

    def __enter__(self):
        project.need("prometheus", "prometheus")
        self.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(self.folder.name)
        config = folder / "prometheus.yaml"
        config.write_text(f"global: {{scrape_interval: 1s, evaluation_interval: 1s}}\nrule_files: ['{RULES}']\n"
                          f"scrape_configs: [{{job_name: onecopy, static_configs: [{{targets: ['{self.target}']}}]}}]\n")
        project.run(["promtool", "check", "config", config])
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.address = f"127.0.0.1:{free.getsockname()[1]}"
        self.log = open(folder / "log", "w+")
        self.process = subprocess.Popen(["prometheus", f"--config.file={config}", f"--storage.tsdb.path={folder}/data",
                                         f"--web.listen-address={self.address}"], stdout=self.log, stderr=self.log)
        self.until(lambda: self.value("up") == 1, "Prometheus does not scrape the proxy")
        return self

    def get(self, path, **parameters):
        with urllib.request.urlopen(f"http://{self.address}/api/v1/{path}?{urllib.parse.urlencode(parameters)}") as answer:
            return json.load(answer)["data"]

    def query(self, expression):
        """The series that it gives: labels and value. A query that Prometheus refuses is a failure."""
        try:
            found = self.get("query", query=expression)["result"]
        except urllib.error.HTTPError as error:
            raise Failure(f"Prometheus refuses `{expression}`: {error.read().decode()}")
        return [(series["metric"], float(series["value"][1])) for series in found]

    def value(self, expression):
        try:
            found = self.query(expression)
        except (OSError, ValueError):
            # It is starting.
            return None
        return found[0][1] if found else None

    def until(self, is_so, what):
        deadline = time.monotonic() + WITHIN
        while not is_so():
            if time.monotonic() > deadline or self.process.poll() is not None:
                self.log.seek(0)
                raise Failure(f"{what}; its log ends with {self.log.read()[-500:]}")
            time.sleep(0.2)

    def __exit__(self, *_):
        self.process.terminate()
        self.process.wait()
        self.log.close()
        self.folder.cleanup()
