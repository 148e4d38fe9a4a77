//! What carrying bytes costs: the meter of the buffers, and compression.

use super::Page;
use crate::stats::CompressionCounts;

impl Page {
    pub(super) fn write_meter(&mut self, fields: &[(&str, u64)]) {
        for (field, value) in fields {
            let help = match *field {
                "reads" => "Reads that brought something, of all sessions' buffers.",
                "bytes_read" => {
                    "Bytes read: what was carried, in both directions, logins included."
                }
                "writes" => "Writes that took something.",
                "bytes_written" => "Bytes written; over TLS before they were encrypted.",
                "compactions" => "Times that the live bytes of a buffer were moved to its front.",
                "bytes_moved" => {
                    "Bytes moved so. Beside bytes_read it tells what carrying costs: it should stay near 0."
                }
                "growths" => "Times that a buffer was given more memory.",
                "bytes_copied_by_growth" => "Bytes copied when buffers grew.",
                "bytes_copied_by_tls" => {
                    "Bytes copied in front of and behind TLS, which can't be helped: two for each byte."
                }
                "bytes_zeroed" => "Bytes set to zero before they were read into.",
                "bytes_copied_to_output" => "Bytes copied into packets of the proxy's own: logins.",
                // A relay makes no values, and its capacity has gauges of its own.
                _ => continue,
            };
            let name = format!("onecopy_meter_{field}_total");
            self.one(&name, "counter", help, *value);
        }
    }

    pub(super) fn write_compression(&mut self, counts: &CompressionCounts) {
        for (name, help, value) in [
            (
                "packed_read",
                "Bytes of compressed frames read.",
                counts.packed_read,
            ),
            ("unpacked", "Bytes that were in them.", counts.unpacked),
            (
                "packed",
                "Bytes that were compressed, or stored in frames.",
                counts.packed,
            ),
            (
                "packed_written",
                "Bytes of these frames.",
                counts.packed_written,
            ),
        ] {
            let name = format!("onecopy_compression_{name}_bytes_total");
            self.one(&name, "counter", help, value);
        }
    }
}
