# Configuration, data and life of the servers; sourced by bench-slapd.sh. `bare` is Ironbark that answers every search alike.

declare -A PROGRAM=([slapd]=/usr/sbin/slapd [ironbark]="$FOLDER/ironbark/slapd")
declare -A URL=([slapd]="ldap://127.0.0.1:$PORT/" [ironbark]="ldap://127.0.0.1:$((PORT + 1))/" [bare]="ldap://127.0.0.1:$((PORT + 2))/")
# Of the part session, whose servers have a certificate.
declare -A LDAPS=([slapd]="ldaps://127.0.0.1:$((PORT + 3))/" [ironbark]="ldaps://127.0.0.1:$((PORT + 4))/")
declare -A PIDS=()
THREADS=

# entries SET: its size.
entries() { if [ "$1" = groups ]; then echo "$GROUP_MEMBERS"; else echo "$ACCOUNTS"; fi; }

# database NAME SET ENVFLAGS LINE...: a database section.
database() {
  local folder="$FOLDER/$1/db-$2"
  mkdir -p "$folder"
  printf 'database mdb\nsuffix o=%s\nrootdn cn=admin,o=%s\nrootpw secret\ndirectory %s\nmaxsize 85899345920\n' "$2" "$2" "$folder"
  [ -z "$3" ] || echo "envflags $3"
  printf '%s\n' "${@:4}"
}

# create NAME: its folder.
create() {
  rm -rf "${FOLDER:?}/$1"
  mkdir -p "$FOLDER/$1"
  [ "$1" = slapd ] || for tool in slapd slapadd slapcat slapmodify; do ln -s "$IRONBARK" "$FOLDER/$1/$tool"; done
  configure "$1"
}

# configure NAME: slapd.conf.
configure() {
  {
    printf 'loglevel none\nsizelimit unlimited\ntimelimit unlimited\n'
    [ "$1" = ironbark ] || printf 'modulepath /usr/lib/ldap\nmoduleload back_mdb\nthreads %s\n' "${THREADS:-16}"
    printf "include $PWD/schema/%s.schema\n" core cosine inetorgperson zimbra telco
    [ ! -d "$FOLDER/tls" ] || printf "TLS%s $FOLDER/tls/%s\n" CACertificateFile ca.crt CertificateFile server.crt CertificateKeyFile server.key
    database "$1" zimbra "$ENVFLAGS" "$(sed -n '/^index /p' data/zimbra.slapd.conf)"
    database "$1" telco "$ENVFLAGS" 'index objectClass,imsi,msisdn eq'
    database "$1" telco-durable '' 'index objectClass,imsi,msisdn,lastLocationUpdate eq'
    # DirectoryMark's size limit and look-through limit; the rootdn has none.
    database "$1" directorymark "$ENVFLAGS" 'index objectClass eq' 'index cn,sn,givenName,uid,mail eq,sub' \
      'limits * size.soft=200 size.hard=soft size.unchecked=5000'
    database "$1" ycsb "$ENVFLAGS" 'index objectClass eq' 'index uid eq,sub'
    database "$1" groups "$ENVFLAGS" 'index objectClass,cn,member eq'
  } >"$FOLDER/$1/slapd.conf"
}

# tool NAME PROGRAM: path of one of the server's tools.
tool() { echo "$(dirname "${PROGRAM[$1]}")/$2"; }

# timed FILE COMMAND...: runs the command; FILE gets seconds, processor seconds, peak KB.
timed() { /usr/bin/time -f '%e %U %S %M' -o "$1" "${@:2}"; }

kilobytes() { du -k "$1" | cut -f1; }

# generate SET: its LDIF; told is the file.
generate() {
  rm -f "$FOLDER/$1.ldif"
  "$IRONBARK" generate "${1%-durable}" --count "$(entries "$1")" --suffix "o=$1" --output "$FOLDER/$1.ldif" >&2
  echo "$FOLDER/$1.ldif"
}

# empty NAME SET: its database.
empty() { rm -rf "$FOLDER/$1/db-$2" "$FOLDER/$1/size-$2" && mkdir "$FOLDER/$1/db-$2"; }

# load_offline NAME SET LDIF: slapadd into an empty database; time in NAME/load-SET, kilobytes in NAME/size-SET.
load_offline() {
  empty "$1" "$2"
  timed "$FOLDER/$1/load-$2" "$(tool "$1" slapadd)" -q -f "$FOLDER/$1/slapd.conf" -b "o=$2" -l "$3"
  kilobytes "$FOLDER/$1/db-$2/data.mdb" >"$FOLDER/$1/size-$2"
}

# prepare SET...: has both servers load the sets that they do not hold yet.
prepare() {
  local set name ldif
  for set in "$@"; do
    [ ! -e "$FOLDER/ironbark/size-$set" ] || continue
    ldif=$(generate "$set")
    stat -c %s "$ldif" >"$FOLDER/octets-$set"
    for name in slapd ironbark; do load_offline $name "$set" "$ldif"; done
    rm "$ldif"
  done
}

# start NAME [WRAPPER...]: the server on core 0, begun by the wrapper, with the log level DEBUG; returns when it answers.
start() {
  local urls="${URL[$1]}"
  [ ! -d "$FOLDER/tls" ] || urls+=" ${LDAPS[$1]}"
  local arguments=("${PROGRAM[$1]:-}" -d "${DEBUG:-0}" -h "$urls" -f "$FOLDER/$1/slapd.conf")
  [ "$1" != bare ] || arguments=("$IRONBARK" serve --bare --log none -H "${URL[$1]}" -f "$FOLDER/ironbark/slapd.conf")
  ! "$IRONBARK" health -H "${URL[$1]}" >/dev/null 2>&1 || { echo "${URL[$1]} is taken" >&2 && return 1; }
  "${@:2}" taskset -c 0 "${arguments[@]}" >"$FOLDER/$1.log" 2>&1 &
  PIDS[$1]=$!
  until "$IRONBARK" health -H "${URL[$1]}" >/dev/null 2>&1; do
    kill -0 "${PIDS[$1]}" || { cat "$FOLDER/$1.log" >&2 && return 1; }
    sleep 0.2
  done
}

# stop NAME: and nothing else when it has ended by itself.
stop() {
  kill "${PIDS[$1]}" 2>/dev/null || true
  wait "${PIDS[$1]}" || true
  unset "PIDS[$1]"
}

# ask NAME SET ARGUMENTS...: `ironbark load` on core 1, by the rootdn unless IDENTITY is `anonymous`, behind others when NICE says so, before them when FIRST does, to another URL when AT does.
ask() {
  local identity=(-D "cn=admin,o=$2" -w secret)
  [ "${IDENTITY:-}" != anonymous ] || identity=()
  local first=()
  [ -z "${FIRST:-}" ] || ! chrt -f 10 true 2>/dev/null || first=(chrt -f 10)
  taskset -c 1 nice -n "${NICE:-0}" "${first[@]}" "$IRONBARK" load "${@:3}" -H "${AT:-${URL[$1]}}" --pid "${PIDS[$1]}" "${identity[@]}" --suffix "o=$2" \
    --entries "$(entries "$2")" --seconds "$SECONDS_EACH" --label "$1"
}

# choose_threads: the number of threads with which slapd answers most pipelined searches for its processor time.
choose_threads() {
  local best=0 best_threads rate
  [ -z "$THREADS" ] || return 0
  prepare zimbra
  for THREADS in $SLAPD_THREADS; do
    configure slapd
    start slapd
    ask slapd zimbra search -c 16 -k 16 -o "$FOLDER/threads.json" >/dev/null
    stop slapd
    rate=$(figure rate_per_cpu_second "$FOLDER/threads.json")
    echo "slapd with $THREADS threads: ${rate%.*} searches for each second of processor time"
    if [ "${rate%.*}" -gt "$best" ]; then best=${rate%.*} best_threads=$THREADS; fi
  done
  THREADS=$best_threads
  configure slapd
}

cleanup() {
  local pid
  for pid in "${PIDS[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait
  unlimit
  rm -rf "$FOLDER"/*.ldif "$FOLDER"/*/db-* "$FOLDER"/*/replication
}
