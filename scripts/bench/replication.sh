# Part replication: lag, rates, refreshes, absences, delta synchronization and the cost of consumers; sourced by bench-slapd.sh.

FIGURES="${FIGURES:-lag rate delta consumers refresh missed wire accounts}" LAG_RATES="${LAG_RATES:-500 1000}" REFRESH_SETS="${REFRESH_SETS:-telco zimbra}"
SLOW_ROUNDS="${SLOW_ROUNDS:-1}" MISSED="${MISSED:-1000 100000}"

part_replication() {
  local set THREADS=16 ENVFLAGS="${REPLICATION_ENVFLAGS:-}"
  for set in telco zimbra $REFRESH_SETS; do
    [ -e "$FOLDER/$set.ldif" ] || generate "$set" >/dev/null
  done
  # shellcheck disable=SC2086
  env FOLDER="$FOLDER" IRONBARK="$IRONBARK" PORT="$((PORT + 3))" ACCOUNTS="$ACCOUNTS" ROUNDS="$ROUNDS" SLOW_ROUNDS="$SLOW_ROUNDS" \
    SECONDS_EACH="$SECONDS_EACH" ENVFLAGS="$ENVFLAGS" LAG_RATES="$LAG_RATES" REFRESH_SETS="$REFRESH_SETS" MISSED="$MISSED" \
    python3 scripts/bench/replication.py $FIGURES >"$FOLDER/replication"
  replace replication <"$FOLDER/replication"
  rm -rf "$FOLDER"/*/replication "$FOLDER"/*.ldif
}
