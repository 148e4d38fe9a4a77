//! Statements by digest.

/// What is counted of statements by digest.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DigestsConfig {
    /// How many digests each worker keeps; 0, the default: nothing is counted. Those whose statements take most of the time stay. A digest takes about
    /// 1 KiB of memory with the texts by which its statements are recognised, at most 20 KiB.
    ///
    /// Counting adds 3 to 7 % to the instructions that the proxy itself executes for a point select.
    pub max: usize,
}
