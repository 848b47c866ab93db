//! Several servers that follow each other: chains and meshes of ours and Debian's slapd.

use std::fmt::Write as _;

use ironbark_testkit::{Flavor, Server, difference, wait};

use crate::replication::{PEOPLE, content};

/// Numbers that look random and are the same for the same seed.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % u64::try_from(limit).unwrap()).unwrap()
    }
}

/// The identity with which servers bind to each other.
pub(crate) const REPLICATOR: &str = "
dn: cn=replicator,dc=example,dc=com
objectClass: organizationalRole
objectClass: simpleSecurityObject
cn: replicator
userPassword: secret
";

/// What docs/replication.md lets it do, and rules as others have them.
const RULES: &str = "\
access to * by dn.exact=cn=replicator,dc=example,dc=com read by * break
access to attrs=userPassword by anonymous auth
access to * by users read
limits dn.exact=cn=replicator,dc=example,dc=com size=unlimited time=unlimited
";

/// The first content, with [`REPLICATOR`].
pub(crate) fn first_content() -> String {
    PEOPLE.to_owned() + REPLICATOR
}

/// Servers with overlay syncprov. `follows` names the providers of each server. Servers that follow nobody, and those
/// of `multiprovider` lines, take writes. `lines` are further ones of the database.
pub(crate) fn servers(flavors: &[Flavor], follows: impl Fn(usize) -> Vec<usize>, lines: &str) -> Vec<Server> {
    let mut id = 0;
    let mut servers: Vec<Server> = flavors
        .iter()
        .map(|flavor| {
            id += 1;
            let global = format!("serverID {id}\nmoduleload syncprov");
            let config = Server::people_config(&global, "index entryUUID,entryCSN eq\noverlay syncprov\n#consumers");
            Server::prepare(*flavor, &config).unwrap()
        })
        .collect();
    for number in 0..servers.len() {
        let words = "type=refreshAndPersist";
        let lines = format!("{}{lines}", lines_of(&servers, follows(number), words));
        start_with(&mut servers[number], &lines);
    }
    servers
}

/// A line `syncrepl` for each of these providers, and the rules for [`REPLICATOR`].
pub(crate) fn lines_of(servers: &[Server], providers: Vec<usize>, words: &str) -> String {
    RULES.to_owned() + &lines_by("cn=replicator,dc=example,dc=com", servers, providers, words)
}

/// A line `syncrepl` for each of these providers, with this identity.
pub(crate) fn lines_by(identity: &str, servers: &[Server], providers: Vec<usize>, words: &str) -> String {
    let mut lines = String::new();
    for provider in providers {
        writeln!(
            lines,
            "syncrepl rid={provider:03} provider={} bindmethod=simple binddn={identity} credentials=secret \
             searchbase=dc=example,dc=com retry=\"1 +\" {words}",
            servers[provider].url()
        )
        .unwrap();
    }
    lines
}

/// Starts a server whose slapd.conf has `#consumers` where these lines belong.
pub(crate) fn start_with(server: &mut Server, lines: &str) {
    let config = std::fs::read_to_string(server.config_path()).unwrap();
    std::fs::write(server.config_path(), config.replace("#consumers", lines)).unwrap();
    server.launch().unwrap();
}

/// Each server follows all others.
pub(crate) fn all_others(count: usize) -> impl Fn(usize) -> Vec<usize> {
    move |number| (0..count).filter(|other| *other != number).collect()
}

/// Waits until all servers hold the same.
#[track_caller]
pub(crate) fn assert_equal(servers: &[Server], what: &str) {
    let mut held = Vec::new();
    let same = wait::until(|| {
        held = servers.iter().map(content).collect();
        held.iter().all(|other| *other == held[0]).then_some(())
    });
    if same.is_none() {
        let (number, other) = held.iter().enumerate().find(|(_, other)| **other != held[0]).unwrap();
        panic!(
            "{what}: server {number} is not as the first one:\n{}\nlog of the first one:\n{}\nlog of this one:\n{}",
            difference("the first one", &held[0], "this one", other),
            servers[0].log(),
            servers[number].log()
        );
    }
}

/// The unit moves out of another one, which is deleted then, while the other server is away.
#[test]
fn a_move_out_of_what_is_deleted_then_reaches_a_server_that_was_away() {
    let mut servers = servers(&[Flavor::Ironbark; 2], all_others(2), "multiprovider on\n");
    servers[0].ldapadd(&first_content()).unwrap().success().unwrap();
    let old = "dn: ou=unit,ou=others,dc=example,dc=com\nobjectClass: organizationalUnit\n\n\
               dn: cn=below,ou=unit,ou=others,dc=example,dc=com\nobjectClass: person\nsn: s\n";
    servers[0].ldapadd(old).unwrap().success().unwrap();
    assert_equal(&servers, "before");
    servers[1].stop().unwrap();
    let moved = "dn: ou=unit,ou=others,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=unit\ndeleteoldrdn: 1\n\
                 newsuperior: ou=people,dc=example,dc=com\n\n\
                 dn: ou=others,dc=example,dc=com\nchangetype: delete\n";
    servers[0].ldapmodify(moved).unwrap().success().unwrap();
    let wanted = content(&servers[0]);
    servers[1].launch().unwrap();
    let same = wait::until(|| (content(&servers[1]) == wanted).then_some(()));
    assert!(same.is_some(), "{}\nwanted:\n{wanted}", content(&servers[1]));
    assert_eq!(content(&servers[0]), wanted, "nothing is undone where it was made");
}

#[test]
fn a_provider_says_that_its_rules_may_hide_something() {
    for (hiding, what) in [
        ("access to attrs=description by self write by * none\n", "values"),
        ("access to filter=(sn=hidden) by * none\n", "entries"),
    ] {
        let provider = crate::replication::providing(Flavor::Ironbark, &format!("{hiding}{RULES}"));
        provider.ldapadd(&first_content()).unwrap().success().unwrap();
        let servers = [provider];
        let line = lines_by(
            "cn=replicator,dc=example,dc=com",
            &servers,
            vec![0],
            "type=refreshAndPersist",
        );
        let mut consumer = Server::prepare(Flavor::Ironbark, &Server::people_config("", &line)).unwrap();
        consumer.launch().unwrap();
        let told = format!("access rules may hide {what} of dc=example,dc=com from the consumer rid=000");
        servers[0].wait_for_log(&told).unwrap();
    }
}
