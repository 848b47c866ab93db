//! Consumers of our databases: Debian's slapd, and ldapsearch.

use ironbark_testkit::{Credentials, Flavor, Server};

use crate::replication::{PEOPLE, assert_follows, change, following, providing};

fn provider(lines: &str) -> Server {
    providing(Flavor::Ironbark, lines)
}

/// A slapd that follows a provider.
fn consumer(provider: &Server, kind: &str) -> Server {
    following(Flavor::OpenLdap, provider, &format!("type={kind}"))
}

#[test]
fn a_slapd_follows_over_restarts_and_crashes_of_both() {
    let mut provider = provider("");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut consumer = consumer(&provider, "refreshAndPersist");
    assert_follows(&consumer, &provider);
    change(&provider, 1);
    assert_follows(&consumer, &provider);
    consumer.stop().unwrap();
    change(&provider, 2);
    provider.kill().unwrap();
    provider.launch().unwrap();
    consumer.launch().unwrap();
    assert_follows(&consumer, &provider);
    consumer.kill().unwrap();
    change(&provider, 3);
    consumer.launch().unwrap();
    change(&provider, 4);
    assert_follows(&consumer, &provider);
    provider.stop().unwrap();
    provider.launch().unwrap();
    change(&provider, 5);
    assert_follows(&consumer, &provider);
}

#[test]
fn a_slapd_finds_out_what_is_gone_when_the_log_is() {
    let mut provider = provider("changelog-size 1");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let mut consumer = consumer(&provider, "refreshOnly interval=00:00:00:01");
    for number in 1..4 {
        change(&provider, number);
        assert_follows(&consumer, &provider);
        consumer.stop().unwrap();
        change(&provider, number + 10);
        let gone = format!("cn=a{number},ou=people,dc=example,dc=com");
        provider
            .client("ldapdelete", &Credentials::ROOT, &[&gone], "")
            .unwrap()
            .success()
            .unwrap();
        provider.stop().unwrap();
        provider.launch().unwrap();
        consumer.launch().unwrap();
        assert_follows(&consumer, &provider);
    }
}

/// RFC 4533 §3.4, RFC 4511 §4.13.
#[test]
fn ldapsearch_gets_changes_and_may_cancel() {
    let provider = provider("");
    provider.ldapadd(PEOPLE).unwrap().success().unwrap();
    let found = provider.client(
        "ldapsearch",
        &Credentials::ROOT,
        &[
            "-b",
            "dc=example,dc=com",
            "-E",
            "!sync=ro",
            "-E",
            "pr=5/noprompt",
            "1.1",
        ],
        "",
    );
    let outcome = found.unwrap();
    assert!(outcome.code() == Some(2), "{outcome:?}");
    let script = format!(
        "import ldap, threading\n\
         from ldap.syncrepl import SyncreplConsumer\n\
         from ldap.ldapobject import ReconnectLDAPObject\n\
         class Consumer(ReconnectLDAPObject, SyncreplConsumer):\n\
         \x20   seen = []\n\
         \x20   def syncrepl_entry(self, dn, attributes, uuid): self.seen.append(dn)\n\
         \x20   def syncrepl_delete(self, uuids): self.seen.append('deleted')\n\
         \x20   def syncrepl_present(self, uuids, refreshDeletes=False): pass\n\
         \x20   def syncrepl_set_cookie(self, cookie): self.cookie = cookie\n\
         \x20   def syncrepl_get_cookie(self): return None\n\
         \x20   def syncrepl_refreshdone(self): self.seen.append('refreshed')\n\
         writer = ldap.initialize('{url}')\n\
         writer.simple_bind_s('cn=Manager,dc=example,dc=com', 'secret')\n\
         consumer = Consumer('{url}')\n\
         consumer.simple_bind_s('cn=Manager,dc=example,dc=com', 'secret')\n\
         number = consumer.syncrepl_search('dc=example,dc=com', ldap.SCOPE_SUBTREE, mode='refreshAndPersist')\n\
         while 'refreshed' not in consumer.seen:\n\
         \x20   consumer.syncrepl_poll(msgid=number, timeout=20, all=0)\n\
         writer.add_s('cn=new,dc=example,dc=com', [('objectClass', [b'person']), ('sn', [b's'])])\n\
         while consumer.seen[-1] != 'cn=new,dc=example,dc=com':\n\
         \x20   consumer.syncrepl_poll(msgid=number, timeout=20, all=0)\n\
         writer.delete_s('cn=new,dc=example,dc=com')\n\
         while consumer.seen[-1] != 'deleted':\n\
         \x20   consumer.syncrepl_poll(msgid=number, timeout=20, all=0)\n\
         consumer.cancel_s(number)\n\
         print(len(consumer.seen), consumer.whoami_s())\n",
        url = provider.url()
    );
    let outcome = provider.python(&script).unwrap().success().unwrap();
    assert_eq!(outcome.stdout, "6 dn:cn=Manager,dc=example,dc=com\n");
}
