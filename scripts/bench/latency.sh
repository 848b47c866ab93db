# Part latency: p99 of searches at a fixed rate, alone, and beside whole-database searches and adds; sourced by bench-slapd.sh.

SEARCH_RATE="${SEARCH_RATE:-5000}"

# measure_latency NAME VARIANT: p99 in milliseconds, appended to NAME/p99-VARIANT.
measure_latency() {
  # On the same core as other load generators: it must not wait for them.
  FIRST=yes measure latency "$1" zimbra search -c 16 --rate "$SEARCH_RATE" --variant "$SEARCH_RATE/s, $2"
  p99_ms "$RESULT" >>"$FOLDER/$1/p99-$2"
}

# beside NAME: the same while others search the whole database and add entries to another one. Their load generators, on the same
# core as that of the searches, come behind it.
beside() {
  local others=() length=$((SECONDS_EACH + 4))
  NICE=19 SECONDS_EACH=$length ask "$1" zimbra scan -c 2 >"$FOLDER/scan.log" 2>&1 &
  others+=($!)
  NICE=19 SECONDS_EACH=$length ask "$1" telco telco add -c 4 >"$FOLDER/add.log" 2>&1 &
  others+=($!)
  measure_latency "$1" beside
  wait "${others[@]}" || tail "$FOLDER/scan.log" "$FOLDER/add.log" >&2
  # What the others got meanwhile: of a server that lets them starve, searches do not suffer.
  awk '$1 == 2 && $2 == 1 { print $3 }' "$FOLDER/scan.log" | tr -d , >>"$FOLDER/$1/scanned-beside"
  awk '$1 == 4 && $2 == 1 { print $3 }' "$FOLDER/add.log" | tr -d , >>"$FOLDER/$1/added-beside"
}

part_latency() {
  local round name s="$FOLDER/slapd" i="$FOLDER/ironbark"
  rm -rf "$FOLDER/results/latency" "$FOLDER"/*/p99-* "$FOLDER"/*/*-beside
  prepare zimbra telco
  choose_threads
  start slapd
  start ironbark
  for ((round = 0; round < ROUNDS; round++)); do
    for name in slapd ironbark; do
      measure_latency $name alone
      beside $name
      paste "$FOLDER/$name/p99-alone" "$FOLDER/$name/p99-beside" | awk '{ print $2 / $1 }' >"$FOLDER/$name/p99-ratio"
    done
  done
  stop slapd
  stop ironbark
  {
    printf '| p99 of %s searches a second, 16 clients | slapd | ironbark | ratio |\n|---|---|---|---|\n' "$SEARCH_RATE"
    row 'alone, ms' "$(median <"$s/p99-alone")" "$(median <"$i/p99-alone")"
    row 'beside 2 whole-database searches and adds by 4 clients, ms' "$(median <"$s/p99-beside")" "$(median <"$i/p99-beside")"
    row 'how many times as long' "$(median <"$s/p99-ratio")" "$(median <"$i/p99-ratio")"
    row 'entries a second of the whole-database searches' "$(median <"$s/scanned-beside")" "$(median <"$i/scanned-beside")"
    row 'adds a second' "$(median <"$s/added-beside")" "$(median <"$i/added-beside")"
  } | replace latency
}
