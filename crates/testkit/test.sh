#!/bin/sh
# What `make test` runs behind `make lint`. Most tests wait for servers, so several parts run at once. What runs beside writes to a
# log, which is printed once it has ended. Everything runs, also after a failure; the last line says what failed.
set -u
target=${CARGO_TARGET_DIR:-target}
logs=$target/test-logs
mkdir -p "$logs"
threads=${RUST_TEST_THREADS:-6}
failed=
trap 'trap - INT TERM; kill 0' INT TERM # sh leaves what runs beside alone on Ctrl-C

beside() { # NAME COMMAND...
    name=$1
    shift
    "$@" >"$logs/$name.log" 2>&1 &
    eval "${name}_process=$!"
}

finish() { # NAME
    eval "process=\$${1}_process"
    wait "$process" || failed="$failed $1"
    echo "== $1"
    cat "$logs/$1.log"
}

cargo_test() { RUST_TEST_THREADS=$threads cargo test --workspace --all-features --no-fail-fast "$@"; }

# The tests in three parts by the alphabet, which take about the same time.
first_third() {
    status=0
    # The programs by name: `--bins` would compile those of fuzz/ as tests, which have none.
    cargo_test --lib --bin onecopy --bin gates --bin with-server --test '[a-l]*' || status=1
    cargo_test --doc || status=1
    "${MAKE:-make}" doc || status=1
    "${MAKE:-make}" lint-alone || status=1
    return $status
}
second_third() {
    cargo_test --test '[m-r]*'
}
last_third() {
    cargo_test --test '[s-z]*'
}
if cargo_test --no-run; then
    beside second_third second_third
    beside last_third last_third
    first_third || failed="$failed first_third"
    finish second_third
    finish last_third
else failed="$failed compile"; fi
if command -v python3 >/dev/null; then crates/proxy/tests/mirror/mistakes.py --pieces || failed="$failed mistakes"
else echo "NOT RUN: crates/proxy/tests/mirror/mistakes.py --pieces; python3 is missing" >&2; fi
if command -v cargo-deny >/dev/null; then "${MAKE:-make}" deny || failed="$failed deny"
else echo "NOT RUN: make deny; type: cargo install cargo-deny --locked" >&2; fi

if [ -n "$failed" ]; then
    echo "make test FAILED in:$failed" >&2
    exit 1
fi
echo "make test passed"
