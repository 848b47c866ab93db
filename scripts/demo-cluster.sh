#!/usr/bin/env bash
# A cluster on loopback: three members of Debian's etcd, three servers, one writer. One server and the leader of etcd are
# killed and come back, and a page shows what happened to rate and lag. Everything is in the folder demo-cluster, and
# ends with the script.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly FOLDER="$PWD/demo-cluster"
readonly TARGET="${CARGO_TARGET_DIR:-$PWD/target}"
readonly BIN="${IRONBARK_BIN:-$TARGET/demo/ironbark}"
readonly PORT="${IRONBARK_DEMO_PORT:-3890}"
readonly SUBSCRIBERS=10000
readonly SECONDS_OF_LOAD=30
readonly ROOT='cn=admin,dc=example,dc=com'
# Of this demo alone: the servers listen on loopback while it runs.
readonly PASSWORD=secret

pids=()
leave() {
  local pid
  for pid in "${pids[@]}"; do kill -9 "$pid" 2>/dev/null || :; done
}
trap leave EXIT

# Remembers a process in a variable. The shell says nothing when it is killed.
keep() {
  printf -v "$1" %s "$2"
  pids+=("$2")
  disown "$2"
}

client_port() { echo $((PORT + 10 * $1 + 1)); }
peer_port() { echo $((PORT + 10 * $1 + 2)); }
node_port() { echo $((PORT + 10 * $1 + 3)); }
metrics_port() { echo $((PORT + 10 * $1 + 4)); }

members='' endpoints=''
for number in 1 2 3; do
  members+="${members:+,}m$number=http://127.0.0.1:$(peer_port "$number")"
  endpoints+="${endpoints:+,}http://127.0.0.1:$(client_port "$number")"
done

# Starts member $1 of etcd. Its process is in etcd_pid_$1.
start_member() {
  local client peer
  client=http://127.0.0.1:$(client_port "$1") peer=http://127.0.0.1:$(peer_port "$1")
  etcd --name "m$1" --data-dir "$FOLDER/etcd$1" --listen-client-urls "$client" --advertise-client-urls "$client" \
    --listen-peer-urls "$peer" --initial-advertise-peer-urls "$peer" --initial-cluster "$members" \
    --heartbeat-interval 50 --election-timeout 500 >>"$FOLDER/etcd$1.log" 2>&1 &
  keep "etcd_pid_$1" $!
}

# Starts server $1. Its process is in node_pid_$1.
start_node() {
  "$BIN" slapd -d 0 -f "$FOLDER/node$1.conf" -h "ldap://127.0.0.1:$(node_port "$1")/" >>"$FOLDER/node$1.log" 2>&1 &
  keep "node_pid_$1" $!
}

write_configuration() {
  mkdir -p -m 700 "$FOLDER/data$1"
  cat >"$FOLDER/node$1.conf" <<CONF
include $PWD/schema/core.schema
include $PWD/schema/cosine.schema
include $PWD/schema/inetorgperson.schema
include $PWD/schema/telco.schema
metrics-listener 127.0.0.1:$(metrics_port "$1")
database mdb
suffix "dc=example,dc=com"
rootdn "$ROOT"
rootpw $PASSWORD
directory $FOLDER/data$1
index objectClass,imsi,msisdn eq
cluster $endpoints
CONF
  chmod 600 "$FOLDER/node$1.conf"
}

ready() { "$BIN" health --ready "127.0.0.1:$(metrics_port "$1")" >/dev/null 2>&1; }
wait_ready() { until ready "$1"; do read -rt 0.2 <> <(:) || :; done; }
say() { printf '%s  %s\n' "$(date +%T)" "$*" | tee -a "$FOLDER/events"; }
pause() { read -rt "$1" <> <(:) || :; }

leader() {
  local number
  for number in 1 2 3; do
    if ETCDCTL_API=3 etcdctl --endpoints "http://127.0.0.1:$(client_port "$number")" endpoint status 2>/dev/null |
      grep -q ' true, false'; then
      echo "$number"
      return
    fi
  done
}

scripts/deps.sh cluster
[ -n "${IRONBARK_BIN:-}" ] || cargo build --quiet --locked --profile demo --package ironbark-admin --bin ironbark
[ ! -e "$FOLDER" ] || [ -e "$FOLDER/node1.conf" ] || { echo "demo-cluster: $FOLDER is not of this demo" >&2; exit 1; }
rm -rf "$FOLDER"
mkdir -m 700 "$FOLDER"
for number in 1 2 3; do write_configuration "$number"; done
rm -f "$FOLDER/telco.ldif"
"$BIN" generate telco --count "$SUBSCRIBERS" -o "$FOLDER/telco.ldif"
"$BIN" slapadd -q -f "$FOLDER/node1.conf" -l "$FOLDER/telco.ldif"
for number in 2 3; do cp "$FOLDER/data1/data.mdb" "$FOLDER/data$number/"; done
for number in 1 2 3; do start_member "$number"; done
for number in 1 2 3; do
  start_node "$number"
  wait_ready "$number"
done
"$BIN" cluster status -f "$FOLDER/node1.conf" || :

echo
say "begin: 16 clients modify at server 1 for $SECONDS_OF_LOAD s"
python3 scripts/demo-cluster.py "$FOLDER" "$SECONDS_OF_LOAD" "$(metrics_port 1)" "$(metrics_port 2)" "$(metrics_port 3)" &
sampler=$!
"$BIN" load telco modify -H "ldap://127.0.0.1:$(node_port 1)/" -D "$ROOT" -w "$PASSWORD" --entries "$SUBSCRIBERS" -c 16 \
  -s "$SECONDS_OF_LOAD" --warm-up 0 --allow 51 --allow 52 >"$FOLDER/load.txt" 2>&1 &
writer=$!
pause 6
say 'kill: server 3'
kill -9 "$node_pid_3"
pause 6
say 'start: server 3'
start_node 3
pause 5
victim=$(leader)
victim_pid=etcd_pid_$victim
say "kill: member $victim of etcd, which leads"
kill -9 "${!victim_pid}"
pause 6
say "start: member $victim"
start_member "$victim"
wait "$writer" || :
wait "$sampler"
say 'end'
echo
grep -v '^$' "$FOLDER/load.txt" | head -n 4
"$BIN" cluster status -f "$FOLDER/node1.conf" || :
echo
echo "Rate and lag over time: $FOLDER/page.html"
