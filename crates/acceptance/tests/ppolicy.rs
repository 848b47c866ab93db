//! Password policy compared with slapd's: real clients that ask with `-e ppolicy`, the same steps, the same answers.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{Flavor, NormalizedLdif, Server, Tool, assert_same};

const PEOPLE: &str = include_str!("data/people.ldif");
const USER: &str = "uid=ann,ou=People,dc=example,dc=com";

fn data(policy: &str) -> String {
    format!(
        "{PEOPLE}\n\
         dn: cn=policy,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\npwdAttribute: userPassword\n{policy}\n\n\
         dn: {USER}\nobjectClass: inetOrgPerson\ncn: Ann\nsn: Lee\nuserPassword: first\n"
    )
}

fn configuration(lines: &str) -> String {
    let of_database = format!(
        "access to attrs=userPassword by self =wx by anonymous auth by * none\naccess to * by self write by * read\n\
         overlay ppolicy\nppolicy_default cn=policy,dc=example,dc=com\n{lines}"
    );
    Server::people_config("moduleload ppolicy", &of_database)
}

/// slaptest of both servers makes the same entry for the overlay, and each server reads the other's.
#[test]
fn the_overlay_in_cn_config() {
    let lines = "ppolicy_use_lockout\nppolicy_hash_cleartext on\nppolicy_send_netscape_controls yes\nppolicy_disable_write off\nlastbind on";
    assert_same(|flavor| {
        // The file is slapd's, with its store in a module. After the conversion, ours reports that it cannot open that
        // store.
        let server = Server::prepare(Flavor::OpenLdap, &configuration(lines))?;
        let directory = server.layout().make_dir("slapd.d")?;
        let folder = directory.display().to_string();
        server.slapadd(&data("pwdMinAge: 1"))?;
        let file = server.config_path().display().to_string();
        Tool::Test.run(flavor, &["-f", &file, "-F", &folder], "")?;
        for reader in [Flavor::OpenLdap, Flavor::Ironbark] {
            Tool::Test.run(reader, &["-F", &folder, "-u"], "")?.success()?;
        }
        let entry = "slapd.d/cn=config/olcDatabase={1}mdb/olcOverlay={0}ppolicy.ldif";
        let text = NormalizedLdif::new(&server.layout().read(entry)?);
        let volatile = ["entryUUID", "createTimestamp", "modifyTimestamp", "entryCSN"];
        Ok(text.without(&volatile).to_string())
    });
}
