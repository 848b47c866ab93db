//! Many overlays at once: all servers have what one of them makes of a change.

use ironbark_testkit::{Credentials, Etcd, Flavor, Server};

use crate::cluster::{TOP, assert_equal, configuration, copies::forget_the_log};

const PEOPLE: &str = "ou=people,dc=example,dc=com";

const OVERLAYS: &str = "\
lastbind on
index member,memberOf,manager,mail,uidNumber eq
overlay syncprov
overlay usn
overlay memberof
memberof-refint TRUE
overlay refint
refint_attributes member manager
overlay unique
unique_uri ldap:///?mail?sub?
overlay dna
dna-type uidNumber
dna-filter (objectClass=posixAccount)
dna-scope ou=people,dc=example,dc=com
dna-next-value 1000
overlay autogroup
autogroup-attrset groupOfURLs memberURL member
overlay automember
automember-scope ou=people,dc=example,dc=com
automember-filter (objectClass=posixAccount)
automember-default-group cn=all,dc=example,dc=com
automember-inclusive-regex cn=staff,dc=example,dc=com title=^staff
overlay numsubordinates
overlay smbk5pwd
smbk5pwd-enable shadow
overlay ppolicy
ppolicy_default cn=policy,dc=example,dc=com
ppolicy_hash_cleartext
";

const GROUPS: &str = "
dn: cn=policy,dc=example,dc=com
objectClass: device
objectClass: pwdPolicy
cn: policy
pwdAttribute: userPassword
pwdLockout: TRUE
pwdMaxFailure: 3
pwdLockoutDuration: 1
pwdInHistory: 2

dn: cn=all,dc=example,dc=com
objectClass: groupOfNames
cn: all
member: cn=policy,dc=example,dc=com

dn: cn=staff,dc=example,dc=com
objectClass: groupOfNames
cn: staff
member: cn=policy,dc=example,dc=com

dn: cn=urls,dc=example,dc=com
objectClass: groupOfURLs
objectClass: extensibleObject
cn: urls
memberURL: ldap:///ou=people,dc=example,dc=com??one?(description=yes)
";

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        usize::try_from(self.0 >> 33).unwrap() % end
    }
}

/// Makes a change of some kind, which may be refused.
fn change(server: &Server, random: &mut Random) -> Option<i32> {
    let (name, other) = (random.below(8), random.below(8));
    let dn = format!("uid=p{name},{PEOPLE}");
    let modify = |what: &str| format!("dn: {dn}\nchangetype: modify\n{what}\n");
    let ldif = match random.below(10) {
        0..=2 => format!(
            "dn: {dn}\nchangetype: add\nobjectClass: inetOrgPerson\nobjectClass: posixAccount\n\
             objectClass: shadowAccount\nuid: p{name}\ncn: x\nsn: x\ngidNumber: 1\nhomeDirectory: /\n\
             userPassword: secret\nmanager: uid=p{other},{PEOPLE}\n"
        ),
        3 => format!("dn: {dn}\nchangetype: delete\n"),
        4 => format!("dn: {dn}\nchangetype: modrdn\nnewrdn: uid=p{other}\ndeleteoldrdn: 1\n"),
        5 => modify(&format!("replace: mail\nmail: m{other}@example.com")),
        6 => modify(["replace: title\ntitle: staff", "replace: title"][other % 2]),
        7 => modify(["replace: description\ndescription: yes", "replace: description"][other % 2]),
        8 => modify(&format!("replace: userPassword\nuserPassword: secret{}", other % 2)),
        _ => {
            let password = ["secret", "secret0", "secret1", "wrong"][other % 4];
            let who = Credentials::Simple { dn: &dn, password };
            return server.client("ldapwhoami", &who, &[], "").unwrap().code();
        }
    };
    server.ldapmodify(&ldif).unwrap().code()
}

#[test]
fn what_overlays_make_of_a_change_is_equal_at_all_servers() {
    let etcd = Etcd::start(1).unwrap();
    let config = configuration(&etcd, OVERLAYS);
    let schemas = "include {schema}/nis.schema\ninclude {schema}/dyngroup.schema\npidfile";
    let config = config.replacen("pidfile", schemas, 1);
    let mut all = [(); 3].map(|()| Server::start(Flavor::Ironbark, &config).unwrap());
    all[0].ldapadd(&format!("{TOP}{GROUPS}")).unwrap().success().unwrap();
    let mut random = Random(7);
    let mut made = 0;
    for round in 0..4 {
        for _ in 0..60 {
            let server = &all[random.below(all.len())];
            made += usize::from(change(server, &mut random) == Some(0));
        }
        assert_equal(&all);
        // One was away for a while, and needs a copy once.
        all[round % 3].stop().unwrap();
        let other = &all[(round + 1) % 3];
        for _ in 0..10 {
            change(other, &mut random);
        }
        // The others may all have been refused.
        let sure = format!("dn: {PEOPLE}\nchangetype: modify\nreplace: description\ndescription: {round}\n");
        other.ldapmodify(&sure).unwrap().success().unwrap();
        if round == 2 {
            forget_the_log(&etcd);
        }
        all[round % 3].launch().unwrap();
        assert_equal(&all);
        if round == 2 {
            // It says so a moment after it serves the copy.
            all[2].wait_for_log("is in place").unwrap();
        }
    }
    assert!(made > 60, "{made} changes were made");
}
