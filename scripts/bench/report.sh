# Figures and tables; sourced by bench-slapd.sh.

# conditions: what a table was measured with.
conditions() {
  printf '%s%s; %s processors; %s; slapd %s%s; ironbark %s; envflags %s; rounds %s of %s s\n\n' "${ACCOUNTS:+$ACCOUNTS mail accounts; }" \
    "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)" "$(nproc)" "$(date -u +%F)" "$(dpkg-query -W -f '${Version}' slapd)" \
    "${THREADS:+, $THREADS threads}" "$(git rev-parse --short HEAD)" "${ENVFLAGS:-none}" "$ROUNDS" "$SECONDS_EACH"
}

# measure PART NAME SET ARGUMENTS...: runs `ironbark load`; RESULT is its file. Files are in the order of measurement.
measure() {
  mkdir -p "$FOLDER/results/$1"
  RESULT="$FOLDER/results/$1/$((NUMBER += 1))-$2.json"
  # A measurement with other answers than expected is kept, and shown as such on the page.
  ask "$2" "${@:3}" -o "$RESULT" || [ -s "$RESULT" ]
}
NUMBER=10000

# figure NAME RESULT: a figure of the first measurement, all operations together.
figure() { sed -n "s/^ \{6,8\}\"$1\": \([0-9.e]*\),\{0,1\}$/\1/p" "$2" | head -1; }

# p99_ms RESULT
p99_ms() { awk -v us="$(figure p99 "$1")" 'BEGIN { print us / 1000 }'; }

# median: the middle one of the numbers on stdin; of an even number, the lower of the two.
median() { sort -g | awk '{ value[NR] = $1 } END { print value[int((NR + 1) / 2)] }'; }

# field FILE COLUMN
field() { awk -v column="$2" '{ print $column }' "$1"; }

# short NUMBER: three digits, and all of those before the point.
short() { awk -v n="$1" 'BEGIN { printf n < 1000 ? "%.3g" : "%.0f", n }'; }

# row NAME SLAPD IRONBARK [FORMULA]: a row of a table, with a ratio: slapd's figure `a` by Ironbark's `b`, or what the formula says.
row() { printf '| %s | %s | %s | %s |\n' "$1" "$(short "$2")" "$(short "$3")" "$(awk -v a="$2" -v b="$3" "BEGIN { printf \"%.2f\", ${4:-a / b} }")"; }

# replace MARK: puts stdin between <!-- MARK --> and <!-- /MARK --> of docs/benchmarks.md, and shows it.
replace() {
  local table
  table=$(conditions && cat)
  grep -q "^<!-- $1 -->$" docs/benchmarks.md
  TABLE="$table" awk -v mark="$1" '
    $0 == "<!-- /" mark " -->" { inside = 0 }
    !inside { print }
    $0 == "<!-- " mark " -->" { inside = 1; print "\n" ENVIRON["TABLE"] "\n" }' docs/benchmarks.md >"$FOLDER/benchmarks.md"
  cp "$FOLDER/benchmarks.md" docs/benchmarks.md
  printf '\n%s\n\n' "$table"
}
