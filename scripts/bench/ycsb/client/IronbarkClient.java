import com.unboundid.ldap.sdk.Attribute;
import com.unboundid.ldap.sdk.DN;
import com.unboundid.ldap.sdk.Entry;
import com.unboundid.ldap.sdk.Filter;
import com.unboundid.ldap.sdk.LDAPConnection;
import com.unboundid.ldap.sdk.LDAPConnectionOptions;
import com.unboundid.ldap.sdk.LDAPException;
import com.unboundid.ldap.sdk.LDAPURL;
import com.unboundid.ldap.sdk.Modification;
import com.unboundid.ldap.sdk.ModificationType;
import com.unboundid.ldap.sdk.ModifyRequest;
import com.unboundid.ldap.sdk.RDN;
import com.unboundid.ldap.sdk.ResultCode;
import com.unboundid.ldap.sdk.SearchRequest;
import com.unboundid.ldap.sdk.SearchResult;
import com.unboundid.ldap.sdk.SearchScope;
import com.unboundid.ldap.sdk.controls.DontUseCopyRequestControl;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.Vector;
import java.util.concurrent.atomic.AtomicInteger;
import site.ycsb.ByteArrayByteIterator;
import site.ycsb.ByteIterator;
import site.ycsb.DB;
import site.ycsb.DBException;
import site.ycsb.Status;

/**
 * YCSB's operations as LDAP: a record is the entry cn=KEY,ou=TABLE,SUFFIX, a field is an attribute.
 *
 * <p>Each thread of YCSB has one connection; the threads take the servers in turn. Properties: {@code ldap.urls}, a list
 * with commas; {@code ldap.suffix}, {@code ldap.name} and {@code ldap.password}; {@code ldap.latest=true} for reads with
 * the control "don't use copy" (RFC 6171), which see every write that was acknowledged before; {@code ldap.create=true}
 * to add the entries above the records first.
 */
public class IronbarkClient extends DB {
  private static final AtomicInteger THREADS = new AtomicInteger();
  private static final String[] ALL = {SearchRequest.ALL_USER_ATTRIBUTES};
  private static final Filter ANY = Filter.createPresenceFilter("objectClass");

  private LDAPConnection connection;
  private String suffix;
  private boolean isLatest;

  @Override
  public void init() throws DBException {
    String[] urls = getProperties().getProperty("ldap.urls").split(",");
    suffix = getProperties().getProperty("ldap.suffix");
    isLatest = Boolean.parseBoolean(getProperties().getProperty("ldap.latest", "false"));
    LDAPConnectionOptions options = new LDAPConnectionOptions();
    // A thread waits for its answer itself; no other thread hands it over.
    options.setUseSynchronousMode(true);
    try {
      LDAPURL url = new LDAPURL(urls[THREADS.getAndIncrement() % urls.length]);
      connection = new LDAPConnection(options, url.getHost(), url.getPort(),
          getProperties().getProperty("ldap.name"), getProperties().getProperty("ldap.password"));
      if (Boolean.parseBoolean(getProperties().getProperty("ldap.create", "false"))) {
        create();
      }
    } catch (LDAPException refused) {
      throw new DBException(refused);
    }
  }

  private void create() throws LDAPException {
    RDN name = new DN(suffix).getRDN();
    add(new Entry(suffix, new Attribute("objectClass", "organization", "dcObject"), new Attribute("o", "YCSB"),
        new Attribute(name.getAttributeNames()[0], name.getAttributeValues()[0])));
    add(new Entry("ou=usertable," + suffix, new Attribute("objectClass", "organizationalUnit")));
  }

  /** Adds an entry that another thread may have added. */
  private void add(Entry entry) throws LDAPException {
    try {
      connection.add(entry);
    } catch (LDAPException refused) {
      if (!refused.getResultCode().equals(ResultCode.ENTRY_ALREADY_EXISTS)) {
        throw refused;
      }
    }
  }

  @Override
  public void cleanup() {
    connection.close();
  }

  private String dn(String table, String key) {
    return "cn=" + key + ",ou=" + table + "," + suffix;
  }

  private static Status status(LDAPException refused) {
    return refused.getResultCode().equals(ResultCode.NO_SUCH_OBJECT)
        ? Status.NOT_FOUND
        : new Status("LDAP_" + refused.getResultCode().intValue(), refused.getMessage());
  }

  @Override
  public Status read(String table, String key, Set<String> fields, Map<String, ByteIterator> result) {
    SearchRequest request = new SearchRequest(dn(table, key), SearchScope.BASE, ANY,
        fields == null ? ALL : fields.toArray(new String[0]));
    if (isLatest) {
      request.addControl(new DontUseCopyRequestControl());
    }
    try {
      SearchResult found = connection.search(request);
      if (found.getEntryCount() != 1) {
        return Status.NOT_FOUND;
      }
      for (Attribute attribute : found.getSearchEntries().get(0).getAttributes()) {
        result.put(attribute.getName(), new ByteArrayByteIterator(attribute.getValueByteArray()));
      }
      return Status.OK;
    } catch (LDAPException refused) {
      return status(refused);
    }
  }

  @Override
  public Status update(String table, String key, Map<String, ByteIterator> values) {
    Modification[] modifications = new Modification[values.size()];
    int next = 0;
    for (Map.Entry<String, ByteIterator> field : values.entrySet()) {
      modifications[next++] =
          new Modification(ModificationType.REPLACE, field.getKey(), field.getValue().toArray());
    }
    try {
      connection.modify(new ModifyRequest(dn(table, key), modifications));
      return Status.OK;
    } catch (LDAPException refused) {
      return status(refused);
    }
  }

  @Override
  public Status insert(String table, String key, Map<String, ByteIterator> values) {
    Entry entry = new Entry(dn(table, key), new Attribute("objectClass", "ycsbRecord"), new Attribute("cn", key));
    for (Map.Entry<String, ByteIterator> field : values.entrySet()) {
      entry.addAttribute(field.getKey(), field.getValue().toArray());
    }
    try {
      connection.add(entry);
      return Status.OK;
    } catch (LDAPException refused) {
      return status(refused);
    }
  }

  @Override
  public Status delete(String table, String key) {
    try {
      connection.delete(dn(table, key));
      return Status.OK;
    } catch (LDAPException refused) {
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
