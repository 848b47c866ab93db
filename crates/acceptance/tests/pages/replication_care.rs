//! docs/replication.md: what shows how servers that follow each other are doing, and repairs it.

use ironbark_testkit::{Flavor, Server, wait};

use super::{
    page::Section,
    replication::assert_equal,
    sandbox::{Done, Sandbox},
    whole::{TOP, add, configure, find, person, serving, with_database},
};

/// Who the servers are to each other.
const REPLICATOR: &str = "uid=replicator,ou=people,dc=example,dc=com";

/// Two servers that take writes and follow each other: `a` and `b` of the page. `rules` are the first rules of `a`.
fn pair(rules: &str) -> [Server; 2] {
    let mut servers = [(); 2].map(|()| Server::prepare(Flavor::Ironbark, "").unwrap());
    let urls = servers.each_ref().map(Server::url);
    for (number, server) in servers.iter().enumerate() {
        let rules = if number == 0 { rules } else { "" };
        let lines = format!(
            "overlay syncprov\n\
             syncrepl rid=001 provider={other} bindmethod=simple binddn={REPLICATOR} credentials=secret \
             searchbase=dc=example,dc=com type=refreshAndPersist retry=\"1 +\"\nmultiprovider on\n{rules}\
             access to attrs=userPassword by dn.exact={REPLICATOR} read by * auth\naccess to * by * read\n\
             limits dn.exact={REPLICATOR} size=unlimited\n\
             database monitor\naccess to * by dn.exact=cn=admin,dc=example,dc=com read\n",
            other = urls[1 - number],
        );
        configure(server, &with_database(&format!("serverID {}\n", number + 1), &lines));
    }
    let replicator = person("replicator", "userPassword: secret");
    servers[0].slapadd(&format!("{TOP}\n{replicator}")).unwrap();
    for server in &mut servers {
        server.launch().unwrap();
    }
    servers
}

/// A sandbox with the file of the password.
fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.write("password-file", "secret");
    sandbox
}

const A: &str = "ldap://a.example.com";
const B: &str = "ldap://b.example.com";

pub(crate) fn conflicts(section: &Section) {
    let [search] = section.blocks();
    let [a, b] = pair("");
    assert_equal(&a, &b);
    let search = search.with(&[(A, a.url()), (" -W ", " -w secret ".to_owned())]);
    let shown = sandbox().succeed(&search).stdout;
    assert!(shown.contains("dn: cn=Conflicts,cn=Monitor\n"), "{shown}");
}

pub(crate) fn compare(section: &Section) {
    let [command] = section.blocks();
    let [a, b] = pair("");
    assert_equal(&a, &b);
    let command = command.with(&[(A, a.url()), (B, b.url())]);
    let sandbox = sandbox();
    sandbox.succeed(&command);
    drop(a);
    let alone = serving(&with_database("", ""), TOP);
    let [command] = section.blocks();
    let other = sandbox.run(&command.with(&[(A, alone.url()), (B, b.url())]));
    assert_eq!(other.code, Some(1), "different: {other:?}");
    let gone = sandbox.run(&command.with(&[(A, "ldap://127.0.0.1:1"), (B, &b.url()[..])]));
    assert_eq!(gone.code, Some(2), "an error: {gone:?}");
}

pub(crate) fn status(section: &Section) {
    let [command, note] = section.blocks();
    let hidden = "access to dn.subtree=cn=hidden,dc=example,dc=com by * none\n";
    let [a, b] = pair(hidden);
    assert_equal(&a, &b);
    let sandbox = sandbox();
    let urls = [&a, &b].map(Server::url);
    let command = command.with(&[(A, &urls[0]), (B, &urls[1])]);
    // On the page the first server hides entries from the second one.
    let wanted = note.text.trim().replace('\n', " ");
    let wanted = wanted.replace("ldap://b", &urls[1]).replace("ldap://a", &urls[0]);
    // A session is shown when it has told what it gets, and the first server tries again until it is let in.
    let is_right = |done: &Done| done.code == Some(0) && done.stdout.lines().any(|line| line == wanted);
    let shown = wait::until(|| Some(sandbox.run(&command)).filter(is_right));
    let shown = shown.unwrap_or_else(|| panic!("{wanted}\n{:?}", sandbox.run(&command)));
    for word in ["contextCSN", " from ", " to ", "PLACES"] {
        assert!(shown.stdout.contains(word), "no {word}: {shown:?}");
    }
}

pub(crate) fn forget(section: &Section) {
    let [command] = section.blocks();
    let gone = "20260101000000.000000Z#000000#003#000000";
    let top = TOP.replacen(
        "o: Example\n",
        &format!("o: Example\nentryCSN: {gone}\ncontextCSN: {gone}\n"),
        1,
    );
    let server = serving(&with_database("serverID 1\n", "overlay syncprov\n"), &top);
    add(&server, &person("ann", ""));
    let vector = || find(&server, "(dc=example)", &["contextCSN"]);
    assert!(vector().contains("#003#"), "{}", vector());
    sandbox().succeed(&command.with(&[(A, server.url())]));
    assert!(
        !vector().contains("#003#") && vector().contains("#001#"),
        "{}",
        vector()
    );
}
