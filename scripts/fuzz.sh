#!/usr/bin/env bash
# Fuzzes every target for the same time, one after another on one core, and says how many cases each has run and what was found.
#
#   scripts/fuzz.sh [minutes, 60] [target...]
#
# FUZZ_BINARIES names a folder with targets that are built already.
#
# The targets are those of fuzz/src/bin, instrumented for libFuzzer, which is linked in: no other tool is needed. What they learn stays
# in fuzz/learned and is gone on with next time; what they find is put into fuzz/artifacts, and `fuzz/target/.../release/<target> <file>`
# runs it again. The seeds of fuzz/corpus are for people: a finding that was mended becomes a test, not a seed.
set -euo pipefail
cd "$(dirname "$0")/../fuzz"

minutes="${1:-60}"
shift || true
if [ -z "${FUZZ_BINARIES:-}" ]; then
  host="$(rustc -vV | sed -n 's/^host: //p')"
  target_directory="${CARGO_TARGET_DIR:-$PWD/target}"
  export CARGO_TARGET_DIR="$target_directory"

  coverage='-Cpasses=sancov-module -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-trace-compares'
  coverage+=' -Cllvm-args=-sanitizer-coverage-inline-8bit-counters -Cllvm-args=-sanitizer-coverage-pc-table'
  # With a target of their own, build scripts and macros are not instrumented.
  RUSTFLAGS="$coverage -Ccodegen-units=1 --cfg fuzzing" ${CARGO:-cargo} build --release --target "$host" --bins
  FUZZ_BINARIES="$target_directory/$host/release"
fi

if [ $# -eq 0 ]; then
  for file in src/bin/*.rs; do
    set -- "$@" "$(basename "$file" .rs)"
  done
fi
seconds=$((minutes * 60 / $#))
scratch="$(mktemp -d)"
trap 'rm -rf "$scratch"' EXIT

printf '%-16s %12s %10s %10s %9s\n' target cases seconds features findings
total=0
failed=0
for target in "$@"; do
  mkdir -p "learned/$target" "artifacts/$target"
  log="$scratch/$target.log"
  start=$SECONDS
  cases=0
  findings=0
  # A finding ends a run: the rest of the time is another run's.
  while [ $((SECONDS - start)) -lt "$seconds" ]; do
    status=0
    TMPDIR="$scratch" RUST_BACKTRACE=1 nice -n 15 "$FUZZ_BINARIES/$target" -seed=$((RANDOM + 1)) \
      -max_total_time=$((seconds - SECONDS + start)) -timeout=10 -rss_limit_mb=2048 -max_len=4096 -print_final_stats=1 \
      -artifact_prefix="artifacts/$target/" "learned/$target" "corpus/$target" >"$log" 2>&1 || status=$?
    ran="$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")"
    cases=$((cases + ${ran:-0}))
    if [ "$status" -ne 0 ]; then
      findings=$((findings + 1))
      cp "$log" "artifacts/$target/log.$findings"
      [ "$findings" -lt 20 ] || break
    fi
  done
  features="$(sed -n 's/.* ft: \([0-9]*\) .*/\1/p' "$log" | tail -n 1)"
  printf '%-16s %12d %10d %10d %9d\n' "$target" "$cases" "$((SECONDS - start))" "${features:-0}" "$findings"
  total=$((total + cases))
  failed=$((failed + findings))
done
printf '%-16s %12d %10s %10s %9d\n' all "$total" '' '' "$failed"
[ "$failed" -eq 0 ] || { printf 'Findings are in fuzz/artifacts.\n'; exit 1; }
