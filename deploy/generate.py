#!/usr/bin/env python3
"""Writes the dashboard and the alert rules, from the list of the proxy's metrics, and the manifests, from the chart: `make deploy`.

    deploy/generate.py           writes grafana/onecopy.json, prometheus/alerts.yaml and kubernetes/onecopy.yaml
    deploy/generate.py --check   fails if they are not what it would write

The manifests need helm: go install helm.sh/helm/v3/cmd/helm@v3.16.4"""
import pathlib, shutil, subprocess, sys

import alerts, dashboard, metrics
from metrics import Failure

HERE = pathlib.Path(__file__).resolve().parent
# Whatever helm was built with, the chart asks for a version.
KUBERNETES = "1.34.0"


def manifests(_):
    helm = ["helm", "template", "onecopy", str(HERE / "helm/onecopy"), "--kube-version", KUBERNETES]
    subprocess.run(["helm", "lint", "--strict", "--quiet", "--kube-version", KUBERNETES, helm[3]], check=True)
    text = subprocess.run(helm, stdout=subprocess.PIPE, text=True, check=True).stdout
    # It names a tool that does not manage what kubectl applies.
    lines = [line.rstrip() for line in text.splitlines() if "managed-by:" not in line and "helm.sh/chart:" not in line and not line.startswith("# Source")]
    return "# Made by `make deploy` of the chart in deploy/helm.\n" + "\n".join(lines).replace("---\n", "", 1) + "\n"


FILES = {"grafana/onecopy.json": dashboard.text, "prometheus/alerts.yaml": alerts.text, "kubernetes/onecopy.yaml": manifests}


def main(is_check):
    known = metrics.load()
    for name, text in FILES.items():
        path = HERE / name
        if text is manifests and not shutil.which("helm"):
            print(f"NOT {'CHECKED' if is_check else 'WRITTEN'}: deploy/{name}; helm is missing", file=sys.stderr)
            continue
        if is_check and (not path.exists() or path.read_text() != text(known)):
            raise Failure(f"deploy/{name} is out of date; run `make deploy`")
        if not is_check:
            path.write_text(text(known))


if __name__ == "__main__":
    try:
        main(sys.argv[1:] == ["--check"])
    except (Failure, subprocess.CalledProcessError) as failure:
        sys.exit(f"deploy: {failure}")
