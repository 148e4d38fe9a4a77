"""The alert rules of Prometheus."""
import collections

from metrics import check

# `lasts`: how long it has to be so. `severity` is critical where clients get errors, otherwise warning.
Alert = collections.namedtuple("Alert", "name expression lasts severity summary action")

PLACE = "{{ $labels.instance }}, listener {{ $labels.listener }}"
BACKEND = PLACE + ", backend {{ $labels.backend }}"

ALERTS = [
    Alert("OnecopyDown", 'up{job=~"onecopy.*"} == 0', "1m", "critical", "{{ $labels.instance }} is not reachable for Prometheus",
          "See `systemctl status onecopy` and its log, or the container's."),
    Alert("OnecopyRestarts", "changes(process_start_time_seconds[30m]) > 3 and on (job, instance) onecopy_build_info", "0m", "critical",
          "{{ $labels.instance }} was restarted {{ $value }} times within 30 minutes", "The log says why it ended."),
    Alert("OnecopyNoBackend", "max by (job, instance, listener) (onecopy_backend_up) == 0", "30s", "critical", PLACE + ": no backend is up",
          "Clients get error 1429. SHOW SERVERS on the admin listener, or the live page, shows each backend's last error."),
    Alert("OnecopyBackendDown", "onecopy_backend_up == 0", "1m", "warning", BACKEND + " is down",
          "SHOW SERVERS on the admin listener, or the live page, shows its last error."),
    Alert("OnecopySecondPrimary", "onecopy_backend_second_primary == 1", "1m", "critical",
          BACKEND + " takes writes while another backend is the primary", "It gets no sessions here, but others may write to it: set it read-only."),
    Alert("OnecopyWrongSource", "onecopy_backend_wrong_source == 1", "1m", "warning",
          BACKEND + " is a replica of another server than the primary", "It gets no reads: have it follow the primary. SHOW SERVERS names its source."),
    Alert("OnecopyReplicaLag", "onecopy_backend_replication_lag_seconds > 30", "5m", "warning",
          BACKEND + " is {{ $value }} s behind", "It gets no reads while it is behind by more than `max-lag`."),
    Alert("OnecopySessionsLost", 'sum by (job, instance, listener, reason) (rate(onecopy_sessions_failed_total{side="backend"}[5m])) > 0',
          "1m", "warning", PLACE + ": sessions end because of their backend, {{ $labels.reason }}", "The log names the backends."),
    Alert("OnecopyOutOfResources", 'sum by (job, instance, listener, reason) '
          '(rate(onecopy_sessions_failed_total{reason=~"out_of_memory|open_files|stalled"}[5m])'
          ' + rate(onecopy_sessions_refused_total{reason=~"out_of_memory|open_files|stalled"}[5m])) > 0',
          "0m", "critical", PLACE + ": sessions end because of {{ $labels.reason }}",
          "Raise `memory` or the limit of open files, or lower `max-connections`."),
    Alert("OnecopySessionsRefused", 'sum by (job, instance, listener, reason) '
          '(rate(onecopy_sessions_refused_total{reason=~"max_connections|max_user_connections|no_backend"}[5m])) > 0',
          "1m", "critical", PLACE + ": clients are refused, {{ $labels.reason }}", "Raise the limit, or see why no backend is available."),
    Alert("OnecopyMemoryNearLimit", "onecopy_buffer_bytes / onecopy_buffer_bytes_limit > 0.9", "5m", "warning",
          "{{ $labels.instance }} uses {{ $value | humanizePercentage }} of `memory`", "Raise `memory`: at the limit sessions wait for each other."),
    Alert("OnecopySessionsWaitForMemory", "onecopy_sessions_waiting_for_buffer > 0", "1m", "warning",
          "{{ $labels.instance }}: {{ $value }} sessions wait for a buffer", "Raise `memory`."),
    Alert("OnecopySessionsQueued", "onecopy_sessions_queued > 0", "5m", "warning", PLACE + ": {{ $value }} sessions wait because all backends are full",
          "Raise `max-connections` of the backends."),
    Alert("OnecopyPoolTimeouts", "rate(onecopy_pool_wait_timeouts_total[5m]) > 0", "1m", "critical", PLACE + ": clients wait for a connection in vain",
          "Raise `max` of [mysql.pool], or see which sessions are pinned and why."),
    Alert("OnecopyPoolRefused", "rate(onecopy_pool_refused_logins_total[5m]) > 0", "1m", "critical", PLACE + ": servers refuse the proxy's logins",
          "Check the accounts of the listener; the log has the server's error."),
    Alert("OnecopyWrongLogins", "rate(onecopy_pool_wrong_logins_total[5m]) > 1", "5m", "warning", PLACE + ": {{ $value }} wrong logins a second",
          "A client has an old password, or somebody is guessing; the log has the addresses."),
    Alert("OnecopyFileDescriptors", "process_open_fds / process_max_fds > 0.9 and on (job, instance) onecopy_build_info", "5m", "warning",
          "{{ $labels.instance }} uses {{ $value | humanizePercentage }} of its file descriptors", "Raise LimitNOFILE: a session takes two."),
    Alert("OnecopyLogDropped", "rate(onecopy_log_events_dropped_total[5m]) > 0", "1m", "warning", "{{ $labels.instance }} drops log lines",
          "Whatever reads its stderr is too slow; lower `level` of [log] if it is \"debug\"."),
    Alert("OnecopyStatementLogLost", "rate(onecopy_statement_log_lines_lost_total[5m]) > 0", "1m", "warning",
          "{{ $labels.instance }} loses lines of the {{ $labels.log }} log: {{ $labels.reason }}",
          "write_failed: see SHOW LOGS on the admin listener. queue_full: log less (threshold, sample, users), or set `when-full`."),
]


def text(metrics):
    lines = ["# Made by `make deploy` of deploy/alerts.py.", "groups:", "  - name: onecopy", "    rules:"]
    for alert in ALERTS:
        check(alert.expression, metrics)
        lines += [f"      - alert: {alert.name}", f"        expr: {quoted(alert.expression)}", f"        for: {alert.lasts}", "        labels:",
                  f"          severity: {alert.severity}", "        annotations:", f"          summary: {quoted(alert.summary)}",
                  f"          description: {quoted(alert.action)}"]
    return "\n".join(lines) + "\n"


def quoted(text):
    return "'" + text.replace("'", "''") + "'"
