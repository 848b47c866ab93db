// What Java's event listeners (javax.naming.event) are told of changes: one line for each event.
//
// Arguments: the server's URL, the name to bind with, and its password.

import java.util.Hashtable;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import javax.naming.Binding;
import javax.naming.Context;
import javax.naming.directory.*;
import javax.naming.event.*;
import javax.naming.ldap.InitialLdapContext;

public final class Watch {
    private static final String PEOPLE = "ou=people,dc=example,dc=com";

    private static final LinkedBlockingQueue<String> events = new LinkedBlockingQueue<>();

    public static void main(String[] arguments) throws Exception {
        var environment = new Hashtable<String, Object>();
        environment.put(Context.INITIAL_CONTEXT_FACTORY, "com.sun.jndi.ldap.LdapCtxFactory");
        environment.put(Context.PROVIDER_URL, arguments[0]);
        environment.put(Context.SECURITY_PRINCIPAL, arguments[1]);
        environment.put(Context.SECURITY_CREDENTIALS, arguments[2]);
        var writer = new InitialLdapContext(environment, null);
        var watched = (EventDirContext) new InitialLdapContext(environment, null).lookup(PEOPLE);
        watched.addNamingListener("", EventContext.SUBTREE_SCOPE, new Listener());
        // The listener's own thread sends the search; nothing is sent before it.
        var name = "cn=x," + PEOPLE;
        var person = new BasicAttributes("objectClass", "person", true);
        person.put("cn", "x");
        person.put("sn", "one");
        for (String event = null; event == null; event = events.poll(200, TimeUnit.MILLISECONDS)) {
            var mark = new BasicAttributes("description", String.valueOf(System.nanoTime()));
            writer.modifyAttributes(PEOPLE, DirContext.REPLACE_ATTRIBUTE, mark);
        }
        writer.createSubcontext(name, person);
        writer.modifyAttributes(name, DirContext.REPLACE_ATTRIBUTE, new BasicAttributes("sn", "two"));
        writer.rename(name, "cn=y," + PEOPLE);
        writer.destroySubcontext("cn=y," + PEOPLE);
        for (int left = 4; left > 0;) {
            var event = events.poll(60, TimeUnit.SECONDS);
            if (event == null) {
                throw new IllegalStateException("no event for a minute");
            }
            if (!event.startsWith("changed \"\"")) {
                System.out.println(event);
                left--;
            }
        }
        System.exit(0);
    }

    static final class Listener implements NamespaceChangeListener, ObjectChangeListener {
        private static String name(Binding binding) {
            return binding == null ? "-" : "\"" + binding.getName() + "\"";
        }

        public void objectAdded(NamingEvent event) {
            events.add("added " + name(event.getNewBinding()));
        }

        public void objectRemoved(NamingEvent event) {
            events.add("removed " + name(event.getOldBinding()));
        }

        public void objectRenamed(NamingEvent event) {
            events.add("renamed " + name(event.getOldBinding()) + " " + name(event.getNewBinding()));
        }

        public void objectChanged(NamingEvent event) {
            events.add("changed " + name(event.getNewBinding()));
        }

        public void namingExceptionThrown(NamingExceptionEvent event) {
            event.getException().printStackTrace();
            System.exit(1);
        }
    }
}
