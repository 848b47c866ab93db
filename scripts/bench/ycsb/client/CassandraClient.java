import com.datastax.oss.driver.api.core.CqlSession;
import com.datastax.oss.driver.api.core.CqlSessionBuilder;
import com.datastax.oss.driver.api.core.DriverException;
import com.datastax.oss.driver.api.core.config.DefaultDriverOption;
import com.datastax.oss.driver.api.core.config.DriverConfigLoader;
import com.datastax.oss.driver.api.core.cql.BoundStatementBuilder;
import com.datastax.oss.driver.api.core.cql.ColumnDefinition;
import com.datastax.oss.driver.api.core.cql.PreparedStatement;
import com.datastax.oss.driver.api.core.cql.Row;
import java.net.InetSocketAddress;
import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.Vector;
import java.util.concurrent.ConcurrentHashMap;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;
import site.ycsb.StringByteIterator;

/**
 * YCSB's operations as CQL, with prepared statements: a record is a row of the table, a field is a column of text.
 *
 * <p>All threads share a session, as the driver's manual wants it; it sends each request to a server that holds the
 * row. Properties: {@code cassandra.hosts}, a list with commas; {@code cassandra.port}; {@code cassandra.consistency};
 * {@code cassandra.create=true} to create keyspace and table, with three copies of each row.
 */
public class CassandraClient extends DB {
  private static final String KEYSPACE = "ycsb";
  private static final Map<String, PreparedStatement> PREPARED = new ConcurrentHashMap<>();
  private static CqlSession session;
  private static int users;

  @Override
  public void init() throws DBException {
    synchronized (CassandraClient.class) {
      users++;
      if (session != null) {
        return;
      }
      try {
        open();
      } catch (DriverException refused) {
        throw new DBException(refused);
      }
    }
  }

  private void open() {
    DriverConfigLoader settings = DriverConfigLoader.programmaticBuilder()
        .withString(DefaultDriverOption.REQUEST_CONSISTENCY,
            getProperties().getProperty("cassandra.consistency", "QUORUM"))
        .withDuration(DefaultDriverOption.REQUEST_TIMEOUT, Duration.ofSeconds(10))
        .build();
    CqlSessionBuilder builder = CqlSession.builder().withConfigLoader(settings).withLocalDatacenter("datacenter1");
    int port = Integer.parseInt(getProperties().getProperty("cassandra.port", "9042"));
    for (String host : getProperties().getProperty("cassandra.hosts").split(",")) {
      builder.addContactPoint(new InetSocketAddress(host, port));
    }
    session = builder.build();
    if (Boolean.parseBoolean(getProperties().getProperty("cassandra.create", "false"))) {
      session.execute("CREATE KEYSPACE IF NOT EXISTS " + KEYSPACE
          + " WITH replication = {'class': 'NetworkTopologyStrategy', 'datacenter1': 3}");
      StringBuilder columns = new StringBuilder("y_id text PRIMARY KEY");
      for (int field = 0; field < 10; field++) {
        columns.append(", field").append(field).append(" text");
      }
      session.execute("CREATE TABLE IF NOT EXISTS " + KEYSPACE + ".usertable (" + columns + ")");
    }
  }

  @Override
  public void cleanup() {
    synchronized (CassandraClient.class) {
      if (--users == 0) {
        session.close();
        session = null;
        PREPARED.clear();
      }
    }
  }

  private static PreparedStatement prepared(String statement) {
    return PREPARED.computeIfAbsent(statement, session::prepare);
  }

  private static Status status(RuntimeException refused) {
    String name = refused.getClass().getSimpleName();
    return new Status(name, refused.getMessage());
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    String columns = fields == null ? "*" : String.join(",", new TreeSet<>(fields));
    try {
      Row row = session
          .execute(prepared("SELECT " + columns + " FROM " + KEYSPACE + "." + table + " WHERE y_id = ?").bind(key))
          .one();
      if (row == null) {
        return Status.NOT_FOUND;
      }
      int index = 0;
      for (ColumnDefinition column : row.getColumnDefinitions()) {
        String value = row.getString(index++);
        result.put(column.getName().asInternal(), value == null ? null : new StringByteIterator(value));
      }
      return Status.OK;
    } catch (DriverException refused) {
      return status(refused);
    }
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    TreeSet<String> names = new TreeSet<>(values.keySet());
    String statement = "UPDATE " + KEYSPACE + "." + table + " SET " + String.join(" = ?, ", names)
        + " = ? WHERE y_id = ?";
    return write(statement, names, values, key);
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    TreeSet<String> names = new TreeSet<>(values.keySet());
    String statement = "INSERT INTO " + KEYSPACE + "." + table + " (" + String.join(", ", names) + ", y_id) VALUES ("
        + "?, ".repeat(names.size()) + "?)";
    return write(statement, names, values, key);
  }

  private static Status write(String statement, TreeSet<String> names, Map<String, ByteIterator> values, String key) {
    try {
      BoundStatementBuilder bound = prepared(statement).boundStatementBuilder();
      int index = 0;
      for (String name : names) {
        bound = bound.setString(index++, values.get(name).toString());
      }
      session.execute(bound.setString(index, key).build());
      return Status.OK;
    } catch (DriverException refused) {
      return status(refused);
    }
  }

  @Override
  public Status delete(String table, String key) {
    try {
      session.execute(prepared("DELETE FROM " + KEYSPACE + "." + table + " WHERE y_id = ?").bind(key));
      return Status.OK;
    } catch (DriverException refused) {
      return status(refused);
    }
  }

  /** The workloads A, B, C and 80/20 have no scans. */
  @Override
  public Status scan(String table, String start, int count, Set<String> fields,
      Vector<HashMap<String, ByteIterator>> result) {
    return Status.NOT_IMPLEMENTED;
  }
}
