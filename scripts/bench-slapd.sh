#!/usr/bin/env bash
# Ironbark beside Debian's slapd on one machine: load, file size, export, memory, searches. `scripts/bench-slapd.sh [ACCOUNTS] [FOLDER]`
#
# Prints a table (docs/benchmarks.md explains it). Both servers get the same LDIF, the same slapd.conf and one core, in turns; the load
# generator has another core. A rate is searches a second of processor time of the server: other work on the machine hardly changes it.
# Needs about 30 KB of disk for each account, taken back at the end.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly ACCOUNTS="${1:-100000}"
readonly FOLDER="${2:-$PWD/bench}"
readonly SUFFIX='dc=example,dc=com'
readonly ROUNDS="${ROUNDS:-3}" SECONDS_EACH="${SECONDS_EACH:-3}" SAMPLE=20000
readonly PORT="${PORT:-3901}"
readonly TARGET="${CARGO_TARGET_DIR:-$PWD/target}/release"
readonly LOAD="$TARGET/examples/searches"
declare -A PROGRAM=([slapd]=/usr/sbin/slapd [ironbark]="$FOLDER/ironbark/slapd") PIDS=()

# configure NAME: folder, slapd.conf. The log is off: syslog would be the measure otherwise.
configure() {
  local folder="$FOLDER/$1"
  rm -rf "$folder"
  mkdir -p "$folder/db"
  {
    echo 'loglevel none'
    [ "$1" = ironbark ] || printf 'modulepath /usr/lib/ldap\nmoduleload back_mdb\n'
    sed -e "s|@SCHEMA@|$PWD/schema|; s|@SUFFIX@|$SUFFIX|; s|@DIRECTORY@|$folder/db|; s|@ROOTPW@|secret|" \
      data/zimbra.slapd.conf
  } >"$folder/slapd.conf"
}

# timed FILE COMMAND...: runs the command; FILE gets seconds, processor seconds, peak KB.
timed() {
  local file=$1
  shift
  /usr/bin/time -f '%e %U %S %M' -o "$file" "$@"
}

processor_ticks() { awk '{ print $14 + $15 }' "/proc/$1/stat"; }

# rate NAME PORT CONNECTIONS IN_FLIGHT: appends searches a second of processor time.
rate() {
  local pid=${PIDS[$1]} before after searches
  before=$(processor_ticks "$pid")
  searches=$(taskset -c 1 "$LOAD" "127.0.0.1:$2" "$SUFFIX" "$FOLDER/filters" "$3" "$4" "$SECONDS_EACH" |
    sed 's/.*(\([0-9]*\) searches.*/\1/')
  after=$(processor_ticks "$pid")
  echo "$((searches * $(getconf CLK_TCK) / (after - before)))" >>"$FOLDER/$1/rate-$3x$4"
}

median() { sort -n "$1" | awk '{ line[NR] = $1 } END { print line[int((NR + 1) / 2)] }'; }
field() { awk -v column="$2" '{ print $column }' "$1"; }
row() { printf '%-44s %14s %14s %8s\n' "$1" "$2" "$3" "$(awk -v a="$2" -v b="$3" "BEGIN { printf \"%.2f\", $4 }")"; }

cleanup() {
  for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$FOLDER/data.ldif" "$FOLDER"/*/db
}
trap cleanup EXIT

cargo build --release --package ironbark-admin --bin ironbark
cargo build --release --package ironbark-client --example searches
mkdir -p "$FOLDER"
"$TARGET/ironbark" generate zimbra --count "$ACCOUNTS" --suffix "$SUFFIX" --output "$FOLDER/data.ldif"
sed -n 's/^zimbraMailDeliveryAddress: \(.*\)/(zimbraMailDeliveryAddress=\1)/p' "$FOLDER/data.ldif" |
  shuf -n "$SAMPLE" >"$FOLDER/filters"

for name in slapd ironbark; do
  configure $name
  [ $name = slapd ] || for tool in slapd slapadd slapcat; do ln -s "$TARGET/ironbark" "$FOLDER/ironbark/$tool"; done
  tools=$(dirname "${PROGRAM[$name]}")
  configuration="$FOLDER/$name/slapd.conf"
  timed "$FOLDER/$name/load" "$tools/slapadd" -q -f "$configuration" -l "$FOLDER/data.ldif"
  timed "$FOLDER/$name/export" "$tools/slapcat" -f "$configuration" -l /dev/null
  du -k "$FOLDER/$name/db/data.mdb" | cut -f1 >"$FOLDER/$name/size"
done

port=$PORT
for name in slapd ironbark; do
  taskset -c 0 "${PROGRAM[$name]}" -d 0 -h "ldap://127.0.0.1:$port" -f "$FOLDER/$name/slapd.conf" >"$FOLDER/$name/log" 2>&1 &
  PIDS[$name]=$!
  until "$LOAD" "127.0.0.1:$port" "$SUFFIX" "$FOLDER/filters" 1 1 0.1 >/dev/null 2>&1; do
    kill -0 "${PIDS[$name]}" # Ends the script when the server has ended.
    sleep 0.2
  done
  port=$((port + 1))
done
for _ in $(seq "$ROUNDS"); do
  for shape in '64 1' '16 16'; do
    port=$PORT
    for name in slapd ironbark; do
      # shellcheck disable=SC2086
      rate $name $port $shape
      port=$((port + 1))
    done
  done
done
for name in slapd ironbark; do
  awk '/^RssAnon/ { print $2 }' "/proc/${PIDS[$name]}/status" >"$FOLDER/$name/heap"
  awk '/^VmRSS/ { print $2 }' "/proc/${PIDS[$name]}/status" >"$FOLDER/$name/resident"
done

S="$FOLDER/slapd" I="$FOLDER/ironbark"
printf '\n%s accounts, %s bytes of LDIF; %s; %s processors\n' "$ACCOUNTS" "$(stat -c %s "$FOLDER/data.ldif")" \
  "$(sed -n 's/^model name.*: //p' /proc/cpuinfo | head -1)" "$(nproc)"
printf '%-44s %14s %14s %8s\n' '' slapd ironbark ratio
row 'slapadd -q, seconds' "$(field "$S/load" 1)" "$(field "$I/load" 1)" 'a / b'
row 'slapadd -q, processor seconds' "$(awk '{ print $2 + $3 }' "$S/load")" "$(awk '{ print $2 + $3 }' "$I/load")" 'a / b'
row 'slapadd -q, peak KB (slapd: and its map)' "$(field "$S/load" 4)" "$(field "$I/load" 4)" 'a / b'
row 'data.mdb, KB on disk' "$(cat "$S/size")" "$(cat "$I/size")" 'a / b'
row 'slapcat, seconds' "$(field "$S/export" 1)" "$(field "$I/export" 1)" 'a / b'
row 'searches/s a core, 64 connections, 1 in flight' "$(median "$S/rate-64x1")" "$(median "$I/rate-64x1")" 'b / a'
row 'searches/s a core, 16 connections, 16 each' "$(median "$S/rate-16x16")" "$(median "$I/rate-16x16")" 'b / a'
row 'server, resident KB (with mapped file pages)' "$(cat "$S/resident")" "$(cat "$I/resident")" 'a / b'
row 'server, heap KB (anonymous memory)' "$(cat "$S/heap")" "$(cat "$I/heap")" 'a / b'
