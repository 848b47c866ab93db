# Part log: searches without a log and with slapd's usual one (`-d stats` into a file), the server's processor time for each; sourced by
# bench-slapd.sh.

# Rows of the table: connections, searches in flight on each.
LOGGED=('64 x 1' '16 x 16')

# measure_logged NAME LEVEL ROW: processor us of a search in NAME/log-LEVEL-ROW.
measure_logged() {
  measure log "$1" zimbra search -c "${3% x *}" -k "${3#* x }" --variant "level $2"
  figure cpu_us_per_operation "$RESULT" >>"$FOLDER/$1/log-$2-${3// /}"
}

part_log() {
  local round name level kind
  rm -rf "$FOLDER/results/log" "$FOLDER"/*/log-*
  prepare zimbra
  choose_threads
  for ((round = 0; round < ROUNDS; round++)); do
    for level in none stats; do
      for name in slapd ironbark; do DEBUG=${level/none/0} start $name; done
      for kind in "${LOGGED[@]}"; do
        for name in slapd ironbark; do measure_logged $name $level "$kind"; done
      done
      for name in slapd ironbark; do stop $name; done
    done
  done
  {
    printf '| searches | slapd, CPU us each | ironbark, CPU us each | ratio |\n|---|---|---|---|\n'
    for kind in "${LOGGED[@]}"; do
      for level in none stats; do
        row "$kind, log: $level" "$(median <"$FOLDER/slapd/log-$level-${kind// /}")" "$(median <"$FOLDER/ironbark/log-$level-${kind// /}")"
      done
    done
  } | replace log
}
