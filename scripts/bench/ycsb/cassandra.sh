# Three servers of Cassandra on 127.0.0.1, .2 and .3; sourced by ycsb.sh.

CASSANDRA_HEAP="${CASSANDRA_HEAP:-1g}"

jmx_port() { echo $((PORT + 10 * $1 + 5)); }

# cassandra_conf NUMBER SYNC: its configuration, with the formats and memory layout that Cassandra 5.0 recommends to new users.
# SYNC is batch (a write is acknowledged when it is on the disk) or periodic (Cassandra's default: every ten seconds).
cassandra_conf() {
  local folder="$FOLDER/cassandra$1"
  mkdir -p "$folder"
  cat >"$folder/cassandra.yaml" <<CONF
cluster_name: ycsb
num_tokens: 16
allocate_tokens_for_local_replication_factor: 3
auto_bootstrap: false
partitioner: org.apache.cassandra.dht.Murmur3Partitioner
data_file_directories: [$folder/data]
commitlog_directory: $folder/commitlog
hints_directory: $folder/hints
saved_caches_directory: $folder/saved_caches
cdc_raw_directory: $folder/cdc_raw
commitlog_sync: $2
$([ "$2" != periodic ] || echo 'commitlog_sync_period: 10s')
commitlog_disk_access_mode: auto
seed_provider:
  - class_name: org.apache.cassandra.locator.SimpleSeedProvider
    parameters: [{seeds: '127.0.0.1:$((PORT + 1))'}]
listen_address: 127.0.0.$1
rpc_address: 127.0.0.$1
native_transport_port: $PORT
storage_port: $((PORT + 1))
ssl_storage_port: $((PORT + 2))
endpoint_snitch: SimpleSnitch
storage_compatibility_mode: NONE
sstable: {selected_format: bti}
uuid_sstable_identifiers_enabled: true
memtable:
  configurations:
    trie: {class_name: TrieMemtable}
    default: {inherits: trie}
memtable_allocation_type: offheap_objects
trickle_fsync: true
default_compaction:
  class_name: UnifiedCompactionStrategy
  parameters: {scaling_parameters: T4, max_sstables_to_compact: 64, target_sstable_size: 1GiB, sstable_growth: 0.3333333333333333, min_sstable_size: 100MiB}
CONF
  cat >"$folder/logback.xml" <<'CONF'
<configuration>
  <appender name="OUT" class="ch.qos.logback.core.ConsoleAppender">
    <encoder><pattern>%d{HH:mm:ss} %-5level %logger{20} %msg%n</pattern></encoder>
  </appender>
  <root level="INFO"><appender-ref ref="OUT"/></root>
</configuration>
CONF
}

# cassandra_node NUMBER: the server; returns when it answers.
cassandra_node() {
  local folder="$FOLDER/cassandra$1"
  java @"$PWD/scripts/bench/ycsb/cassandra/jvm.options" "-Xms$CASSANDRA_HEAP" "-Xmx$CASSANDRA_HEAP" \
    "-javaagent:$(tr : '\n' <"$FOLDER/server.cp" | grep /jamm-)" "-Dcassandra.config=file://$folder/cassandra.yaml" \
    "-Dcassandra.storagedir=$folder" "-Dcassandra.logdir=$folder" "-Dlogback.configurationFile=$folder/logback.xml" \
    "-Dcassandra.jmx.local.port=$(jmx_port "$1")" -Dcassandra-foreground=yes -Dcassandra.ring_delay_ms=2000 \
    -cp "$folder:$(cat "$FOLDER/server.cp")" org.apache.cassandra.service.CassandraDaemon >"$FOLDER/cassandra$1.log" 2>&1 &
  PIDS[cassandra$1]=$!
  wait_for "cassandra$1" is_open "127.0.0.$1" "$PORT"
}

cassandra_start() {
  local number
  for number in 1 2 3; do
    cassandra_conf "$number" "$1"
    cassandra_node "$number"
  done
}

# cassandra_client CONSISTENCY: arguments of YCSB, a line each.
cassandra_client() {
  printf '%s\n' -db CassandraClient -p cassandra.hosts=127.0.0.1,127.0.0.2,127.0.0.3 -p "cassandra.port=$PORT" \
    -p "cassandra.consistency=$1"
}

# nodetool NUMBER COMMAND...: Cassandra's own tool, at one server.
nodetool() {
  java @"$PWD/scripts/bench/ycsb/cassandra/jvm.options" -XX:-AlwaysPreTouch -Xmx128m "-Duser.home=$FOLDER" \
    -cp "$(cat "$FOLDER/server.cp")" "-Dlogback.configurationFile=$FOLDER/cassandra$1/logback.xml" \
    org.apache.cassandra.tools.NodeTool -h 127.0.0.1 -p "$(jmx_port "$1")" "${@:2}"
}
