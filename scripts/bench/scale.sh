# Part scale: load and searches by number of accounts, showing whether the one is linear and the other flat; sourced by bench-slapd.sh.

SCALE="${SCALE:-1000 100000 1000000 5000000}" SCALE_SERVERS="${SCALE_SERVERS:-ironbark}"

# scale_row NAME LDIF: loads $ACCOUNTS accounts from the LDIF and searches them; told is a row of the table.
scale_row() {
  local data="$FOLDER/$1" shape rates=()
  load_offline "$1" zimbra "$2"
  start "$1"
  for shape in '-c 64' '-c 16 -k 16'; do
    # shellcheck disable=SC2086
    measure scale "$1" zimbra search $shape --sample "$ACCOUNTS" --variant "$ACCOUNTS accounts" >&2
    rates+=("$(figure rate_per_cpu_second "$RESULT")")
  done
  stop "$1"
  awk -v name="$1" -v n="$ACCOUNTS" -v kb="$(cat "$data/size-zimbra")" -v one="${rates[0]}" -v many="${rates[1]}" '{
    printf "| %d | %s | %.1f | %.1f | %.0f | %.0f | %.0f | %.0f | %.0f |\n", n, name, $1, $1 / n * 1e6, $4 / 1024, kb / 1024, kb * 1024 / n, one, many
  }' "$data/load-zimbra"
}

part_scale() {
  local ACCOUNTS ldif name
  rm -rf "$FOLDER/results/scale"
  : >"$FOLDER/scale"
  [[ " $SCALE_SERVERS " != *" slapd "* ]] || choose_threads
  for ACCOUNTS in $SCALE; do
    ldif=$(generate zimbra)
    for name in $SCALE_SERVERS; do
      scale_row "$name" "$ldif" >>"$FOLDER/scale"
      empty "$name" zimbra
    done
    rm "$ldif"
  done
  ACCOUNTS=
  {
    printf '| accounts | | load, s | us each | peak MB | data.mdb, MB | octets each | searches for each CPU second, 64 x 1 | 16 x 16 |\n'
    printf '|---|---|---|---|---|---|---|---|---|\n'
    cat "$FOLDER/scale"
  } | replace scale
}
