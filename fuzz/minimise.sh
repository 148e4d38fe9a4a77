#!/usr/bin/env bash
# Takes what runs have found into the corpora, and keeps of each only inputs that reach something of their own:
# fuzz/minimise.sh [TARGET ...]
set -euo pipefail
cd "$(dirname "$0")"
all=(packets greeting ok text_rows binary_rows auth round_trip server conversation resp_replies resp_conversation resp_requests proxy_protocol topology messages)
work=${CARGO_TARGET_DIR:-$(pwd)/../target}/fuzz
cargo build --quiet -p onecopy-fuzz --example corpus
corpus=${CARGO_TARGET_DIR:-$(pwd)/../target}/debug/examples/corpus

for target in "${@:-${all[@]}}"; do
  mkdir -p "$work/$target"
  fresh=$(mktemp -d)
  "$corpus" unpack "$target" "$work/corpus/$target" >/dev/null
  # Longer inputs reach little that shorter ones don't, and the corpora are part of every checkout.
  cargo +nightly fuzz run --sanitizer none "$target" "$fresh" "$work/corpus/$target" "$work/$target" -- \
    -set_cover_merge=1 -max_len=512 >"$work/$target.merge.log" 2>&1 || { tail -20 "$work/$target.merge.log"; exit 1; }
  echo "$target: $("$corpus" pack "$target" "$fresh")"
  rm -rf "$fresh" "$work/corpus/$target"
done
