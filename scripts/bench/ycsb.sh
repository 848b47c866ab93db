#!/usr/bin/env bash
# YCSB A, B, C and 80/20 on three servers of Ironbark in a cluster, and on three of Cassandra: the same load generator, the same
# machine, one after the other. Writes the tables between the marks <!-- ycsb --> of docs/benchmarks.md.
#
#   ycsb.sh [COLUMN...]   some of those below; without, all but ironbark-one and cassandra-quorum-periodic
#
#   ironbark                   thread i of YCSB at server i mod 3; reads from the server's own copy
#   ironbark-latest            the same, with reads that see every acknowledged write (don't use copy)
#   ironbark-one               all threads at one server, and reads from its copy
#   cassandra-quorum           QUORUM for reads and writes, which are on the disk before they are acknowledged
#   cassandra-quorum-periodic  the same, and the disk has writes up to ten seconds later (Cassandra's default)
#   cassandra-one-periodic     that with ONE for both
#
# YCSB, Cassandra and the clients come from Maven's own repository, in the versions of ycsb/*/pom.xml. Environment:
#   RECORDS       records of ten fields of 100 octets                               (100000)
#   WORKLOADS     a b c 80-20                                                       (all)
#   THREADS       numbers of threads of YCSB                                        (16 64)
#   SECONDS_EACH  seconds of each measurement                                       (20)
#   WARM_UP       seconds of workload A, 64 threads, before the first measurement of servers; a sixth before the next column (60)
#   CASSANDRA_HEAP  of each server                                                  (1g)
#   IRONBARK_BIN  the program; otherwise the release is built
#   BENCH_FOLDER  where all lies, about 4 GB; on a disk                             (./bench)
#   PORT          first of 40 ports on 127.0.0.1, .2 and .3                         (19100)
set -euo pipefail
cd "$(dirname "$0")/../.."

RECORDS="${RECORDS:-100000}" WORKLOADS="${WORKLOADS:-a b c 80-20}" THREADS="${THREADS:-16 64}"
SECONDS_EACH="${SECONDS_EACH:-20}" WARM_UP="${WARM_UP:-60}" PORT="${PORT:-19100}"
COLUMNS_WANTED=("$@")
[ "$#" != 0 ] || COLUMNS_WANTED=(ironbark ironbark-latest cassandra-quorum cassandra-one-periodic)
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
trap 'exit 1' INT TERM

check_tools() {
  local tool version
  for tool in java javac mvn etcd curl git python3; do
    command -v "$tool" >/dev/null || die "$tool is missing: scripts/deps.sh ycsb installs it"
  done
  version=$(java -version 2>&1 | sed -n 's/.* version "\([0-9]*\).*/\1/p')
  [ "$version" = 17 ] || [ "$version" = 11 ] || die "Cassandra 5.0 runs on Java 11 and 17, and this is Java $version"
  for tool in 127.0.0.1 127.0.0.2 127.0.0.3; do
    ! is_open "$tool" "$PORT" || die "$tool:$PORT is taken; PORT sets another"
  done
  [ ! -e "$FOLDER" ] || [ -e "$FOLDER/server.cp" ] || die "$FOLDER is not of this script"
  mkdir -p "$FOLDER" && : >>"$FOLDER/server.cp"
  [ "$(stat -f -c %T "$FOLDER")" != tmpfs ] || die "$FOLDER must lie on a disk"
}

# prepare: fetches what the two lists of dependencies name, and compiles the bindings.
prepare() {
  local list
  rm -rf "${FOLDER:?}"/* && mkdir "$FOLDER/classes" "$FOLDER/results"
  for list in cassandra:server client:client; do
    mvn --batch-mode --no-transfer-progress --file "scripts/bench/ycsb/${list%:*}/pom.xml" \
      org.apache.maven.plugins:maven-dependency-plugin:3.6.1:build-classpath "-Dmdep.outputFile=$FOLDER/${list#*:}.cp" \
      >"$FOLDER/mvn.log" 2>&1 || { tail -n 20 "$FOLDER/mvn.log" >&2 && die 'Maven failed'; }
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

# timed_run FILE ...: as run; FILE.cpu is the processor time of the servers, in seconds.
timed_run() {
  local before
  before=$(processor_ticks)
  run "$@"
  awk -v before="$before" -v after="$(processor_ticks)" -v hz="$(getconf CLK_TCK)" 'BEGIN { print (after - before) / hz }' >"$1.cpu"
}

# processor_ticks: of all servers.
processor_ticks() {
  local name
  for name in "${!PIDS[@]}"; do sed 's/.*) //' "/proc/${PIDS[$name]}/stat"; done | awk '{ sum += $12 + $13 } END { print sum }'
}

# measure COLUMN STORE: all workloads, and the memory of the servers behind them.
measure() {
  local workload threads seconds=$WARM_UP
  [ ! -e "$FOLDER/results/$2.memory" ] || seconds=$(((WARM_UP + 5) / 6))
  run "$FOLDER/results/$1.warm-up" a 64 "$seconds"
  say "$1, warm-up: $(grep -m 1 Throughput "$FOLDER/results/$1.warm-up")"
  for threads in $THREADS; do
    for workload in $WORKLOADS; do
      timed_run "$FOLDER/results/$1.$workload.$threads" "$workload" "$threads" "$SECONDS_EACH"
      say "$1, $workload, $threads threads: $(grep -m 1 Throughput "$FOLDER/results/$1.$workload.$threads")"
    done
  done
  memory >"$FOLDER/results/$2.memory"
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
  local client column wanted=()
  for column in ironbark ironbark-latest ironbark-one; do ! wants "$column" || wanted+=("$column"); done
  [ "${#wanted[@]}" != 0 ] || return 0
  ironbark_start
  mapfile -t client < <(ironbark_client ironbark)
  load_records ironbark -p ldap.create=true
  ironbark_settled
  disk ironbark{1,2,3}/db etcd{1,2,3} >"$FOLDER/results/ironbark.disk"
  for column in "${wanted[@]}"; do
    mapfile -t client < <(ironbark_client "$column")
    measure "$column" ironbark
  done
  ironbark_settled
  disk ironbark{1,2,3}/db etcd{1,2,3} >"$FOLDER/results/ironbark.disk-end"
  stop
  rm -rf "$FOLDER"/ironbark?/db "$FOLDER"/etcd?
}

# bench_cassandra STORE SYNC COLUMN...: columns of the same servers.
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
    case $column in *-one*) mapfile -t client < <(cassandra_client ONE) ;; *) mapfile -t client < <(cassandra_client QUORUM) ;; esac
    measure "$column" "$1"
  done
  disk cassandra{1,2,3}/{data,commitlog} >"$FOLDER/results/$1.disk-end"
  stop
  rm -rf "$FOLDER"/cassandra?/{data,commitlog,hints}
}

# conditions: what the tables were measured with.
conditions() {
  printf '%s records of ten fields of 100 octets, zipfian; %s; %s processors; %s; YCSB %s, etcd %s, Cassandra %s with heaps of %s; ' \
    "$RECORDS" "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)" "$(nproc)" "$(date -u +%F)" "$(version client core)" \
    "$(etcd --version | sed -n 's/^etcd Version: //p')" "$(version cassandra cassandra-all)" "$CASSANDRA_HEAP"
  printf 'ironbark %s; %s s each, after %s s of warm-up\n' "$(git rev-parse --short HEAD)" "$SECONDS_EACH" "$WARM_UP"
}

# version LIST ARTIFACT: of one of the dependencies.
version() { sed -n "/<artifactId>$2</{n;s/.*<version>\(.*\)<.*/\1/p}" "scripts/bench/ycsb/$1/pom.xml"; }

for workload in $WORKLOADS; do shares "$workload" >/dev/null; done
for column in "${COLUMNS_WANTED[@]}"; do
  case $column in
    ironbark | ironbark-latest | ironbark-one | cassandra-quorum | cassandra-quorum-periodic | cassandra-one-periodic) ;;
    *) die "no column $column" ;;
  esac
done
check_tools
[ -n "${IRONBARK_BIN:-}" ] || "${CARGO:-cargo}" build --release --locked --package ironbark-admin --bin ironbark
prepare
bench_ironbark
bench_cassandra cassandra batch cassandra-quorum
bench_cassandra cassandra-periodic periodic cassandra-quorum-periodic cassandra-one-periodic
conditions >"$FOLDER/results/conditions"
python3 scripts/bench/ycsb/table.py tables "$FOLDER/results" docs/benchmarks.md
