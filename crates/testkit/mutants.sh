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
    # What is not sampled, which tests run, and their timeout in seconds. The clients' tests against real servers do not run: they
    # are slow.
    exclude=(); tests=(); seconds=60
    case $crate in
        onecopy-mysql) tests=(--lib --test scripts -- --skip huge:: --skip large:: --skip little_memory::); seconds=90 ;;
        onecopy-valkey) exclude=(--exclude 'crates/valkey/src/command/**'); tests=(--lib --test scripts) ;;
        onecopy-proxy) seconds=240 ;;
        onecopy) exclude=(--exclude 'crates/cli/src/bench/**' --exclude 'crates/cli/src/tour/**'); seconds=240 ;;
    esac
    all=$(cargo mutants -p "$crate" "${exclude[@]}" --list | wc -l)
    shards=$(((all + sample - 1) / sample))
    out=target/mutants/$crate
    mkdir -p "$out"
    echo "$crate: one of $shards of its $all mutants"
    RUST_TEST_THREADS=${RUST_TEST_THREADS:-8} cargo mutants -p "$crate" --all-features "${exclude[@]}" --shard "0/$shards" \
        --sharding round-robin --no-shuffle --jobs 2 --timeout "$seconds" -o "$out" -- "${tests[@]}" || missed=1
done
exit "$missed"
