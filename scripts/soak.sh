#!/usr/bin/env bash
# A server under mixed load for a while, with clients that misbehave: memory and file size must stay flat.
#
# At once: mail accounts searched with many requests in flight, the whole database read, subscribers modified, records read and updated,
# members put into groups and out again, entries added and deleted; beside them clients that ask for everything and read nothing until
# the server closes them, clients that send half a request, and connections that come and go. No workload makes the data grow. The second
# quarter of the time is compared with the last. Status 1: memory or a database has grown by more than is allowed, a well-behaved client
# got another answer than expected, or the server has ended. Writes the section between <!-- soak --> and <!-- /soak --> of
# docs/benchmarks.md, whatever came of it. Environment:
#   SECONDS_EACH  how long                                          (600)
#   SAMPLE        seconds between two samples                       (5)
#   ACCOUNTS      mail accounts, subscribers, records               (50000)
#   GROWTH        allowed growth of memory, percent                 (10)
#   FILE_GROWTH   allowed growth of the databases, percent          (5)
#   IRONBARK      a release binary                                  (it is built)
#   SOAK_FOLDER   where data, databases and samples lie             (./soak)
#   PORT          a port on 127.0.0.1                               (3911)
set -euo pipefail
cd "$(dirname "$0")/.."

readonly SECONDS_EACH="${SECONDS_EACH:-600}" SAMPLE="${SAMPLE:-5}" ACCOUNTS="${ACCOUNTS:-50000}" GROWTH="${GROWTH:-10}"
readonly FILE_GROWTH="${FILE_GROWTH:-5}"
readonly FOLDER="${SOAK_FOLDER:-$PWD/soak}" PORT="${PORT:-3911}"
readonly URL="ldap://127.0.0.1:$PORT/" DEAF=20 CROWD=500
readonly SETS='zimbra telco ycsb groups'
LOADS=()
PIDS=()

# entries SET: its size.
entries() { if [ "$1" = groups ]; then echo 10000; else echo "$ACCOUNTS"; fi; }

configure() {
  printf 'loglevel none\nsizelimit unlimited\ntimelimit unlimited\nwritetimeout 3\nidletimeout 5\n'
  printf "include $PWD/schema/%s.schema\n" core cosine inetorgperson zimbra telco
  local set
  for set in $SETS; do
    mkdir -p "$FOLDER/db-$set"
    printf 'database mdb\nsuffix o=%s\nrootdn cn=admin,o=%s\nrootpw secret\ndirectory %s\nenvflags nometasync\n' \
      "$set" "$set" "$FOLDER/db-$set"
    case $set in
      zimbra) sed -n '/^index /p' data/zimbra.slapd.conf ;;
      telco) echo 'index objectClass,imsi,msisdn eq' ;;
      ycsb) printf 'index %s\n' 'objectClass eq' 'uid eq,sub' ;;
      groups) echo 'index objectClass,cn,member eq' ;;
    esac
  done
}

# load NAME SET ARGUMENTS...: a well-behaved client for the whole time, in the background.
load() {
  local set=$2
  "$IRONBARK" load "${@:3}" -H "$URL" -D "cn=admin,o=$set" -w secret --suffix "o=$set" --entries "$(entries "$set")" \
    --seconds "$SECONDS_EACH" --warm-up 0 --label "$1" -o "$FOLDER/$1.json" >"$FOLDER/$1.out" 2>&1 &
  LOADS+=("$1 $!")
  PIDS+=($!)
}

# People that are added and deleted, again and again.
add_and_delete() {
  local number name
  for number in $(seq 2000); do
    name="dn: uid=new$number,o=telco"
    printf '%s\nchangetype: add\nobjectClass: account\nuid: new%s\ndescription: comes and goes\n\n' "$name" "$number"
  done >"$FOLDER/changes.ldif"
  for number in $(seq 2000); do printf 'dn: uid=new%s,o=telco\nchangetype: delete\n\n' "$number"; done >>"$FOLDER/changes.ldif"
  while :; do
    "$IRONBARK" load replay "$FOLDER/changes.ldif" -H "$URL" -D cn=admin,o=telco -w secret -c 4 >"$FOLDER/replay.out" 2>&1 ||
      { touch "$FOLDER/replay-failed" && return; }
    echo >>"$FOLDER/replays"
  done
}

# Opens connections, sends each the message $1 (as \x.. escapes) twenty times, and holds them until the server has closed them or for
# six seconds. Nothing is read.
hold() {
  local message='' fd fds=()
  for _ in $(seq "${2:-20}"); do message+=$1; done
  for _ in $(seq "$DEAF"); do
    exec {fd}<>"/dev/tcp/127.0.0.1/$PORT"
    fds+=("$fd")
    # shellcheck disable=SC2059
    printf "$message" >&"$fd" || true
  done
  sleep 6
  for fd in "${fds[@]}"; do exec {fd}>&-; done
}

misbehave() {
  trap '' PIPE
  # A search of everything below o=zimbra: message 1, subtree, no limits, (objectClass=*), all attributes.
  local search='\x30\x2d\x02\x01\x01\x63\x28\x04\x08o=zimbra\x0a\x01\x02\x0a\x01\x00\x02\x01\x00\x02\x01\x00\x01\x01\x00\x87\x0bobjectClass\x30\x00'
  # The first octets of a message of 200,000.
  local half
  half="\\x30\\x83\\x03\\x0d\\x40\\x02\\x01\\x01$(printf 'x%.0s' $(seq 4000))"
  while :; do
    hold "$search" &
    hold "$half" 1 &
    for _ in $(seq "$CROWD"); do : <>"/dev/tcp/127.0.0.1/$PORT"; done
    wait
    echo >>"$FOLDER/misbehaved"
  done 2>/dev/null
}

# One line: seconds, anonymous KB, resident KB, KB of all databases on disk, descriptors.
sample() {
  local process="/proc/$SERVER"
  printf '%s %s %s %s %s\n' "$((SECONDS - START))" "$(awk '/^RssAnon/ { print $2 }' "$process/status")" \
    "$(awk '/^VmRSS/ { print $2 }' "$process/status")" "$(du -ck "$FOLDER"/db-*/data.mdb | awk 'END { print $1 }')" \
    "$(find "$process/fd" -mindepth 1 2>/dev/null | wc -l)"
}

# The table of the samples, and whether they are flat.
judge() {
  awk -v length_s="$SECONDS_EACH" -v memory="$GROWTH" -v file="$FILE_GROWTH" '
    BEGIN { split("anonymous memory, KB|resident memory with file pages, KB|data.mdb of all databases, KB|open descriptors", names, "|") }
    { quarter = int(4 * $1 / length_s) + 1; if (quarter > 4) quarter = 4
      count[quarter]++
      for (i = 1; i <= 4; i++) { sum[i, quarter] += $(i + 1); if ($(i + 1) > most[i]) most[i] = $(i + 1) } }
    END {
      print "| | first quarter | second | third | last | most | last to second |\n|---|---|---|---|---|---|---|"
      for (i = 1; i <= 4; i++) {
        line = "| " names[i]
        for (quarter = 1; quarter <= 4; quarter++) {
          if (!count[quarter]) exit 2
          mean[quarter] = sum[i, quarter] / count[quarter]
          line = line sprintf(" | %d", mean[quarter])
        }
        change = 100 * (mean[4] / mean[2] - 1)
        print line sprintf(" | %d | %+.1f %% |", most[i], change)
        # Resident memory follows the file, and descriptors what the clients do.
        if ((i == 1 && change > memory) || (i == 3 && change > file)) failed = 1
      }
      exit failed
    }' "$FOLDER/samples"
}

# number FILE FIELD: the first value of a field of a JSON result.
number() { sed -n "s/.*\"$2\": \([0-9.]*\).*/\1/p" "$1" | head -1; }

report() {
  printf '%s s; %s mail accounts, subscribers and records; %s processors, shared with the clients; %s; ironbark %s\n\n' "$SECONDS_EACH" \
    "$ACCOUNTS" "$(nproc)" "$(date -u +%F)" "$(git rev-parse --short HEAD)"
  judge || FAILURES+=("memory has grown by more than $GROWTH %, or files by more than $FILE_GROWTH %")
  printf '\n| clients | a second | p99, ms |\n|---|---|---|\n'
  local one name
  for one in "${LOADS[@]}"; do
    name=${one% *}
    printf '| %s | %.0f | %.1f |\n' "$name" "$(number "$FOLDER/$name.json" rate)" \
      "$(awk -v us="$(number "$FOLDER/$name.json" p99)" 'BEGIN { print us / 1000 }')"
  done
  printf '| adds and deletes | %s | |\n\n' "$((4000 * $(wc -l <"$FOLDER/replays") / SECONDS_EACH))"
  local rounds
  rounds=$(wc -l <"$FOLDER/misbehaved")
  printf 'Beside them %s connections that read nothing, %s with half a request, %s that came and went.\n\n' "$((DEAF * rounds))" \
    "$((DEAF * rounds))" "$((CROWD * rounds))"
  if [ ${#FAILURES[@]} = 0 ]; then echo 'Passed.'; else printf 'Failed: %s.\n' "${FAILURES[@]}"; fi
}

# replace FILE MARK TEXTFILE: puts the text between <!-- MARK --> and <!-- /MARK -->.
replace() {
  TABLE="$(cat "$3")" awk -v mark="$2" '
    $0 == "<!-- /" mark " -->" { inside = 0 }
    !inside { print }
    $0 == "<!-- " mark " -->" { inside = 1; print "\n" ENVIRON["TABLE"] "\n" }' "$1" >"$1.new"
  mv "$1.new" "$1"
}

cleanup() {
  for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  rm -rf "$FOLDER"/*.ldif "$FOLDER"/db-*
}
trap cleanup EXIT

if [ -z "${IRONBARK:-}" ]; then
  "${CARGO:-cargo}" build --release --package ironbark-admin --bin ironbark
  IRONBARK="${CARGO_TARGET_DIR:-$PWD/target}/release/ironbark"
fi
readonly IRONBARK
rm -rf "$FOLDER"
mkdir -p "$FOLDER"
configure >"$FOLDER/slapd.conf"
for tool in slapd slapadd; do ln -s "$IRONBARK" "$FOLDER/$tool"; done
for set in $SETS; do
  rm -f "$FOLDER/$set.ldif"
  "$IRONBARK" generate "$set" --count "$(entries "$set")" --suffix "o=$set" --output "$FOLDER/$set.ldif"
  "$FOLDER/slapadd" -q -f "$FOLDER/slapd.conf" -b "o=$set" -l "$FOLDER/$set.ldif"
done
"$FOLDER/slapd" -d 0 -h "$URL" -f "$FOLDER/slapd.conf" >"$FOLDER/log" 2>&1 &
SERVER=$!
PIDS+=("$SERVER")
until "$IRONBARK" health -H "$URL" >/dev/null 2>&1; do
  kill -0 "$SERVER" # Ends the script when the server has ended.
  sleep 0.2
done
START=$SECONDS
load search zimbra search -c 8 -k 4
load scan zimbra scan -c 1
load modify telco telco modify -c 8
load records ycsb ycsb 80-20 -c 8
load groups groups groups -c 2
touch "$FOLDER/replays" "$FOLDER/misbehaved"
add_and_delete &
PIDS+=($!)
misbehave &
PIDS+=($!)
FAILURES=()
while [ $((SECONDS - START)) -lt "$SECONDS_EACH" ]; do
  sleep "$SAMPLE"
  kill -0 "$SERVER" 2>/dev/null || { FAILURES+=('the server has ended') && break; }
  sample >>"$FOLDER/samples"
  [ ! -t 1 ] || tail -1 "$FOLDER/samples"
done
for one in "${LOADS[@]}"; do
  wait "${one#* }" || FAILURES+=("${one% *}: $(tail -1 "$FOLDER/${one% *}.out")")
done
[ ! -e "$FOLDER/replay-failed" ] || FAILURES+=("adds and deletes: $(tail -1 "$FOLDER/replay.out")")
report >"$FOLDER/report.md"
replace docs/benchmarks.md soak "$FOLDER/report.md"
cat "$FOLDER/report.md"
[ ${#FAILURES[@]} = 0 ]
