#!/usr/bin/env bash
# Changes a crate's code in about 100 places, one at a time, and tells which changes no test of the crate notices.
#
#   crates/testkit/mutants.sh [CRATE...]     by default onecopy-wire
#
# The sample is the same in every run: of each crate's mutants, in the order in which cargo-mutants lists them, every n-th. A change
# that no test notices is a missing test, unless it changes nothing that can be seen: docs/mutants.md names those.
set -eu
cd "$(dirname "$0")/../.."
command -v cargo-mutants >/dev/null || { echo "cargo-mutants is missing; type: cargo install cargo-mutants --locked" >&2; exit 1; }
sample=100
missed=0
for crate in "${@:-onecopy-wire}"; do
    all=$(cargo mutants -p "$crate" --list | wc -l)
    shards=$(((all + sample - 1) / sample))
    out=target/mutants/$crate
    mkdir -p "$out"
    echo "$crate: one of $shards of its $all mutants"
    cargo mutants -p "$crate" --all-features --shard "0/$shards" --sharding round-robin --no-shuffle --timeout 120 -o "$out" || missed=1
done
exit "$missed"
