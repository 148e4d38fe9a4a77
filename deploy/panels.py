"""What the dashboard shows: rows of panels, each with its metrics. Every metric of the proxy is in one of them."""
import collections

# `by`: the labels that are lines of their own; the others are summed up. `None`: all labels of the metric.
Panel = collections.namedtuple("Panel", "title metrics by", defaults=[None])

ROWS = {
    "Traffic": [
        Panel("Commands", ["onecopy_commands_total"], ["listener"]),
        Panel("Latency", ["onecopy_command_duration_seconds"], ["listener"]),
        Panel("Commands answered with an error", ["onecopy_command_errors_total"]),
        Panel("Commands by kind", ["onecopy_commands_total"], ["command"]),
        Panel("Sessions", ["onecopy_sessions", "onecopy_sessions_queued"]),
        Panel("New sessions", ["onecopy_sessions_accepted_total", "onecopy_logins_total"], ["listener"]),
        Panel("Refused sessions", ["onecopy_sessions_refused_total"], ["listener", "reason"]),
        Panel("Failed sessions", ["onecopy_sessions_failed_total"], ["listener", "reason"]),
        Panel("Forwarded bytes", ["onecopy_bytes_from_clients_total", "onecopy_bytes_from_backend_total"], ["listener"]),
    ],
    "Backends": [
        Panel("State", ["onecopy_backend_up", "onecopy_backend_read_only", "onecopy_backend_drained", "onecopy_backend_second_primary"]),
        Panel("Sessions", ["onecopy_backend_sessions"]),
        Panel("Weight", ["onecopy_backend_weight"]),
        Panel("Replication lag", ["onecopy_backend_replication_lag_seconds"]),
        Panel("Transactions received and not applied", ["onecopy_backend_replication_lag_transactions"]),
        Panel("Failed connects and checks", ["onecopy_backend_failed_connects_total", "onecopy_backend_failed_checks_total"]),
    ],
    "Shared connections": [
        Panel("Connections", ["onecopy_pool_connections", "onecopy_pool_idle_connections"]),
        Panel("Clients that wait", ["onecopy_pool_waiting"]),
        Panel("Waits", ["onecopy_pool_waits_total", "onecopy_pool_wait_timeouts_total"]),
        Panel("Seconds waited per second", ["onecopy_pool_wait_seconds_total"]),
        Panel("New connections", ["onecopy_pool_connects_total", "onecopy_pool_delayed_connects_total"]),
        Panel("Refused by servers", ["onecopy_pool_refused_logins_total", "onecopy_pool_refused_commands_total"]),
        Panel("Restored sessions and resets", ["onecopy_pool_replays_total", "onecopy_pool_resets_total"]),
        Panel("Reads on replicas", ["onecopy_pool_replica_reads_total", "onecopy_pool_reads_without_replica_total",
                                    "onecopy_pool_reads_ahead_of_replica_total", "onecopy_pool_read_waits_total",
                                    "onecopy_pool_read_retries_total"]),
        Panel("Pinned sessions", ["onecopy_pool_pinned_sessions"]),
        Panel("Pins", ["onecopy_pool_pins_total"]),
        Panel("Interrupted statements", ["onecopy_pool_query_timeouts_total"]),
        Panel("Wrong logins", ["onecopy_pool_wrong_logins_total", "onecopy_pool_delayed_logins_total",
                               "onecopy_pool_blocked_logins_total"]),
    ],
    "Users of shared connections": [
        Panel("Connections", ["onecopy_pool_user_connections"]),
        Panel("Clients that wait", ["onecopy_pool_user_waiting"]),
        Panel("Waits", ["onecopy_pool_user_waits_total", "onecopy_pool_user_wait_timeouts_total"]),
        Panel("Seconds waited per second", ["onecopy_pool_user_wait_seconds_total"]),
        Panel("Statements beyond statement-rate", ["onecopy_pool_user_limited_statements_total"]),
    ],
    "Rules": [
        Panel("Statements", ["onecopy_rule_statements_total"]),
        Panel("Rejected and limited", ["onecopy_rule_rejected_statements_total", "onecopy_rule_limited_statements_total"]),
    ],
    "Memory and copies": [
        Panel("Buffers", ["onecopy_buffer_bytes", "onecopy_login_and_tls_bytes", "onecopy_buffer_bytes_limit"]),
        Panel("Buffers in use", ["onecopy_buffers_in_use", "onecopy_sessions_waiting_for_buffer"]),
        Panel("Bytes received and sent", ["onecopy_meter_bytes_read_total", "onecopy_meter_bytes_written_total"]),
        Panel("Reads and writes", ["onecopy_meter_reads_total", "onecopy_meter_writes_total"]),
        Panel("Bytes copied", ["onecopy_meter_bytes_moved_total", "onecopy_meter_bytes_copied_by_growth_total",
                               "onecopy_meter_bytes_copied_to_output_total", "onecopy_meter_bytes_copied_by_tls_total",
                               "onecopy_meter_bytes_zeroed_total"]),
        Panel("Moved and grown buffers", ["onecopy_meter_compactions_total", "onecopy_meter_growths_total"]),
        Panel("Compression", ["onecopy_compression_compressed_read_bytes_total", "onecopy_compression_uncompressed_read_bytes_total",
                              "onecopy_compression_uncompressed_written_bytes_total",
                              "onecopy_compression_compressed_written_bytes_total"]),
    ],
    "Process": [
        Panel("CPUs used", ["process_cpu_seconds_total"]),
        Panel("Memory", ["process_resident_memory_bytes", "process_virtual_memory_bytes"]),
        Panel("File descriptors", ["process_open_fds", "process_max_fds"]),
        Panel("Event loops", ["onecopy_event_loop_iterations_total", "onecopy_workers"]),
        Panel("Time since the start", ["onecopy_uptime_seconds", "process_start_time_seconds"]),
        Panel("Draining", ["onecopy_draining"]),
        Panel("Log lines dropped", ["onecopy_log_events_dropped_total"]),
        Panel("Slow log and audit log", ["onecopy_statement_log_lines_total", "onecopy_statement_log_lines_lost_total"], ["log"]),
        Panel("Version", ["onecopy_build_info"]),
    ],
}
