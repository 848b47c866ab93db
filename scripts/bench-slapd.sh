#!/usr/bin/env bash
# Ironbark beside Debian's slapd on one machine: offline load, file size, export, and the workloads of `ironbark load`.
#
# Both servers get the same LDIF and the same slapd.conf (same indexes, same durability), the log is off, and slapd gets the number of
# threads that suits it best. The server has one core, the load generator another; they take turns, several rounds. Writes the tables
# of docs/benchmarks.md and the page docs/benchmarks.html. Environment:
#   ACCOUNTS      mail accounts, subscribers, people, records       (100000)
#   ROUNDS        rounds, of which the median counts                (3)
#   SECONDS_EACH  seconds of each measurement                       (5)
#   WORKLOADS     which of those in `words` below                   (all)
#   ENVFLAGS      durability of both                                (writemap nometasync)
#   SLAPD_THREADS numbers of threads to try with slapd              (2 4 16)
#   BENCH_FOLDER  where data and databases lie, about 30 KB for each account, taken back at the end   (./bench)
#   PORT          first of two ports on 127.0.0.1                   (3901)
set -euo pipefail
cd "$(dirname "$0")/.."

readonly ACCOUNTS="${ACCOUNTS:-100000}" ROUNDS="${ROUNDS:-3}" SECONDS_EACH="${SECONDS_EACH:-5}"
readonly WORKLOADS="${WORKLOADS:-search search-pipelined compare bind-plain bind-ssha modify add scan messaging addressing mixed substring and or ycsb-a ycsb-80-20 groups}"
readonly ENVFLAGS="${ENVFLAGS-writemap nometasync}" SLAPD_THREADS="${SLAPD_THREADS:-2 4 16}"
readonly FOLDER="${BENCH_FOLDER:-$PWD/bench}" PORT="${PORT:-3901}"
readonly IRONBARK="${CARGO_TARGET_DIR:-$PWD/target}/release/ironbark"
readonly SETS='zimbra telco directorymark ycsb groups'
declare -A PROGRAM=([slapd]=/usr/sbin/slapd [ironbark]="$FOLDER/ironbark/slapd")
declare -A URL=([slapd]="ldap://127.0.0.1:$PORT/" [ironbark]="ldap://127.0.0.1:$((PORT + 1))/")
declare -A PIDS=()

# words WORKLOAD: data set, and the arguments of `ironbark load`.
words() {
  case $1 in
    search) echo 'zimbra search -c 64' ;;
    search-pipelined) echo 'zimbra search -c 16 -k 16' ;;
    compare) echo 'telco telco compare -c 16 -k 16' ;;
    bind-plain) echo 'telco telco bind-admin -c 64' ;;
    bind-ssha) echo 'zimbra telco bind --data zimbra -c 64' ;;
    modify) echo 'telco telco modify -c 1,16,64' ;;
    add) echo 'telco telco add -c 16' ;;
    scan) echo 'zimbra scan -c 1,8' ;;
    messaging) echo 'directorymark directorymark messaging' ;;
    addressing) echo 'directorymark directorymark addressing' ;;
    mixed) echo 'directorymark directorymark mixed' ;;
    substring) echo 'zimbra filters --mix substring --size-limit 200' ;;
    and) echo 'zimbra filters --mix and' ;;
    or) echo 'zimbra filters --mix or-1000 -c 4' ;;
    ycsb-*) echo "ycsb ycsb ${1#ycsb-}" ;;
    groups) echo 'groups groups' ;;
    *) echo "$0: no workload $1" >&2 && return 1 ;;
  esac
}

# entries SET: its size.
entries() { if [ "$1" = groups ]; then echo 100000; else echo "$ACCOUNTS"; fi; }

# database NAME SET INDEXES...: a database section.
database() {
  local folder="$FOLDER/$1/db-$2"
  mkdir -p "$folder"
  printf 'database mdb\nsuffix o=%s\nrootdn cn=admin,o=%s\nrootpw secret\ndirectory %s\nmaxsize 85899345920\n' "$2" "$2" "$folder"
  [ -z "$ENVFLAGS" ] || echo "envflags $ENVFLAGS"
  printf 'index %s\n' "${@:3}"
}

# configure NAME: folder and slapd.conf.
configure() {
  rm -rf "${FOLDER:?}/$1"
  mkdir -p "$FOLDER/$1"
  {
    printf 'loglevel none\nsizelimit unlimited\ntimelimit unlimited\n'
    [ "$1" = ironbark ] || printf 'modulepath /usr/lib/ldap\nmoduleload back_mdb\nthreads THREADS\n'
    printf "include $PWD/schema/%s.schema\n" core cosine inetorgperson zimbra telco
    database "$1" zimbra "$(sed -n '/^index /{s///p;q}' data/zimbra.slapd.conf)"
    sed -n '/^index /p' data/zimbra.slapd.conf | tail -n +2
    database "$1" telco 'objectClass,imsi,msisdn eq'
    database "$1" directorymark 'objectClass eq' 'cn,sn,givenName,uid,mail eq,sub'
    database "$1" ycsb 'objectClass eq' 'uid eq,sub'
    database "$1" groups 'objectClass,cn,member eq'
  } >"$FOLDER/$1/slapd.conf.in"
  sed 's/^threads THREADS$/threads 16/' "$FOLDER/$1/slapd.conf.in" >"$FOLDER/$1/slapd.conf"
}

# timed FILE COMMAND...: runs the command; FILE gets seconds, processor seconds, peak KB.
timed() { /usr/bin/time -f '%e %U %S %M' -o "$1" "${@:2}"; }

# start NAME: the server on core 0; returns when it answers.
start() {
  taskset -c 0 "${PROGRAM[$1]}" -d 0 -h "${URL[$1]}" -f "$FOLDER/$1/slapd.conf" >"$FOLDER/$1/log" 2>&1 &
  PIDS[$1]=$!
  until "$IRONBARK" health -H "${URL[$1]}" >/dev/null 2>&1; do
    kill -0 "${PIDS[$1]}" # Ends the script when the server has ended.
    sleep 0.2
  done
}

stop() {
  kill "${PIDS[$1]}"
  wait "${PIDS[$1]}" || true
  unset "PIDS[$1]"
}

# load NAME WORKLOAD OUTPUT ARGUMENTS...
load() {
  local set arguments
  read -r set arguments <<<"$(words "$2")"
  # shellcheck disable=SC2086
  taskset -c 1 "$IRONBARK" load $arguments -H "${URL[$1]}" --pid "${PIDS[$1]}" -D "cn=admin,o=$set" -w secret \
    --suffix "o=$set" --entries "$(entries "$set")" --seconds "$SECONDS_EACH" --label "$1" -o "$3" "${@:4}"
}

# Best number of threads for slapd, by pipelined searches.
choose_threads() {
  local best=0 rate
  for threads in $SLAPD_THREADS; do
    sed "s/^threads THREADS$/threads $threads/" "$FOLDER/slapd/slapd.conf.in" >"$FOLDER/slapd/slapd.conf.$threads"
    cp "$FOLDER/slapd/slapd.conf.$threads" "$FOLDER/slapd/slapd.conf"
    start slapd
    load slapd search-pipelined "$FOLDER/threads.json" >/dev/null
    stop slapd
    rate=$(sed -n 's/.*"rate_per_cpu_second": \([0-9]*\).*/\1/p' "$FOLDER/threads.json")
    echo "slapd with $threads threads: $rate searches for each second of processor time"
    if [ "$rate" -gt "$best" ]; then best=$rate THREADS=$threads; fi
  done
  cp "$FOLDER/slapd/slapd.conf.$THREADS" "$FOLDER/slapd/slapd.conf"
}

field() { awk -v column="$2" '{ print $column }' "$1"; }
row() { printf '| %s | %s | %s | %s |\n' "$1" "$2" "$3" "$(awk -v a="$2" -v b="$3" 'BEGIN { printf "%.2f", a / b }')"; }

# The table of what is measured without a server.
offline() {
  local s="$FOLDER/slapd" i="$FOLDER/ironbark"
  printf '%s mail accounts, %s bytes of LDIF; %s; %s processors; %s; slapd %s, %s threads; ironbark %s; envflags %s\n\n' "$ACCOUNTS" \
    "$(stat -c %s "$FOLDER/zimbra.ldif")" "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)" "$(nproc)" "$(date -u +%F)" \
    "$(dpkg-query -W -f '${Version}' slapd)" "$THREADS" "$(git rev-parse --short HEAD)" "${ENVFLAGS:-none}"
  printf '| | slapd | ironbark | ratio |\n|---|---|---|---|\n'
  row '`slapadd -q`, seconds' "$(field "$s/load" 1)" "$(field "$i/load" 1)"
  row '`slapadd -q`, processor seconds' "$(awk '{ print $2 + $3 }' "$s/load")" "$(awk '{ print $2 + $3 }' "$i/load")"
  row '`slapadd -q`, peak KB (slapd: and its map)' "$(field "$s/load" 4)" "$(field "$i/load" 4)"
  row '`data.mdb`, KB on disk' "$(cat "$s/size")" "$(cat "$i/size")"
  row '`slapcat`, seconds' "$(field "$s/export" 1)" "$(field "$i/export" 1)"
}

# replace FILE MARK: puts stdin between <!-- MARK --> and <!-- /MARK -->.
replace() {
  local table
  table=$(cat)
  TABLE="$table" awk -v mark="$2" '
    $0 == "<!-- /" mark " -->" { inside = 0 }
    !inside { print }
    $0 == "<!-- " mark " -->" { inside = 1; print "\n" ENVIRON["TABLE"] "\n" }' "$1" >"$1.new"
  mv "$1.new" "$1"
}

cleanup() {
  for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$FOLDER"/*.ldif "$FOLDER"/*/db-*
}
trap cleanup EXIT

for workload in $WORKLOADS; do words "$workload" >/dev/null; done
"${CARGO:-cargo}" build --release --package ironbark-admin --bin ironbark
mkdir -p "$FOLDER/results"
for set in $SETS; do
  "$IRONBARK" generate "$set" --count "$(entries "$set")" --suffix "o=$set" --output "$FOLDER/$set.ldif"
done
for name in slapd ironbark; do
  configure $name
  [ $name = slapd ] || for tool in slapd slapadd slapcat; do ln -s "$IRONBARK" "$FOLDER/ironbark/$tool"; done
  tools=$(dirname "${PROGRAM[$name]}")
  for set in $SETS; do
    measure=()
    [ "$set" != zimbra ] || measure=(timed "$FOLDER/$name/load")
    "${measure[@]}" "$tools/slapadd" -q -f "$FOLDER/$name/slapd.conf" -b "o=$set" -l "$FOLDER/$set.ldif"
  done
  timed "$FOLDER/$name/export" "$tools/slapcat" -f "$FOLDER/$name/slapd.conf" -b o=zimbra -l /dev/null
  du -k "$FOLDER/$name/db-zimbra/data.mdb" | cut -f1 >"$FOLDER/$name/size"
done
THREADS=16
choose_threads
start slapd
start ironbark
RESULTS=()
for round in $(seq "$ROUNDS"); do
  for workload in $WORKLOADS; do
    for name in slapd ironbark; do
      result="$FOLDER/results/$workload-$round-$name.json"
      # A measurement with other answers than expected is kept, and shown as such on the page.
      load $name "$workload" "$result" || [ -s "$result" ]
      RESULTS+=("$result")
    done
  done
done
offline | replace docs/benchmarks.md offline
"$IRONBARK" load report "${RESULTS[@]}" --title 'Ironbark beside slapd' -o docs/benchmarks.html --markdown docs/benchmarks.md
# The page shows the commands; where the data lay on this machine is no part of them.
sed -i "s|$FOLDER/||g" docs/benchmarks.html
sed -n '/<!-- offline -->/,/<!-- \/load -->/p' docs/benchmarks.md
