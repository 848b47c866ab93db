//! The shared parts of the tests of the tools.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use std::process::Command;

use ironbark_testkit::{Flavor, NormalizedLdif, Server, Tool};

/// The suffix entry, and people in an order that is not superior first.
pub(crate) const PEOPLE: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

# a comment
dn: cn=Ann Lee, ou=people,dc=example,dc=com
objectClass: inetOrgPerson
cn: Ann Lee
sn: Lee
sn: Ray
mail: ann@example.com
description;lang-en: a long text that has to be folded because it has far more than seventy-eight columns in it
description:: w6Bubg==
userPassword: secret

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit

dn: cn=staff,dc=example,dc=com
objectClass: groupOfNames
member: CN=Ann Lee,  ou=people,dc=example,dc=com
createTimestamp: 20200101000000Z
entryCSN: 20200101000000.000000Z#000000#003#000000
";

/// The suffix and a unit of people.
pub(crate) const TOP: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people
";

/// Attributes that differ between two loads of the same LDIF.
pub(crate) const VOLATILE: [&str; 4] = ["entryUUID", "createTimestamp", "modifyTimestamp", "entryCSN"];

/// A prepared server that does not run, with the usual configuration.
pub(crate) fn prepared(flavor: Flavor) -> Server {
    Server::prepare(flavor, Server::PEOPLE_CONFIG).unwrap()
}

/// The output of slapcat, without attributes that differ from load to load.
pub(crate) fn dump(server: &Server) -> String {
    let text = server
        .tool(Tool::Cat, &["-o", "ldif-wrap=no"], "")
        .unwrap()
        .success()
        .unwrap()
        .stdout;
    NormalizedLdif::new(&text).without(&VOLATILE).to_string()
}

/// `ironbark` with arguments.
pub(crate) fn ironbark(arguments: &[&str]) -> std::process::Output {
    Command::new(Flavor::Ironbark.program().unwrap())
        .args(arguments)
        .output()
        .unwrap()
}

/// `ironbark` with arguments that must succeed; its stdout.
pub(crate) fn succeed(arguments: &[&str]) -> String {
    let output = ironbark(arguments);
    let shown = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{arguments:?}: {shown}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// A database of cn=config, as both servers show it after either has converted the slapd.conf of `server`. All four
/// texts are the same. `class` is the name of its kind: `ldif`.
pub(crate) fn converted(server: &Server, class: &str) -> String {
    let file = server.config_path().display().to_string();
    let filter = format!("(olcDatabase={{1}}{class})");
    let mut shown = Vec::new();
    for writer in Flavor::ALL {
        let folder = server.layout().make_dir(&format!("{writer:?}.d")).unwrap();
        let folder = folder.display().to_string();
        // slaptest may miss the other server's database, but only after the conversion.
        Tool::Test.run(writer, &["-f", &file, "-F", &folder], "").unwrap();
        for reader in Flavor::ALL {
            let arguments = ["-F", &folder, "-n", "0", "-a", &filter, "-o", "ldif-wrap=no"];
            let outcome = Tool::Cat.run(reader, &arguments, "").unwrap().success().unwrap();
            let ldif = NormalizedLdif::new(&outcome.stdout).without(&NormalizedLdif::VOLATILE);
            shown.push((writer, reader, ldif.without(&["olcMaxDerefDepth"]).to_string()));
        }
    }
    let (_, _, first) = shown.swap_remove(0);
    for (writer, reader, other) in shown {
        assert_eq!(first, other, "written by {writer}, read by {reader}");
    }
    first
}
