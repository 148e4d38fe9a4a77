"""The proxy's metrics. The one list of them is the table in docs/proxy-operations.md; a test of the proxy compares that with what it serves."""
import collections, pathlib, re

ROOT = pathlib.Path(__file__).resolve().parent.parent
MANUAL = ROOT / "docs/proxy-operations.md"
ROW = re.compile(r"^\| `((?:onecopy|process)_\w+)` \| ([\w, ]*)\| (.+) \|$", re.M)

# `kind` is counter, histogram or gauge, `labels` a list.
Metric = collections.namedtuple("Metric", "name kind labels meaning")


class Failure(Exception):
    """What is wrong, in one line that says what to do."""


def load():
    """All of them by name."""
    found = {name: Metric(name, kind(name, meaning), [label.strip() for label in labels.split(",") if label.strip()],
                          meaning.replace("`", ""))
             for name, labels, meaning in ROW.findall(MANUAL.read_text())}
    if not found:
        raise Failure(f"{MANUAL.relative_to(ROOT)} has no table of metrics")
    return found


def kind(name, meaning):
    if meaning.startswith("histogram"):
        return "histogram"
    return "counter" if name.endswith("_total") else "gauge"


def check(expression, metrics):
    """Every metric in an expression exists, and so does every label that it is filtered or grouped by."""
    for name, _, filters in re.findall(r"\b((?:onecopy|process)_\w+)(\{([^}]*)\})?", expression):
        metric = metrics.get(name) or metrics.get(re.sub(r"_(bucket|sum|count)$", "", name))
        if metric is None:
            raise Failure(f"{name} is not a metric of the proxy, in: {expression}")
        for label in re.findall(r"(\w+)\s*(?:=~|!~|!=|=)", filters):
            if label not in [*metric.labels, "job", "instance", "le"]:
                raise Failure(f"{name} has no label {label}, in: {expression}")
