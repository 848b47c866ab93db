#!/usr/bin/env bash
# YCSB A, B, C and 80/20 on three servers of Ironbark in a cluster, and on three of Cassandra: the same load generator, the same
# machine, one after the other. Writes the tables into FOLDER/tables.md and between the marks <!-- ycsb --> of docs/benchmarks.md.
#
#   ycsb.sh [COLUMN...]   ironbark ironbark-latest cassandra-quorum cassandra-quorum-periodic cassandra-one-periodic  (all)
#
# YCSB, Cassandra and the clients come from Maven's own repository, in the versions of ycsb/*/pom.xml. Environment:
#   RECORDS       records of ten fields of 100 octets                               (100000)
#   WORKLOADS     a b c 80-20                                                       (all)
#   THREADS       numbers of threads of YCSB                                        (16 64)
#   SECONDS_EACH  seconds of each measurement                                       (20)
#   WARM_UP       seconds of workload A before the first measurement of a column    (20)
#   CASSANDRA_HEAP  of each server                                                  (1g)
#   IRONBARK_BIN  the program; otherwise the release is built
#   BENCH_FOLDER  where all lies, about 4 GB; on a disk                             (./bench)
#   PORT          first of 40 ports on 127.0.0.1, .2 and .3                         (19100)
set -euo pipefail
cd "$(dirname "$0")/../.."

RECORDS="${RECORDS:-100000}" WORKLOADS="${WORKLOADS:-a b c 80-20}" THREADS="${THREADS:-16 64}"
SECONDS_EACH="${SECONDS_EACH:-20}" WARM_UP="${WARM_UP:-20}" PORT="${PORT:-19100}"
COLUMNS_WANTED=("$@")
[ "$#" != 0 ] || COLUMNS_WANTED=(ironbark ironbark-latest cassandra-quorum cassandra-quorum-periodic cassandra-one-periodic)
FOLDER="$(realpath -m "${BENCH_FOLDER:-$PWD/bench}")/ycsb"
IRONBARK="${IRONBARK_BIN:-${CARGO_TARGET_DIR:-$PWD/target}/release/ironbark}"
readonly RECORDS WORKLOADS THREADS SECONDS_EACH WARM_UP PORT FOLDER IRONBARK
declare -A PIDS=()

die() { echo "ycsb: $*" >&2 && exit 1; }
say() { printf '%s  %s\n' "$(date +%T)" "$*" >&2; }
is_open() { (: <"/dev/tcp/$1/$2") 2>/dev/null; }

# shellcheck source=/dev/null
. scripts/bench/ycsb/ironbark.sh
# shellcheck source=/dev/null
. scripts/bench/ycsb/cassandra.sh

# wait_for NAME COMMAND...: until the command succeeds; an error if the process ends before, or it takes three minutes.
wait_for() {
  local begin=$SECONDS
  until "${@:2}" >/dev/null 2>&1; do
    kill -0 "${PIDS[$1]}" 2>/dev/null || { tail -n 20 "$FOLDER/$1.log" >&2 && die "$1 has ended"; }
    [ $((SECONDS - begin)) -lt 180 ] || die "$1 is not there after 180 seconds; see $FOLDER/$1.log"
    read -rt 0.2 <> <(:) || :
  done
}

# stop: all servers.
stop() {
  local name
  for name in "${!PIDS[@]}"; do kill "${PIDS[$name]}" 2>/dev/null || :; done
  for name in "${!PIDS[@]}"; do wait "${PIDS[$name]}" 2>/dev/null || :; done
  PIDS=()
}
trap stop EXIT

check_tools() {
  local tool version
  for tool in java javac mvn etcd python3; do
    command -v "$tool" >/dev/null || die "$tool is missing: scripts/deps.sh ycsb installs it"
  done
  version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
  [ "$version" = 17 ] || [ "$version" = 11 ] || die "Cassandra 5.0 runs on Java 11 and 17, and this is Java $version"
  for tool in 127.0.0.1 127.0.0.2 127.0.0.3; do
    ! is_open "$tool" "$PORT" || die "$tool:$PORT is taken; PORT sets another"
  done
  [ ! -e "$FOLDER" ] || [ -e "$FOLDER/server.cp" ] || die "$FOLDER is not of this script"
  mkdir -p "$FOLDER"
  [ "$(stat -f -c %T "$FOLDER")" != tmpfs ] || die "$FOLDER must lie on a disk"
}

# prepare: fetches what the two lists of dependencies name, and compiles the bindings.
prepare() {
  local list
  rm -rf "$FOLDER" && mkdir -p "$FOLDER/classes" "$FOLDER/results"
  for list in cassandra:server client:client; do
    mvn --quiet --batch-mode -Dstyle.color=never --file "scripts/bench/ycsb/${list%:*}/pom.xml" \
      org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath "-Dmdep.outputFile=$FOLDER/${list#*:}.cp" >&2
  done
  javac -Xlint:all -Werror -cp "$(cat "$FOLDER/client.cp")" -d "$FOLDER/classes" scripts/bench/ycsb/client/*.java
}

# shares WORKLOAD: of reads and updates.
shares() {
  case $1 in
    a) echo 0.5 0.5 ;;
    b) echo 0.95 0.05 ;;
    c) echo 1 0 ;;
    80-20) echo 0.8 0.2 ;;
    *) die "no workload $1" ;;
  esac
}

# ycsb FILE -load|-t THREADS ARGUMENT...: YCSB's client; its answer is in FILE.
ycsb() {
  java -Xms1g -Xmx1g -cp "$FOLDER/classes:$(cat "$FOLDER/client.cp")" site.ycsb.Client "$2" -threads "$3" \
    -p workload=site.ycsb.workloads.CoreWorkload -p "recordcount=$RECORDS" -p hdrhistogram.percentiles=50,95,99 \
    "${client[@]}" "${@:4}" >"$1" 2>"$1.err" || { tail -n 20 "$1" "$1.err" >&2 && die "YCSB failed: $1"; }
}

# run FILE WORKLOAD THREADS SECONDS
run() {
  local reads updates
  read -r reads updates < <(shares "$2")
  ycsb "$1" -t "$3" -p "readproportion=$reads" -p "updateproportion=$updates" -p scanproportion=0 -p insertproportion=0 \
    -p requestdistribution=zipfian -p operationcount=1000000000 -p "maxexecutiontime=$4"
}

# load_records STORE: every record once, by 64 threads.
load_records() {
  ycsb "$FOLDER/results/$1.load" -load 64 "${@:2}"
  python3 scripts/bench/ycsb/table.py check "$FOLDER/results/$1.load" INSERT "$RECORDS" || die "records are missing"
  say "$1: $(grep -m 1 Throughput "$FOLDER/results/$1.load")"
}

# measure COLUMN: all workloads. Memory of the servers before and behind them is in results.
measure() {
  local workload threads
  say "$1: warm-up"
  run "$FOLDER/results/$1.warm-up" a 16 "$WARM_UP"
  for threads in $THREADS; do
    for workload in $WORKLOADS; do
      run "$FOLDER/results/$1.$workload.$threads" "$workload" "$threads" "$SECONDS_EACH"
      say "$1, $workload, $threads threads: $(grep -m 1 Throughput "$FOLDER/results/$1.$workload.$threads")"
    done
  done
  memory >"$FOLDER/results/$1.memory"
}

# memory: name, resident and anonymous kilobytes of each server.
memory() {
  local name
  for name in "${!PIDS[@]}"; do
    awk -v name="$name" '$1 == "VmRSS:" { all = $2 } $1 == "RssAnon:" { own = $2 } END { print name, all, own }' \
      "/proc/${PIDS[$name]}/status"
  done | sort
}

# disk FOLDER...: name and kilobytes of each.
disk() { (cd "$FOLDER" && du -sk "$@" | awk '{ print $2, $1 }'); }

wants() { [[ " ${COLUMNS_WANTED[*]} " == *" $1 "* ]]; }

bench_ironbark() {
  local client
  wants ironbark || wants ironbark-latest || return 0
  ironbark_start
  mapfile -t client < <(ironbark_client false)
  load_records ironbark -p ldap.create=true
  ironbark_settled
  disk ironbark{1,2,3}/db etcd{1,2,3} >"$FOLDER/results/ironbark.disk"
  ! wants ironbark || measure ironbark
  mapfile -t client < <(ironbark_client true)
  ! wants ironbark-latest || measure ironbark-latest
  ironbark_settled
  disk ironbark{1,2,3}/db etcd{1,2,3} >"$FOLDER/results/ironbark.disk-end"
  stop
  rm -rf "$FOLDER"/ironbark?/db "$FOLDER"/etcd?
}

# bench_cassandra STORE SYNC COLUMN...: columns with the same servers; the last word of a column's name but one is its consistency.
bench_cassandra() {
  local client column number wanted=()
  for column in "${@:3}"; do ! wants "$column" || wanted+=("$column"); done
  [ "${#wanted[@]}" != 0 ] || return 0
  cassandra_start "$2"
  mapfile -t client < <(cassandra_client QUORUM)
  load_records "$1" -p cassandra.create=true
  for number in 1 2 3; do nodetool "$number" flush ycsb; done
  disk cassandra{1,2,3}/{data,commitlog} >"$FOLDER/results/$1.disk"
  for column in "${wanted[@]}"; do
    case $column in *-one*) column_level=ONE ;; *) column_level=QUORUM ;; esac
    mapfile -t client < <(cassandra_client "$column_level")
    measure "$column"
  done
  disk cassandra{1,2,3}/{data,commitlog} >"$FOLDER/results/$1.disk-end"
  stop
  rm -rf "$FOLDER"/cassandra?/{data,commitlog,hints}
}

for workload in $WORKLOADS; do shares "$workload" >/dev/null; done
for column in "${COLUMNS_WANTED[@]}"; do
  case $column in
    ironbark | ironbark-latest | cassandra-quorum | cassandra-quorum-periodic | cassandra-one-periodic) ;;
    *) die "no column $column" ;;
  esac
done
check_tools
[ -n "${IRONBARK_BIN:-}" ] || "${CARGO:-cargo}" build --release --locked --package ironbark-admin --bin ironbark
prepare
bench_ironbark
bench_cassandra cassandra batch cassandra-quorum
bench_cassandra cassandra-periodic periodic cassandra-quorum-periodic cassandra-one-periodic
python3 scripts/bench/ycsb/table.py tables "$FOLDER/results" >"$FOLDER/tables.md"
cat "$FOLDER/tables.md"
