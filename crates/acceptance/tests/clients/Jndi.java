// What Java's own LDAP client (JNDI) does with a directory server: one line for each answer.
//
// Arguments: the server's URL, that of its port with TLS, the authority's certificate, and ann's certificate and key (without .crt and .key).

import java.io.FileInputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.PrivateKey;
import java.security.cert.Certificate;
import java.security.cert.CertificateFactory;
import java.security.spec.PKCS8EncodedKeySpec;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.Hashtable;
import java.util.List;
import java.util.TreeMap;
import javax.naming.Context;
import javax.naming.NamingEnumeration;
import javax.naming.NamingException;
import javax.naming.ReferralException;
import javax.naming.directory.*;
import javax.naming.ldap.*;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;

public final class Jndi {
    private static final String BASE = "dc=example,dc=com";
    private static final String PEOPLE = "ou=people," + BASE;
    private static final String ANN = "uid=ann," + PEOPLE;
    private static final String ROOT = "cn=Manager," + BASE;

    private static String url;

    interface Step {
        Object run() throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        url = arguments[0];
        var stranger = SSLContext.getDefault();
        var trusting = tls(arguments[2], arguments[3]);
        binds();
        searches();
        controls();
        writes();
        names();
        referrals();
        schema();
        protection(arguments[1], trusting, stranger);
    }

    private static void binds() {
        show("anonymous", () -> whoami(context()));
        show("bind", () -> whoami(as(ANN, "pencil")));
        show("wrong password", () -> as(ANN, "pencils"));
        show("unknown user", () -> as("uid=nobody," + PEOPLE, "pencil"));
        show("no name", () -> as("nonsense", "pencil"));
        for (var mechanism : List.of("DIGEST-MD5", "CRAM-MD5")) {
            show(mechanism, () -> whoami(sasl(mechanism, "ann", "pencil")));
            show(mechanism + ", wrong password", () -> sasl(mechanism, "ann", "pencils"));
        }
        show("rebind", () -> {
            var context = as(ANN, "pencil");
            context.addToEnvironment(Context.SECURITY_PRINCIPAL, "uid=bob," + PEOPLE);
            context.addToEnvironment(Context.SECURITY_CREDENTIALS, "brush");
            context.reconnect(null);
            return whoami(context);
        });
    }

    private static void searches() {
        show("subtree", () -> search(context(), "", "(|(uid=ann)(uid=bob))", subtree("uid", "cn", "mail")));
        show("one level", () -> {
            var found = search(context(), "", "(objectClass=*)", controls(SearchControls.ONELEVEL_SCOPE, "ou", "cn"));
            return Arrays.stream(found.split("; ")).sorted().toList();
        });
        show("arguments", () -> {
            var found = context().search(PEOPLE, "(&(uid={0})(!(cn={1})))", new Object[] {"ann", "*("}, subtree("uid"));
            return found(found);
        });
        show("no attributes", () -> search(context(), PEOPLE, "(uid=ann)", subtree("1.1")));
        show("operational", () -> {
            var attributes = context().getAttributes(ANN, new String[] {"creatorsName", "hasSubordinates", "+"});
            return attributes.get("creatorsName") + " " + attributes.get("hasSubordinates") + " " + (attributes.get("entryUUID") != null);
        });
        show("compare, true", () -> compare("sn", "Lee"));
        show("compare, false", () -> compare("sn", "Ray"));
        show("no such object", () -> context().getAttributes("uid=nobody," + PEOPLE));
        show("bad filter", () -> search(context(), PEOPLE, "(uid=ann", subtree("uid")));
        show("size limit", () -> {
            var controls = subtree("uid");
            controls.setCountLimit(1);
            return search(context(), PEOPLE, "(objectClass=person)", controls);
        });
        show("list", () -> {
            var names = new ArrayList<String>();
            var list = context().list(BASE);
            while (list.hasMore()) {
                names.add(list.next().getName());
            }
            names.sort(null);
            return names;
        });
    }

    private static void controls() {
        show("pages", () -> {
            var context = context();
            var sizes = new ArrayList<Integer>();
            byte[] cookie = null;
            do {
                context.setRequestControls(new Control[] {new PagedResultsControl(10, cookie, Control.CRITICAL)});
                sizes.add(count(context.search("ou=many," + BASE, "(objectClass=person)", subtree("cn"))));
                cookie = null;
                for (var control : context.getResponseControls()) {
                    if (control instanceof PagedResultsResponseControl page) {
                        cookie = page.getCookie();
                    }
                }
            } while (cookie != null && cookie.length != 0);
            return sizes;
        });
        show("sorted", () -> {
            var context = context();
            var key = new SortKey("uidNumber", false, null);
            context.setRequestControls(new Control[] {new SortControl(new SortKey[] {key}, Control.CRITICAL)});
            var found = search(context, PEOPLE, "(uidNumber=*)", subtree("uidNumber"));
            for (var control : context.getResponseControls()) {
                if (control instanceof SortResponseControl sort) {
                    return found + " sorted: " + sort.isSorted();
                }
            }
            return found;
        });
        show("unknown critical control", () -> {
            var context = context();
            context.setRequestControls(new Control[] {new BasicControl("1.2.3.4", Control.CRITICAL, null)});
            return search(context, PEOPLE, "(uid=ann)", subtree("uid"));
        });
        show("unknown control", () -> {
            var context = context();
            context.setRequestControls(new Control[] {new BasicControl("1.2.3.4", Control.NONCRITICAL, null)});
            return search(context, PEOPLE, "(uid=ann)", subtree("uid"));
        });
    }

    private static void writes() throws Exception {
        var root = as(ROOT, "secret");
        var name = "cn=carl," + PEOPLE;
        show("add", () -> root.createSubcontext(name, person("carl", "Carl")) != null);
        show("add again", () -> root.createSubcontext(name, person("carl", "Carl")));
        show("add without what is demanded", () -> {
            var attributes = new BasicAttributes("objectClass", "person", true);
            attributes.put("cn", "dora");
            return root.createSubcontext("cn=dora," + PEOPLE, attributes);
        });
        show("add below nothing", () -> root.createSubcontext("cn=x,cn=y," + BASE, person("x", "X")));
        show("modify", () -> {
            root.modifyAttributes(name, new ModificationItem[] {
                item(DirContext.ADD_ATTRIBUTE, "description", "one"),
                item(DirContext.ADD_ATTRIBUTE, "description", "two"),
                item(DirContext.REPLACE_ATTRIBUTE, "sn", "Carlson"),
                item(DirContext.REMOVE_ATTRIBUTE, "description", "one"),
            });
            return entry(root.getAttributes(name));
        });
        show("add a value again", () -> modify(root, name, item(DirContext.ADD_ATTRIBUTE, "description", "two")));
        show("remove what is not there", () -> modify(root, name, item(DirContext.REMOVE_ATTRIBUTE, "description", "three")));
        show("undefined attribute", () -> modify(root, name, item(DirContext.ADD_ATTRIBUTE, "colour", "red")));
        show("remove what is demanded", () -> modify(root, name, item(DirContext.REMOVE_ATTRIBUTE, "sn", null)));
        show("octets", () -> {
            var octets = new byte[] {0, (byte) 0xff, 10, 0x30};
            modify(root, ANN, item(DirContext.REPLACE_ATTRIBUTE, "jpegPhoto", octets));
            return Arrays.toString((byte[]) root.getAttributes(ANN).get("jpegPhoto").get());
        });
        show("write as ann", () -> modify(as(ANN, "pencil"), name, item(DirContext.REPLACE_ATTRIBUTE, "sn", "x")));
        show("write as nobody", () -> modify(context(), name, item(DirContext.REPLACE_ATTRIBUTE, "sn", "x")));
        show("rename", () -> {
            root.rename(name, "cn=charles," + PEOPLE);
            return entry(root.getAttributes("cn=charles," + PEOPLE));
        });
        show("rename, keeping the old value", () -> {
            root.addToEnvironment("java.naming.ldap.deleteRDN", "false");
            root.rename("cn=charles," + PEOPLE, name);
            return entry(root.getAttributes(name));
        });
        show("move", () -> {
            root.rename(name, "cn=carl,ou=many," + BASE);
            return entry(root.getAttributes("cn=carl,ou=many," + BASE, new String[] {"cn"}));
        });
        show("rename to what is there", () -> {
            root.rename("cn=carl,ou=many," + BASE, "cn=m1,ou=many," + BASE);
            return "renamed";
        });
        show("delete", () -> {
            root.destroySubcontext("cn=carl,ou=many," + BASE);
            return "deleted";
        });
        show("delete what has children", () -> {
            root.destroySubcontext(PEOPLE);
            return "deleted";
        });
    }

    /// Names that need escapes, in LDAP and in JNDI's composite names.
    private static void names() throws Exception {
        var root = as(ROOT, "secret");
        for (var value : List.of("Lee, Ann", "a/b", "say \"x\"", " blank ", "a+b=c", "back\\slash", "#x", "Zoë")) {
            show("name " + value, () -> {
                var name = new LdapName(PEOPLE).add(new Rdn("cn", value));
                root.createSubcontext(name, person(value, "Name"));
                var found = root.search(PEOPLE, "(cn={0})", new Object[] {value}, subtree("cn"));
                var text = new LdapName(found.next().getNameInNamespace()).equals(name) + " " + root.getAttributes(name).get("cn");
                root.destroySubcontext(name);
                return text;
            });
        }
    }

    private static void referrals() throws Exception {
        var root = as(ROOT, "secret");
        root.addToEnvironment(Context.REFERRAL, "ignore");
        var attributes = new BasicAttributes("objectClass", "referral", true);
        attributes.get("objectClass").add("extensibleObject");
        attributes.put("ou", "elsewhere");
        attributes.put("ref", url + PEOPLE);
        root.createSubcontext("ou=elsewhere," + BASE, attributes);
        for (var how : List.of("ignore", "follow", "throw")) {
            show(how + " continuation", () -> {
                var context = context(Context.REFERRAL, how);
                return search(context, BASE, "(|(uid=ann)(ou=elsewhere))", subtree("uid", "ou"));
            });
            show(how + " referral", () -> {
                var context = context(Context.REFERRAL, how);
                return search(context, "ou=elsewhere," + BASE, "(|(uid=ann)(ou=elsewhere))", subtree("uid", "ou"));
            });
        }
        show("write by way of a referral", () -> modify(root(Context.REFERRAL, "follow"), "uid=bob,ou=elsewhere," + BASE,
            item(DirContext.REPLACE_ATTRIBUTE, "description", "by referral")));
        show("what was written", () -> root.getAttributes("uid=bob," + PEOPLE).get("description"));
        root.destroySubcontext("ou=elsewhere," + BASE);
    }

    private static void schema() {
        show("schema", () -> {
            var schema = context().getSchema("");
            var type = schema.getAttributes("AttributeDefinition/cn");
            var kind = schema.getAttributes("ClassDefinition/person");
            return type.get("NUMERICOID") + " " + type.get("SUP") + " " + kind.get("MUST") + " " + kind.get("MAY");
        });
        show("root DSE", () -> {
            var attributes = context().getAttributes("", new String[] {"namingContexts", "supportedLDAPVersion", "subschemaSubentry"});
            return entry(attributes);
        });
    }

    private static void protection(String tlsUrl, SSLContext trusting, SSLContext stranger) {
        show("StartTLS", () -> {
            var context = started(trusting);
            context.addToEnvironment(Context.SECURITY_PRINCIPAL, ANN);
            context.addToEnvironment(Context.SECURITY_CREDENTIALS, "pencil");
            context.addToEnvironment(Context.SECURITY_AUTHENTICATION, "simple");
            return whoami(context) + " " + search(context, PEOPLE, "(uid=ann)", subtree("uid"));
        });
        show("StartTLS and PLAIN", () -> {
            var context = started(trusting);
            context.addToEnvironment(Context.SECURITY_PRINCIPAL, "ann");
            context.addToEnvironment(Context.SECURITY_CREDENTIALS, "pencil");
            context.addToEnvironment(Context.SECURITY_AUTHENTICATION, "PLAIN");
            return whoami(context);
        });
        show("StartTLS and EXTERNAL", () -> {
            var context = started(trusting);
            context.addToEnvironment(Context.SECURITY_AUTHENTICATION, "EXTERNAL");
            return whoami(context);
        });
        show("StartTLS without trust", () -> started(stranger));
        show("ldaps", () -> {
            SSLContext.setDefault(trusting);
            var context = new InitialLdapContext(environment(Context.PROVIDER_URL, tlsUrl), null);
            return search(context, PEOPLE, "(uid=ann)", subtree("uid"));
        });
        show("PLAIN in the clear", () -> sasl("PLAIN", "ann", "pencil"));
    }

    /// A context after StartTLS. It is not closed: the process ends soon.
    private static LdapContext started(SSLContext context) throws Exception {
        var connection = context();
        var response = (StartTlsResponse) connection.extendedOperation(new StartTlsRequest());
        response.negotiate(context.getSocketFactory());
        return connection;
    }

    private static SSLContext tls(String authority, String identity) throws Exception {
        var trusted = KeyStore.getInstance("PKCS12");
        trusted.load(null, null);
        trusted.setCertificateEntry("authority", certificate(authority));
        var trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(trusted);
        var own = KeyStore.getInstance("PKCS12");
        own.load(null, null);
        own.setKeyEntry("ann", key(identity + ".key"), "secret".toCharArray(), new Certificate[] {certificate(identity + ".crt")});
        var keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(own, "secret".toCharArray());
        var context = SSLContext.getInstance("TLS");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return context;
    }

    private static Certificate certificate(String path) throws Exception {
        try (var file = new FileInputStream(path)) {
            return CertificateFactory.getInstance("X.509").generateCertificate(file);
        }
    }

    private static PrivateKey key(String path) throws Exception {
        var text = Files.readString(Path.of(path)).replaceAll("-----.*-----|\\s", "");
        return KeyFactory.getInstance("EC").generatePrivate(new PKCS8EncodedKeySpec(Base64.getDecoder().decode(text)));
    }

    private static Hashtable<String, Object> environment(String... pairs) {
        var environment = new Hashtable<String, Object>();
        environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.ldap.LdapCtxFactory");
        environment.put(Context.PROVIDER_URL, url);
        environment.put("com.sun.jndi.ldap.read.timeout", "60000");
        for (int i = 0; i < pairs.length; i += 2) {
            environment.put(pairs[i], pairs[i + 1]);
        }
        return environment;
    }

    private static LdapContext context(String... pairs) throws NamingException {
        return new InitialLdapContext(environment(pairs), null);
    }

    private static LdapContext as(String dn, String password) throws NamingException {
        return context(Context.SECURITY_PRINCIPAL, dn, Context.SECURITY_CREDENTIALS, password);
    }

    private static LdapContext root(String name, String value) throws NamingException {
        return context(Context.SECURITY_PRINCIPAL, ROOT, Context.SECURITY_CREDENTIALS, "secret", name, value);
    }

    private static LdapContext sasl(String mechanism, String user, String password) throws NamingException {
        return context(Context.SECURITY_AUTHENTICATION, mechanism, Context.SECURITY_PRINCIPAL, user, Context.SECURITY_CREDENTIALS, password);
    }

    private static SearchControls controls(int scope, String... attributes) {
        return new SearchControls(scope, 0, 0, attributes, false, false);
    }

    private static SearchControls subtree(String... attributes) {
        return controls(SearchControls.SUBTREE_SCOPE, attributes);
    }

    private static String search(LdapContext context, String base, String filter, SearchControls controls) throws Exception {
        return found(context.search(base.isEmpty() ? BASE : base, filter, controls));
    }

    private static String found(NamingEnumeration<SearchResult> results) throws Exception {
        var lines = new ArrayList<String>();
        try {
            while (results.hasMore()) {
                var result = results.next();
                lines.add(result.getNameInNamespace() + entry(result.getAttributes()));
            }
        } catch (ReferralException referral) {
            lines.add("referral to " + referral.getReferralInfo().toString().replace(url, "ldap://server/"));
        } catch (NamingException failure) {
            lines.add(text(failure));
        }
        return String.join("; ", lines);
    }

    private static int count(NamingEnumeration<SearchResult> results) throws NamingException {
        int count = 0;
        for (; results.hasMore(); results.next()) {
            count++;
        }
        return count;
    }

    /// A search of one entry for no attribute by an equality is sent as Compare.
    private static boolean compare(String attribute, String value) throws NamingException {
        var controls = controls(SearchControls.OBJECT_SCOPE);
        return context().search(ANN, "(" + attribute + "={0})", new Object[] {value}, controls).hasMore();
    }

    private static Attributes person(String cn, String sn) {
        var attributes = new BasicAttributes("objectClass", "person", true);
        attributes.put("cn", cn);
        attributes.put("sn", sn);
        return attributes;
    }

    private static ModificationItem item(int kind, String name, Object value) {
        return new ModificationItem(kind, value == null ? new BasicAttribute(name) : new BasicAttribute(name, value));
    }

    private static String modify(LdapContext context, String name, ModificationItem item) throws NamingException {
        context.modifyAttributes(name, new ModificationItem[] {item});
        return "modified";
    }

    private static String entry(Attributes attributes) throws NamingException {
        var sorted = new TreeMap<String, String>();
        for (var all = attributes.getAll(); all.hasMore();) {
            var attribute = all.next();
            sorted.put(attribute.getID(), attribute.toString());
        }
        return sorted.values().toString();
    }

    /// Who am I? (RFC 4532)
    private static String whoami(LdapContext context) throws NamingException {
        var response = context.extendedOperation(new ExtendedRequest() {
            public String getID() {
                return "1.3.6.1.4.1.4203.1.11.3";
            }

            public byte[] getEncodedValue() {
                return null;
            }

            public ExtendedResponse createExtendedResponse(String id, byte[] ber, int offset, int length) {
                return new Answer(ber == null ? "" : new String(ber, offset, length));
            }
        });
        return ((Answer) response).text();
    }

    record Answer(String text) implements ExtendedResponse {
        public String getID() {
            return null;
        }

        public byte[] getEncodedValue() {
            return null;
        }
    }

    private static String text(Exception failure) {
        var message = failure.getMessage() == null ? "" : " " + failure.getMessage().replace(url, "ldap://server/");
        return failure.getClass().getSimpleName() + message;
    }

    private static void show(String what, Step step) {
        String answer;
        try {
            answer = String.valueOf(step.run());
        } catch (Exception failure) {
            answer = text(failure);
        }
        System.out.println(what + ": " + answer.replace(url, "ldap://server/"));
    }
}
