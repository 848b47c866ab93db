#!/usr/bin/env bash
# The page with plots, target/benchmarks.html, of the results that are tracked in data/benchmarks.jsonl.
set -euo pipefail
cd "$(dirname "$0")/../.."

readonly TARGET="${CARGO_TARGET_DIR:-$PWD/target}"
readonly IRONBARK="${IRONBARK_BIN:-$TARGET/release/ironbark}"
mkdir -p target
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mapfile -t results < <(scripts/bench/results.py unpack "$folder")
"$IRONBARK" load report "${results[@]}" --limit bare --title 'Ironbark beside slapd' -o target/benchmarks.html
printf 'target/benchmarks.html\n'
