"""The dashboard of Grafana: how each metric is queried and shown follows from its kind, its labels and the unit in its name."""
import json, os

from metrics import Failure
from panels import ROWS

COLUMNS, WIDTH, HEIGHT = 3, 8, 7
START = "process_start_time_seconds"
QUANTILES = {"0.5": "50 %", "0.99": "99 %"}


def text(metrics):
    shown = {name for panels in ROWS.values() for panel in panels for name in panel.metrics}
    for name in sorted(metrics.keys() - shown):
        raise Failure(f"{name} is on no panel; add it to deploy/panels.py")
    for name in sorted(shown - metrics.keys()):
        raise Failure(f"{name} is not a metric of the proxy; remove it from deploy/panels.py")
    return json.dumps(dashboard(metrics), indent=1, ensure_ascii=False) + "\n"


def dashboard(metrics):
    return {
        "title": "onecopy proxy", "uid": "onecopy-proxy", "tags": ["onecopy", "mysql"], "schemaVersion": 39, "version": 1,
        "editable": True, "graphTooltip": 1, "refresh": "30s", "time": {"from": "now-1h", "to": "now"},
        "templating": {"list": [
            {"name": "datasource", "type": "datasource", "query": "prometheus", "label": "Data source"},
            # "All" is the list of proxies: other programs have the metrics of a process too.
            variable("instance", "label_values(onecopy_build_info, instance)"),
            {**variable("listener", 'label_values(onecopy_sessions{instance=~"$instance"}, listener)'), "allValue": ".*"}]},
        "panels": panels(metrics),
    }


def variable(name, query):
    return {"name": name, "type": "query", "label": name.capitalize(), "datasource": source(), "definition": query,
            "query": {"query": query, "refId": name}, "refresh": 2, "sort": 1, "multi": True, "includeAll": True,
            "current": {"selected": True, "text": ["All"], "value": ["$__all"]}}


def source():
    return {"type": "prometheus", "uid": "${datasource}"}


def panels(metrics):
    made, y = [], 0
    for title, row in ROWS.items():
        made.append({"type": "row", "id": len(made) + 1, "title": title, "collapsed": False, "panels": [],
                     "gridPos": {"x": 0, "y": y, "w": COLUMNS * WIDTH, "h": 1}})
        y += 1
        for at, panel in enumerate(row):
            place = {"x": at % COLUMNS * WIDTH, "y": y + at // COLUMNS * HEIGHT, "w": WIDTH, "h": HEIGHT}
            made.append({"id": len(made) + 1, "gridPos": place, **graph(panel, [metrics[name] for name in panel.metrics])})
        y += -(-len(row) // COLUMNS) * HEIGHT
    return made


def graph(panel, metrics):
    targets = [target for metric in metrics for target in queries(metric, panel.by, len(metrics) > 1, metrics)]
    for at, target in enumerate(targets):
        target["refId"] = chr(ord("A") + at)
    return {"type": "timeseries", "title": panel.title, "datasource": source(), "targets": targets,
            "description": "\n\n".join(f"`{metric.name}`: {metric.meaning}" for metric in metrics),
            "fieldConfig": {"defaults": {"unit": unit(metrics[0]), "min": 0, "custom": {"showPoints": "never"}}, "overrides": []},
            "options": {"legend": {"displayMode": "list", "placement": "bottom"}, "tooltip": {"mode": "multi", "sort": "desc"}}}


def queries(metric, by, is_named, beside):
    labels = ["instance", *(metric.labels if by is None else [label for label in by if label in metric.labels])]
    filters = 'instance=~"$instance"' + (', listener=~"$listener"' if "listener" in metric.labels else "")
    legend = " ".join(f"{{{{{label}}}}}" for label in labels)
    if metric.kind == "histogram":
        rate = f"sum by (le, {', '.join(labels)}) (rate({metric.name}_bucket{{{filters}}}[$__rate_interval]))"
        return [query(f"histogram_quantile({quantile}, {rate})", f"{name} {legend}") for quantile, name in QUANTILES.items()]
    value = f"{metric.name}{{{filters}}}"
    if metric.kind == "counter":
        value = f"rate({value}[$__rate_interval])"
    if metric.name == START:
        value = f"time() - {value}"
    name = f"{short(metric, beside)} " if is_named else ""
    return [query(f"sum by ({', '.join(labels)}) ({value})", name + legend)]


def query(expression, legend):
    return {"datasource": source(), "expr": expression, "legendFormat": legend, "range": True, "editorMode": "code"}


def short(metric, beside):
    """The name without what those beside it have as well."""
    names = [other.name.removesuffix("_total") for other in beside]
    start = os.path.commonprefix(names).rpartition("_")[0]
    rest = metric.name.removesuffix("_total").removeprefix(start).strip("_")
    return (rest or start.rpartition("_")[2]).replace("_", " ")


def unit(metric):
    """By Grafana's names for units."""
    words = metric.name.removesuffix("_total").split("_")
    is_rate = metric.kind == "counter"
    if "bytes" in words:
        return "Bps" if is_rate else "bytes"
    if "seconds" in words:
        return "short" if is_rate else "s"
    return "cps" if is_rate else "short"
