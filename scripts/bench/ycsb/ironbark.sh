# Three servers of Ironbark and three members of etcd; sourced by ycsb.sh.

readonly SUFFIX='dc=example,dc=com' ROOT='cn=admin,dc=example,dc=com'
# Of this benchmark alone: the servers listen on loopback while it runs.
readonly PASSWORD=secret

member_url() { echo "http://127.0.0.1:$((PORT + 10 * $1))"; }
peer_url() { echo "http://127.0.0.1:$((PORT + 10 * $1 + 1))"; }
node_url() { echo "ldap://127.0.0.1:$((PORT + 10 * $1 + 2))/"; }
metrics() { echo "127.0.0.1:$((PORT + 10 * $1 + 3))"; }

# ironbark_conf NUMBER: its slapd.conf. There is no index on fields: reads and updates name their entry.
ironbark_conf() {
  local folder="$FOLDER/ironbark$1"
  mkdir -p "$folder/db"
  cat >"$folder/slapd.conf" <<CONF
include $PWD/schema/core.schema
include $PWD/scripts/bench/ycsb/record.schema
loglevel none
metrics-listener $(metrics "$1")
database mdb
suffix "$SUFFIX"
rootdn "$ROOT"
rootpw $PASSWORD
directory $folder/db
index objectClass eq
cluster $(member_url 1),$(member_url 2),$(member_url 3)
CONF
}

# start_member NUMBER: a member of etcd. Its commits are flushed to the disk, which is its default.
start_member() {
  etcd --name "m$1" --data-dir "$FOLDER/etcd$1" --listen-client-urls "$(member_url "$1")" \
    --advertise-client-urls "$(member_url "$1")" --listen-peer-urls "$(peer_url "$1")" \
    --initial-advertise-peer-urls "$(peer_url "$1")" \
    --initial-cluster "m1=$(peer_url 1),m2=$(peer_url 2),m3=$(peer_url 3)" >"$FOLDER/etcd$1.log" 2>&1 &
  PIDS[etcd$1]=$!
}

ironbark_start() {
  local number
  for number in 1 2 3; do start_member "$number"; done
  for number in 1 2 3; do
    ironbark_conf "$number"
    "$IRONBARK" slapd -d 0 -f "$FOLDER/ironbark$number/slapd.conf" -h "$(node_url "$number")" \
      >"$FOLDER/ironbark$number.log" 2>&1 &
    PIDS[ironbark$number]=$!
    wait_for "ironbark$number" "$IRONBARK" health --ready "$(metrics "$number")"
  done
}

# ironbark_client COLUMN: arguments of YCSB, a line each.
ironbark_client() {
  local urls latest=false
  urls=$(node_url 1),$(node_url 2),$(node_url 3)
  case $1 in *-one) urls=$(node_url 1) ;; *-latest) latest=true ;; esac
  printf '%s\n' -db IronbarkClient -p "ldap.urls=$urls" -p "ldap.suffix=$SUFFIX" -p "ldap.name=$ROOT" -p "ldap.password=$PASSWORD" \
    -p "ldap.latest=$latest"
}

# ironbark_settled: until all servers have all changes.
ironbark_settled() {
  local number
  for number in 1 2 3; do wait_for "ironbark$number" same_position "$number"; done
}

# position NUMBER NAME: a figure of a server's metrics.
position() {
  curl --silent --noproxy '*' "http://$(metrics "$1")/metrics" | awk -v name="ironbark_cluster_$2{" 'index($1, name) == 1 { print $2 }'
}

same_position() { [ "$(position "$1" position)" = "$(position "$1" end)" ]; }
