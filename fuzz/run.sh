#!/usr/bin/env bash
# Runs the fuzz targets one after the other and sums up: fuzz/run.sh [SECONDS [TARGET ...]]
#
# New inputs that libFuzzer finds stay in the build folder; `fuzz/minimise.sh` takes it into the corpora. All code under
# test is safe Rust, so there is no address sanitizer: its time goes into more inputs.
set -euo pipefail
cd "$(dirname "$0")"
seconds=${1:-300}
shift || true
all=(packets greeting ok text_rows binary_rows auth round_trip server relay compression conversation resp_replies resp_conversation resp_requests proxy_protocol topology messages)
targets=("${@:-${all[@]}}")
work=${CARGO_TARGET_DIR:-$(pwd)/../target}/fuzz

if ! cargo +nightly fuzz --version >/dev/null 2>&1; then
  echo "cargo-fuzz or the nightly toolchain is missing; type: rustup toolchain install nightly; cargo install cargo-fuzz" >&2
  exit 1
fi
cargo +nightly fuzz build --sanitizer none
cargo build --quiet -p onecopy-fuzz --example corpus
corpus=${CARGO_TARGET_DIR:-$(pwd)/../target}/debug/examples/corpus

# The value of one of libFuzzer's last figures.
figure() { sed -n "s/^stat::$2: *//p" "$1"; }
last() { grep -o "$2: [^ ]*" "$1" | tail -1 | cut -d' ' -f2; }

rows=() failed=0
for target in "${targets[@]}"; do
  mkdir -p "$work/$target" "artifacts/$target"
  "$corpus" unpack "$target" "$work/corpus/$target" >/dev/null
  log=$work/$target.log
  cargo +nightly fuzz run --sanitizer none "$target" "$work/$target" "$work/corpus/$target" -- \
    -max_total_time="$seconds" -timeout=20 -rss_limit_mb=1024 -print_final_stats=1 >"$log" 2>&1 &
  fuzzer=$!
  trap 'kill "$fuzzer" 2>/dev/null || true' EXIT
  while kill -0 "$fuzzer" 2>/dev/null; do
    sleep 5
    echo "$target: $(grep -o '^#.*exec/s: [0-9]*' "$log" | tail -1 || true)"
  done
  result="none"
  if ! wait "$fuzzer"; then
    failed=1
    result="**found**, see $log"
    grep -E 'panicked at|SUMMARY|Test unit written' -A2 "$log" || tail -20 "$log"
  fi
  trap - EXIT
  rows+=("| $target | $(figure "$log" number_of_executed_units) | $(last "$log" cov) | $(last "$log" ft) | $(last "$log" corp) | $result |")
done

echo
echo "| target | executions | edges | features | corpus | findings |"
echo "|--------|-----------:|------:|---------:|-------:|----------|"
printf '%s\n' "${rows[@]}"
exit "$failed"
