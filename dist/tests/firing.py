"""Each alert rule fires on the series of a proxy in trouble, and on none of one without: promtool's tests of rules."""
import json, pathlib, sys, tempfile

import project
from project import ROOT
from tests.service import expect

sys.path.append(str(ROOT / "deploy"))
import alerts

PLACE = {"job": "onecopy", "instance": "proxy:9104"}
LISTENER = {**PLACE, "listener": "shop"}
BACKEND = {**LISTENER, "backend": "db1"}


def reason(side, name):
    return {**LISTENER, "side": side, "reason": name}


# Values of promtool: start, step and their number. Half a minute is between two of them.
COUNT = 80
TIME = "40m"
ALWAYS = lambda value: f"{value}+0x{COUNT}"
GROWING = lambda step: f"0+{step}x{COUNT}"
INFO = ("onecopy_build_info", {**PLACE, "version": "0.1.0"}, ALWAYS(1), ALWAYS(1))

# By alert: metric, labels, values in trouble and without; and the labels of the alert.
SERIES = {
    "OnecopyDown": ([("up", PLACE, ALWAYS(0), ALWAYS(1))], PLACE),
    "OnecopyRestarts": ([("process_start_time_seconds", PLACE, GROWING(30), ALWAYS(1)), INFO], PLACE),
    "OnecopyNoBackend": ([("onecopy_backend_up", BACKEND, ALWAYS(0), ALWAYS(1))], LISTENER),
    "OnecopyBackendDown": ([("onecopy_backend_up", BACKEND, ALWAYS(0), ALWAYS(1))], BACKEND),
    "OnecopySecondPrimary": ([("onecopy_backend_second_primary", BACKEND, ALWAYS(1), ALWAYS(0))], BACKEND),
    "OnecopyReplicaLag": ([("onecopy_backend_replication_lag_seconds", BACKEND, ALWAYS(31), ALWAYS(30))], BACKEND),
    "OnecopySessionsLost": ([("onecopy_sessions_failed_total", reason("backend", "backend_lost"), GROWING(1), ALWAYS(7))],
                            {**LISTENER, "reason": "backend_lost"}),
    "OnecopyOutOfResources": ([("onecopy_sessions_failed_total", reason("proxy", "stalled"), GROWING(1), ALWAYS(7)),
                               ("onecopy_sessions_refused_total", reason("proxy", "stalled"), ALWAYS(0), ALWAYS(0))],
                              {**LISTENER, "reason": "stalled"}),
    "OnecopySessionsRefused": ([("onecopy_sessions_refused_total", reason("proxy", "max_connections"), GROWING(1), ALWAYS(7))],
                               {**LISTENER, "reason": "max_connections"}),
    "OnecopyMemoryNearLimit": ([("onecopy_buffer_bytes", PLACE, ALWAYS(91), ALWAYS(89)),
                                ("onecopy_buffer_bytes_limit", PLACE, ALWAYS(100), ALWAYS(100))], PLACE),
    "OnecopySessionsWaitForMemory": ([("onecopy_sessions_waiting_for_buffer", PLACE, ALWAYS(1), ALWAYS(0))], PLACE),
    "OnecopySessionsQueued": ([("onecopy_sessions_queued", LISTENER, ALWAYS(1), ALWAYS(0))], LISTENER),
    "OnecopyPoolTimeouts": ([("onecopy_pool_wait_timeouts_total", LISTENER, GROWING(1), ALWAYS(7))], LISTENER),
    "OnecopyPoolRefused": ([("onecopy_pool_refused_logins_total", LISTENER, GROWING(1), ALWAYS(7))], LISTENER),
    # A wrong password now and then is none.
    "OnecopyWrongLogins": ([("onecopy_pool_wrong_logins_total", LISTENER, GROWING(60), GROWING(1))], LISTENER),
    "OnecopyFileDescriptors": ([("process_open_fds", PLACE, ALWAYS(91), ALWAYS(89)), ("process_max_fds", PLACE, ALWAYS(100), ALWAYS(100)),
                                INFO], PLACE),
    "OnecopyLogDropped": ([("onecopy_log_events_dropped_total", PLACE, GROWING(1), ALWAYS(7))], PLACE),
    "OnecopyStatementLogLost": ([("onecopy_statement_log_lines_lost_total", {**PLACE, "log": "audit", "reason": "queue_full"},
                                  GROWING(1), ALWAYS(7))], {**PLACE, "log": "audit", "reason": "queue_full"}),
}


def test():
    names = [alert.name for alert in alerts.ALERTS]
    expect(sorted(names) == sorted(SERIES), "dist/tests/firing.py and deploy/alerts.py have different alerts")
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        # Without annotations, which promtool would compare word by word. JSON is YAML too.
        rules = [{"alert": alert.name, "expr": alert.expression, "for": alert.lasts, "labels": {"severity": alert.severity}}
                 for alert in alerts.ALERTS]
        (folder / "rules.yaml").write_text(json.dumps({"groups": [{"name": "onecopy", "rules": rules}]}))
        tests = [group(alert, is_trouble) for alert in alerts.ALERTS for is_trouble in (True, False)]
        (folder / "tests.yaml").write_text(json.dumps({"rule_files": ["rules.yaml"], "evaluation_interval": "30s", "tests": tests}))
        project.run(["promtool", "test", "rules", folder / "tests.yaml"])


def group(alert, is_trouble):
    series, labels = SERIES[alert.name]
    inputs = [{"series": f"{metric}{{{', '.join(f'{name}={json.dumps(value)}' for name, value in of.items())}}}",
               "values": trouble if is_trouble else calm} for metric, of, trouble, calm in series]
    fires = [{"exp_labels": {**labels, "severity": alert.severity}}] if is_trouble else []
    return {"interval": "30s", "input_series": inputs,
            "alert_rule_test": [{"alertname": alert.name, "eval_time": TIME, "exp_alerts": fires}]}
