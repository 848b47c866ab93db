# Part memory: random reads by 16 clients, the server in a control group whose memory is a quarter of the smaller database; sourced by
# bench-slapd.sh. Needs root: control groups of version 1 are made beneath our own, those of version 2 by systemd.

MEMORY_SETS="${MEMORY_SETS:-ycsb zimbra}"
GROUP="/sys/fs/cgroup/memory$(sed -n 's/^[0-9]*:memory://p' /proc/self/cgroup)/ironbark-bench"

# start_limited NAME OCTETS: the server; all that it reads is charged to the group, since no page of its files is in memory.
start_limited() {
  find "$FOLDER/$1" -name data.mdb -exec sync {} \; -exec dd if={} iflag=nocache count=0 status=none \;
  if [ -d /sys/fs/cgroup/memory ]; then
    mkdir -p "$GROUP"
    echo "$2" >"$GROUP/memory.limit_in_bytes"
    # shellcheck disable=SC2016 # slapd's memory grows with the number of files that it may open.
    start "$1" sh -c 'echo $$ >"$0/cgroup.procs" && ulimit -n 1024 && exec "$@"' "$GROUP"
  else
    # shellcheck disable=SC2016
    start "$1" systemd-run --quiet --scope -p "MemoryMax=$2" -p MemorySwapMax=0 sh -c 'ulimit -n 1024 && exec "$@"' sh
  fi
}

unlimit() { [ ! -d "$GROUP" ] || rmdir "$GROUP"; }

# read_at_random NAME SET OCTETS FLAGS: all entries are asked for alike; rate and p99 in NAME/reads-SET-FLAGS.
read_at_random() {
  local arguments=(telco search --data ycsb)
  [ "$2" != zimbra ] || arguments=(search)
  start_limited "$1" "$3" &&
    measure memory "$1" "$2" "${arguments[@]}" -c 16 --sample "$ACCOUNTS" --warm-up "$SECONDS_EACH" \
      --variant "in $(($3 >> 20)) MiB${4:+, $4}" && kill -0 "${PIDS[$1]}" || {
    echo "part memory: $3 octets are too few for $1 itself; more ACCOUNTS make the limit higher" >&2
    return 1
  }
  stop "$1"
  echo "$(figure rate "$RESULT") $(p99_ms "$RESULT")" >>"$FOLDER/$1/reads-$2-$4"
}

# reads NAME SET FLAGS COLUMN: the median.
reads() { field "$FOLDER/$1/reads-$2-$3" "$4" | median; }

part_memory() {
  local set flags round name limit s="$FOLDER/slapd" i="$FOLDER/ironbark" own="$ENVFLAGS"
  [ "$(stat -f -c %T "$FOLDER")" != tmpfs ] || { echo "part memory: $FOLDER must lie on a disk" >&2 && return 1; }
  rm -rf "$FOLDER/results/memory" "$FOLDER"/*/reads-*
  # shellcheck disable=SC2086
  prepare $MEMORY_SETS
  choose_threads
  : >"$FOLDER/memory"
  for set in $MEMORY_SETS; do
    limit=$(sort -g "$s/size-$set" "$i/size-$set" | awk 'NR == 1 { print $1 * 1024 / 4 }')
    row "$set: \`data.mdb\`, KB; each server has $((limit >> 20)) MiB" "$(cat "$s/size-$set")" "$(cat "$i/size-$set")" >>"$FOLDER/memory"
    for flags in '' nordahead; do
      ENVFLAGS="$own${flags:+ $flags}"
      for name in slapd ironbark; do configure $name; done
      for ((round = 0; round < ROUNDS; round++)); do
        for name in slapd ironbark; do read_at_random $name "$set" "$limit" "$flags"; done
      done
      row "$set${flags:+, $flags}: reads a second" "$(reads slapd "$set" "$flags" 1)" "$(reads ironbark "$set" "$flags" 1)" \
        "$(paste "$s/reads-$set-$flags" "$i/reads-$set-$flags" | awk '$1 > 0 { print $3 / $1 }' | median)" >>"$FOLDER/memory"
      row "$set${flags:+, $flags}: p99, ms" "$(reads slapd "$set" "$flags" 2)" "$(reads ironbark "$set" "$flags" 2)" >>"$FOLDER/memory"
    done
  done
  ENVFLAGS="$own"
  for name in slapd ironbark; do configure $name; done
  unlimit
  {
    printf '| random reads, 16 clients | slapd | ironbark | ratio |\n|---|---|---|---|\n'
    cat "$FOLDER/memory"
  } | replace memory
}
