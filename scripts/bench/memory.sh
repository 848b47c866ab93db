# Part memory: random reads by 16 clients, the server in a control group whose memory is a quarter of the smaller database; sourced by
# bench-slapd.sh. Needs root: control groups of version 1 are made beneath our own, those of version 2 by systemd.

MEMORY_SETS="${MEMORY_SETS:-ycsb zimbra}"
GROUP="/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/ironbark-bench"

# start_limited NAME OCTETS: the server; all that it reads is charged to the group, since no page of its files is in memory.
start_limited() {
  sync
  find "$FOLDER/$1" -name data.mdb -exec dd if={} iflag=nocache count=0 status=none \;
  if [ -d /sys/fs/cgroup/memory ]; then
    mkdir -p "$GROUP"
    echo "$2" >"$GROUP/memory.limit_in_bytes"
    # shellcheck disable=SC2016
    start "$1" sh -c 'echo $$ >"$0/cgroup.procs" && exec "$@"' "$GROUP"
  else
    start "$1" systemd-run --quiet --scope -p "MemoryMax=$2" -p MemorySwapMax=0
  fi
}

unlimit() { [ ! -d "$GROUP" ] || rmdir "$GROUP"; }

# read_at_random NAME SET LIMIT: all entries are asked for alike.
read_at_random() {
  local arguments=(telco search --data ycsb)
  [ "$2" != zimbra ] || arguments=(search)
  measure memory "$1" "$2" "${arguments[@]}" -c 16 --sample "$ACCOUNTS" --warm-up "$SECONDS_EACH" --variant "in $(($3 >> 20)) MiB"
}

part_memory() {
  local set round name limit s="$FOLDER/slapd" i="$FOLDER/ironbark"
  [ "$(stat -f -c %T "$FOLDER")" != tmpfs ] || { echo "part memory: $FOLDER must lie on a disk" >&2 && return 1; }
  rm -rf "$FOLDER/results/memory" "$FOLDER"/*/reads-*
  # shellcheck disable=SC2086
  prepare $MEMORY_SETS
  choose_threads
  for set in $MEMORY_SETS; do
    limit=$(sort -g "$s/size-$set" "$i/size-$set" | awk 'NR == 1 { print $1 * 1024 / 4 }')
    echo "$limit" >"$FOLDER/limit-$set"
    for ((round = 0; round < ROUNDS; round++)); do
      for name in slapd ironbark; do
        start_limited $name "$limit"
        read_at_random $name "$set" "$limit"
        stop $name
        figure rate "$RESULT" >>"$FOLDER/$name/reads-$set-rate"
        p99_ms "$RESULT" >>"$FOLDER/$name/reads-$set-p99"
      done
      paste "$s/reads-$set-rate" "$i/reads-$set-rate" | awk '$1 > 0 { print $2 / $1 }' >"$FOLDER/reads-$set-ratio"
    done
  done
  unlimit
  {
    printf '| | slapd | ironbark | ratio |\n|---|---|---|---|\n'
    for set in $MEMORY_SETS; do
      row "$set: \`data.mdb\`, KB; both servers have $(($(cat "$FOLDER/limit-$set") >> 20)) MiB" "$(cat "$s/size-$set")" "$(cat "$i/size-$set")"
      row "$set: reads a second, 16 clients" "$(median "$s/reads-$set-rate")" "$(median "$i/reads-$set-rate")" \
        "$(median "$FOLDER/reads-$set-ratio")"
      row "$set: p99, ms" "$(median "$s/reads-$set-p99")" "$(median "$i/reads-$set-p99")"
    done
  } | replace memory
}
