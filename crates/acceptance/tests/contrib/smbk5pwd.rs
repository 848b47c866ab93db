//! The overlay smbk5pwd: the same attributes as slapd's after the same operations.

use ironbark_runtime::Clock;
use ironbark_testkit::{Credentials, Flavor, Server, TestkitError, Tool, Transcript, assert_same, repository_root};

use crate::contrib::BASE;

const DATA: &str = concat!(
    include_str!("../data/people.ldif"),
    "
dn: uid=both,ou=People,dc=example,dc=com
objectClass: account
objectClass: posixAccount
objectClass: shadowAccount
objectClass: sambaSamAccount
cn: Both
uidNumber: 1
gidNumber: 1
homeDirectory: /
sambaSID: S-1-5-21-1-2-3-1000
sambaNTPassword: 0123456789abcdef0123456789abcdef
sambaPwdMustChange: 77
userPassword: secret

dn: uid=samba,ou=People,dc=example,dc=com
objectClass: account
objectClass: simpleSecurityObject
objectClass: sambaSamAccount
userPassword: secret
sambaSID: S-1-5-21-1-2-3-1001

dn: uid=plain,ou=People,dc=example,dc=com
objectClass: account
objectClass: simpleSecurityObject
userPassword: secret
"
);

fn config(lines: &str) -> String {
    let schema = repository_root().join("schema/samba.schema");
    let global = format!(
        "include {{schema}}/nis.schema\ninclude {}\npassword-hash {{CLEARTEXT}}\nmoduleload smbk5pwd",
        schema.display()
    );
    Server::people_config(&global, &format!("overlay smbk5pwd\n{lines}"))
}

fn now() -> u64 {
    u64::try_from(Clock::system().now().unix_seconds()).unwrap()
}

const DAY_S: u64 = 86_400;

/// The text with the days and times since `start`, and the times after them, as differences of fixed words. The
/// clock of `time(2)`, which slapd asks, is a tick behind: at the begin of a second it shows the one before.
fn without_times(text: &str, start: u64) -> String {
    let start = start - 1;
    let mut found = String::new();
    for line in text.lines() {
        let day = line.strip_prefix("shadowLastChange: ").and_then(|day| day.parse().ok());
        if day.is_some_and(|day: u64| (start / DAY_S..=now() / DAY_S).contains(&day)) {
            found.push_str("shadowLastChange: the day of the change\n");
            continue;
        }
        let time = line.split_once(": ").filter(|(name, _)| name.starts_with("sambaPwd"));
        let shown = time.and_then(|(name, value)| {
            let value: u64 = value.parse().ok()?;
            let after = [0, 100, 4000]
                .into_iter()
                .find(|after| (start + after..=now() + after).contains(&value))?;
            Some(format!("{name}: {after} seconds after the change"))
        });
        found.push_str(shown.as_deref().unwrap_or(line));
        found.push('\n');
    }
    found
}

fn scenario(flavor: Flavor, lines: &str) -> Result<String, TestkitError> {
    let server = Server::start(flavor, &config(lines))?;
    server.ldapadd(DATA)?.success()?;
    let start = now();
    let mut transcript = Transcript::new(&server);
    for (user, password) in [
        ("both", "first"),
        ("both", "päß€ wörd"),
        ("samba", "first"),
        ("plain", "first"),
        ("none", "first"),
    ] {
        let name = format!("uid={user},ou=People,{BASE}");
        transcript.client("ldappasswd", &Credentials::ROOT, &["-s", password, &name], "")?;
        transcript.root_search(&["-b", BASE, "(objectClass=account)"])?;
    }
    // A long one, of which Windows takes 256 characters.
    let (long, name) = ("0123456789".repeat(40), format!("uid=samba,ou=People,{BASE}"));
    transcript.client("ldappasswd", &Credentials::ROOT, &["-s", &long, &name], "")?;
    for change in ["replace: userPassword\nuserPassword: third", "delete: userPassword"] {
        transcript.modify(&format!(
            "dn: uid=both,ou=People,{BASE}\nchangetype: modify\n{change}\n"
        ))?;
    }
    transcript.root_search(&["-b", BASE, "(objectClass=account)"])?;
    Ok(without_times(&transcript.finish(), start))
}

#[test]
fn passwords_of_samba_and_shadow_follow_alike() {
    for lines in [
        "smbk5pwd-enable samba\nsmbk5pwd-enable shadow\nsmbk5pwd-must-change 4000\nsmbk5pwd-can-change 100",
        "smbk5pwd-enable samba",
        "smbk5pwd-enable shadow",
    ] {
        assert_same(|flavor| scenario(flavor, lines));
    }
}

#[test]
fn its_settings_convert_alike_and_krb5_is_refused() {
    let lines = "smbk5pwd-enable shadow samba\nsmbk5pwd-must-change 4000";
    let server = Server::prepare(Flavor::OpenLdap, &config(lines)).unwrap();
    let mut shown = Vec::new();
    for writer in Flavor::ALL {
        let folder = server.layout().make_dir(&format!("{writer:?}.d")).unwrap();
        let folder = folder.display().to_string();
        let file = server.config_path().display().to_string();
        // slaptest may miss the other server's database, but only after the conversion.
        Tool::Test.run(writer, &["-f", &file, "-F", &folder], "").unwrap();
        for reader in Flavor::ALL {
            let arguments = ["-F", &folder, "-n", "0", "-a", "(olcOverlay={0}smbk5pwd)"];
            let outcome = Tool::Cat.run(reader, &arguments, "").unwrap().success().unwrap();
            let settings = outcome
                .stdout
                .lines()
                .filter(|line| line.contains("5Pwd") && !line.starts_with("structural"));
            shown.push(settings.fold(String::new(), |all, line| all + line + "\n"));
        }
    }
    let expected = "objectClass: olcSmbK5PwdConfig\nolcSmbK5PwdEnable: samba\nolcSmbK5PwdEnable: shadow\n\
        olcSmbK5PwdMustChange: 4000\nolcSmbK5PwdCanChange: 0\n";
    assert_eq!(shown, [expected; 4]);
    let server = Server::prepare(Flavor::Ironbark, &config("smbk5pwd-enable krb5")).unwrap();
    let outcome = server.tool(Tool::Test, &[], "").unwrap();
    assert_ne!(outcome.code(), Some(0));
    let text = "krb5 (the keys of Heimdal's KDC in the directory) is not built yet";
    assert!(outcome.stderr.contains(text), "{}", outcome.stderr);
}
