//! Password policy compared with slapd's: real clients that ask with `-e ppolicy`, the same steps, the same answers.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{
    Credentials, Flavor, NormalizedLdif, Server, TestkitError, Tool, Transcript, assert_same, assert_same_answers,
};

const PEOPLE: &str = include_str!("data/people.ldif");
const USER: &str = "uid=ann,ou=People,dc=example,dc=com";
const BASE: &str = "dc=example,dc=com";
const ASKING: [&str; 2] = ["-e", "ppolicy"];

/// Attributes that are equal in two runs. (From 2.7 on, slapd shows the policy in force, pwdPolicySubentry.)
const STATE: [&str; 4] = ["pwdReset", "modifiersName", "sn", "description"];

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

/// Binds as the user, and reads the suffix entry.
fn read(transcript: &mut Transcript<'_>, password: &str) -> Result<(), TestkitError> {
    let user = Credentials::Simple { dn: USER, password };
    let arguments = [&ASKING[..], &["-b", BASE, "-s", "base", "o"]].concat();
    transcript.client("ldapsearch", &user, &arguments, "")
}

fn modify(transcript: &mut Transcript<'_>, password: &str, change: &str) -> Result<(), TestkitError> {
    let user = Credentials::Simple { dn: USER, password };
    let change = format!("dn: {USER}\nchangetype: modify\n{change}\n");
    transcript.client("ldapmodify", &user, &ASKING, &change)
}

fn passwd(transcript: &mut Transcript<'_>, password: &str, arguments: &[&str]) -> Result<(), TestkitError> {
    let user = Credentials::Simple { dn: USER, password };
    transcript.client("ldappasswd", &user, &[&ASKING[..], arguments].concat(), "")
}

fn state(transcript: &mut Transcript<'_>) -> Result<(), TestkitError> {
    let arguments = [&["-b", USER, "-s", "base"][..], &STATE].concat();
    transcript.root_search(&arguments)
}

fn exchange(old: &str, new: &str) -> String {
    format!("delete: userPassword\nuserPassword: {old}\n-\nadd: userPassword\nuserPassword: {new}")
}

#[test]
fn locks() {
    for settings in ["", "ppolicy_use_lockout\n"] {
        let policy = "pwdLockout: TRUE\npwdMaxFailure: 3\npwdLockoutDuration: 1000";
        assert_same_answers(&configuration(settings), &data(policy), |transcript| {
            for password in ["wrong", "first", "wrong", "wrong", "wrong", "wrong", "first"] {
                read(transcript, password)?;
                state(transcript)?;
            }
            let unlock = format!("dn: {USER}\nchangetype: modify\ndelete: pwdAccountLockedTime\n");
            transcript.modify(&unlock)?;
            read(transcript, "first")?;
            let lock = format!(
                "dn: {USER}\nchangetype: modify\nadd: pwdAccountLockedTime\npwdAccountLockedTime: 000001010000Z\n"
            );
            transcript.modify(&lock)?;
            read(transcript, "first")
        });
    }
}

#[test]
fn resets() {
    assert_same_answers(&configuration(""), &data("pwdMustChange: TRUE"), |transcript| {
        read(transcript, "first")?;
        transcript.modify(&format!(
            "dn: {USER}\nchangetype: modify\nreplace: userPassword\nuserPassword: reset\n"
        ))?;
        state(transcript)?;
        read(transcript, "reset")?;
        modify(transcript, "reset", "replace: sn\nsn: x")?;
        modify(transcript, "reset", &exchange("reset", "own"))?;
        state(transcript)?;
        read(transcript, "own")
    });
}

#[test]
fn changes() {
    let policy = "pwdSafeModify: TRUE\npwdInHistory: 3\npwdCheckQuality: 2\npwdMinLength: 4\npwdMaxLength: 12";
    assert_same_answers(&configuration("ppolicy_hash_cleartext"), &data(policy), |transcript| {
        modify(transcript, "first", "replace: userPassword\nuserPassword: second")?;
        modify(transcript, "first", &exchange("wrong", "second"))?;
        modify(transcript, "first", &exchange("first", "abc"))?;
        modify(transcript, "first", &exchange("first", "far too long a password"))?;
        modify(transcript, "first", &exchange("first", "{SSHA}xxxx"))?;
        modify(transcript, "first", &exchange("first", "first"))?;
        modify(transcript, "first", &exchange("first", "second"))?;
        passwd(transcript, "second", &["-s", "third"])?;
        passwd(transcript, "second", &["-a", "wrong", "-s", "third"])?;
        passwd(transcript, "second", &["-a", "second", "-s", "abc"])?;
        passwd(transcript, "second", &["-a", "second", "-s", "third"])?;
        modify(transcript, "third", &exchange("third", "first"))?;
        passwd(transcript, "third", &["-a", "third", "-s", "second"])?;
        modify(
            transcript,
            "third",
            "add: userPassword\nuserPassword: a1234\nuserPassword: b1234",
        )?;
        let two = format!(
            "dn: {USER}\nchangetype: modify\nreplace: userPassword\nuserPassword: a1234\nuserPassword: b1234\n"
        );
        transcript.modify(&two)?;
        read(transcript, "third")?;
        state(transcript)
    });
}

#[test]
fn users_may_not_change_what_is_not_theirs_or_too_young() {
    for policy in ["pwdAllowUserChange: FALSE", "pwdMinAge: 1000"] {
        assert_same_answers(&configuration(""), &data(policy), |transcript| {
            transcript.modify(&format!(
                "dn: {USER}\nchangetype: modify\nreplace: userPassword\nuserPassword: other\n"
            ))?;
            modify(transcript, "other", &exchange("other", "second"))?;
            passwd(transcript, "other", &["-s", "third"])?;
            read(transcript, "other")
        });
    }
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

/// `lastbind` writes as the rootdn.
#[test]
fn the_last_success() {
    let config = format!("{}lastbind on\n", Server::PEOPLE_CONFIG);
    let data = data("").replacen("objectClass: pwdPolicy\npwdAttribute: userPassword\n\n", "\n", 1);
    assert_same_answers(&config, &data, |transcript| {
        read(transcript, "first")?;
        read(transcript, "wrong")?;
        let count = ["-b", BASE, "(pwdLastSuccess=*)", "modifiersName"];
        transcript.root_search(&count)
    });
}

#[test]
fn account_usability_is_told_in_slapds_parts() {
    let entry = |uid: &str, lines: &str| {
        format!(
            "\ndn: uid={uid},dc=example,dc=com\nobjectClass: inetOrgPerson\nuid: {uid}\ncn: Ann\nsn: Lee\n{lines}\n"
        )
    };
    let mut all = data("pwdLockout: TRUE\npwdMaxFailure: 3\npwdMustChange: TRUE\npwdLockoutDuration: 0");
    all += "\ndn: cn=short,dc=example,dc=com\nobjectClass: device\nobjectClass: pwdPolicy\npwdAttribute: userPassword\n\
            pwdMaxAge: 1\npwdGraceAuthNLimit: 3\n";
    for (uid, lines) in [
        ("fine", ""),
        ("reset", "pwdReset: TRUE"),
        ("locked", "pwdAccountLockedTime: 000001010000Z"),
        ("future", "pwdStartTime: 20991122000000Z"),
        ("ended", "pwdEndTime: 20201122000000Z"),
        (
            "expired",
            "pwdPolicySubentry: cn=short,dc=example,dc=com\npwdChangedTime: 20251122000000Z",
        ),
    ] {
        all += &entry(uid, format!("userPassword: secret\n{lines}").trim_end());
    }
    all += &entry("open", "mail: a@b");
    assert_same_answers(&configuration(""), &all, |transcript| {
        transcript.ignore_order();
        transcript.root_search(&["-b", BASE, "-E", "accountUsability", "uid"])?;
        transcript.root_search(&[
            "-b",
            BASE,
            "-E",
            "accountUsability",
            "-E",
            "accountUsability",
            "-s",
            "base",
            "1.1",
        ])?;
        transcript.root_search(&["-b", BASE, "-E", "1.3.6.1.4.1.42.2.27.9.5.8=:x", "-s", "base", "1.1"])
    });
}
