//! The image of Symas' operator: Debian's installation, changed with slapmodify before the server starts.

use ironbark_testkit::{Credentials, Flavor, TestkitError, Tool, assert_same_now};

use super::debian;

const SUFFIX: &str = "dc=example,dc=com";

#[test]
fn the_image_comes_up() {
    let hashed = Tool::Passwd.run(Flavor::Ironbark, &["-h", "{ARGON2}", "-s", "secret"], "");
    let password = hashed.unwrap().success().unwrap().stdout;
    assert_same_now(|flavor| -> Result<String, TestkitError> {
        let mut image = debian::installed(flavor, SUFFIX)?;
        for change in [
            "dn: cn=module{0},cn=config\nchangetype: modify\nadd: olcModuleLoad\nolcModuleLoad: /usr/lib/ldap/argon2.so\n".to_owned(),
            "dn: olcDatabase={-1}frontend,cn=config\nchangetype: modify\nreplace: olcPasswordHash\nolcPasswordHash: {ARGON2}\n".to_owned(),
            format!("dn: olcDatabase={{1}}mdb,cn=config\nchangetype: modify\nreplace: olcRootPW\nolcRootPW: {password}\n"),
        ] {
            image.tool_succeeds(Tool::Modify, &["-n", "0"], &change)?;
        }
        image.launch()?;
        let admin = Credentials::Simple {
            dn: "cn=admin,dc=example,dc=com",
            password: "secret",
        };
        image.client("ldapwhoami", &admin, &[], "")?.success()?;
        let text = image.finish(SUFFIX, &admin)?;
        // slapd's slapmodify first prints the changed entries as made, and then adds the new ones.
        let mut lines: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("creatorsName: "))
            .collect();
        lines.sort_unstable();
        Ok(lines.join("\n"))
    });
}
