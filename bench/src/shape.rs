//! The workloads' statements and parameters; the tables are made by `onecopy bench setup`.

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Workload {
    OneSmallRow,
    OneBigRow,
    ManyRows,
    StmtParams,
    Blob,
}

impl Workload {
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "one-small-row" => Self::OneSmallRow,
            "one-big-row" => Self::OneBigRow,
            "many-rows" => Self::ManyRows,
            "stmt-params" => Self::StmtParams,
            "blob" => Self::Blob,
            _ => return None,
        })
    }

    pub(crate) fn sql(self) -> &'static str {
        match self {
            Self::OneSmallRow => {
                "SELECT s8, u8, s16, u16, s32, u32, s64, u64, s1, b1, flt, dbl, dt, dtime, t FROM onecopy_bench_rows \
                 WHERE id = 1"
            }
            Self::OneBigRow => "SELECT * FROM onecopy_bench_rows WHERE id = 1",
            Self::ManyRows => "SELECT * FROM onecopy_bench_rows",
            Self::StmtParams => {
                "SELECT id FROM onecopy_bench_rows WHERE id = 1 AND s8 = ? AND u8 = ? AND s16 = ? AND u16 = ? \
                 AND s32 = ? AND u32 = ? AND s64 = ? AND u64 = ? AND s1 = ? AND s2 = ? AND b1 = ? AND b2 = ? \
                 AND flt = ? AND dbl = ? AND dt = ? AND dtime = ? AND t = ?"
            }
            Self::Blob => "SELECT data FROM onecopy_bench_blob WHERE id = 1",
        }
    }
}

/// The byte strings among the parameters of `stmt-params`.
pub(crate) struct Strings {
    pub(crate) s1: String,
    pub(crate) s2: String,
    pub(crate) b1: Vec<u8>,
    pub(crate) b2: Vec<u8>,
}

impl Strings {
    pub(crate) fn new() -> Self {
        Self { s1: "a".repeat(200), s2: "b".repeat(36_000), b1: vec![5; 200], b2: vec![7; 35_000] }
    }
}

/// A sum that costs next to nothing: of byte strings the length and both ends.
#[derive(Default)]
pub(crate) struct Fold(pub(crate) u64);

impl Fold {
    pub(crate) fn add(&mut self, word: u64) {
        self.0 = self.0.rotate_left(5) ^ word;
    }

    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        self.add(bytes.len() as u64);
        self.add(u64::from(bytes.first().copied().unwrap_or(0)) << 8 | u64::from(bytes.last().copied().unwrap_or(0)));
    }
}
