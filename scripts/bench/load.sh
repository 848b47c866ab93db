# Part load: the workloads of `ironbark load`, in turns; sourced by bench-slapd.sh.

WORKLOADS="${WORKLOADS:-search search-pipelined compare bind-plain bind-ssha modify add modify-durable scan messaging addressing mixed substring range and or ycsb-a ycsb-80-20 groups groups-largest}"

# words WORKLOAD: data set, and the arguments of `ironbark load`.
words() {
  case $1 in
    search) echo 'zimbra search -c 64' ;;
    search-pipelined) echo 'zimbra search -c 16 -k 16' ;;
    compare) echo 'telco telco compare -c 16 -k 16' ;;
    # slapd answers the first of several binds that a client sends at once, and no other (RFC 4511 §4.2.1): clients instead of a pipeline.
    bind-plain) echo 'telco telco bind-admin -c 64,256' ;;
    bind-ssha) echo 'zimbra telco bind --data zimbra -c 64,256' ;;
    modify) echo 'telco telco modify -c 16' ;;
    add) echo 'telco telco add -c 16' ;;
    modify-durable) echo 'telco-durable telco modify -c 1,16,64 --variant durable' ;;
    scan) echo 'zimbra scan -c 1,8' ;;
    messaging) echo 'directorymark directorymark messaging' ;;
    # 11: more candidates than the look-through limit.
    addressing) echo 'directorymark directorymark addressing --allow 11' ;;
    mixed) echo 'directorymark directorymark mixed' ;;
    substring) echo 'zimbra filters --mix substring --size-limit 200' ;;
    # A day of lastLocationUpdate, which only this set has an index for.
    range) echo 'telco-durable filters --data telco --mix range -c 1' ;;
    and) echo 'zimbra filters --mix and -c 16 -k 16' ;;
    or) echo 'zimbra filters --mix or-1000 -c 4' ;;
    ycsb-*) echo "ycsb ycsb ${1#ycsb-}" ;;
    groups) echo 'groups groups' ;;
    groups-largest) echo "groups groups --smallest $GROUP_MEMBERS --variant $GROUP_MEMBERS" ;;
    *) echo "$0: no workload $1" >&2 && return 1 ;;
  esac
}

# measure_workload NAME WORKLOAD
measure_workload() {
  local set arguments IDENTITY=
  read -r set arguments <<<"$(words "$2")"
  # As DirectoryMark's clients, who have its limits.
  case $2 in messaging | addressing) IDENTITY=anonymous ;; esac
  # shellcheck disable=SC2086
  measure load "$1" "$set" $arguments
}

# measure_limit WORKLOAD: the same socket code, and nothing behind it. It needs Ironbark's databases for itself.
measure_limit() {
  stop ironbark
  start bare
  measure_workload bare "$1"
  stop bare
  start ironbark
}

part_load() {
  local round workload name
  rm -rf "$FOLDER/results/load"
  for workload in $WORKLOADS; do prepare "$(words "$workload" | cut -d ' ' -f 1)"; done
  choose_threads
  start slapd
  start ironbark
  for ((round = 0; round < ROUNDS; round++)); do
    for workload in $WORKLOADS; do
      for name in slapd ironbark; do measure_workload $name "$workload"; done
      case $workload in search | search-pipelined) measure_limit "$workload" ;; esac
    done
  done
  stop slapd
  stop ironbark
  replace load-conditions </dev/null
  "$IRONBARK" load report "$FOLDER"/results/load/*.json --limit bare -o "$FOLDER/results/load.html" \
    --markdown docs/benchmarks.md
  sed -n '/<!-- load -->/,/<!-- \/load -->/p' docs/benchmarks.md
}
for workload in $WORKLOADS; do words "$workload" >/dev/null; done
