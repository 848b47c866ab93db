//! SSSD: users and groups of the directory become users and groups of a machine. They log in and change their
//! passwords.

use std::fs::File;

use ironbark_testkit::{Flavor, Server};

use super::{program, started, succeed};

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/clients/sssd.sh");

/// An administrator's configuration. Bob may not log in.
const CONFIGURATION: &str = "\
[sssd]
config_file_version = 2
services = nss, pam
domains = example
[nss]
[pam]
pam_verbosity = 3
[domain/example]
id_provider = ldap
auth_provider = ldap
chpass_provider = ldap
access_provider = ldap
ldap_uri = {url}
ldap_search_base = dc=example,dc=com
ldap_default_bind_dn = uid=eve,ou=people,dc=example,dc=com
ldap_default_authtok = chalk
ldap_id_use_start_tls = true
ldap_tls_cacert = {authority}
ldap_tls_reqcert = demand
ldap_access_filter = (!(uid=bob))
";

/// A password that somebody else has set must be changed.
const POLICY: &str = "overlay ppolicy\nppolicy_default cn=policy,dc=example,dc=com\n";
const POLICY_ENTRY: &str = "dn: cn=policy,dc=example,dc=com\nchangetype: add\nobjectClass: device\nobjectClass: pwdPolicy\npwdAttribute: userPassword\n\
    pwdMustChange: TRUE\npwdAllowUserChange: TRUE\npwdMinLength: 6\npwdCheckQuality: 2\n\n\
    dn: uid=ann,ou=people,dc=example,dc=com\nchangetype: modify\nreplace: pwdReset\npwdReset: TRUE\n";

/// Exit status and output of each command, on a machine whose sssd asks this server.
fn ask(server: &Server, commands: &[&str]) -> Vec<String> {
    for (path, package) in [
        ("/usr/sbin/sssd", "sssd-common"),
        ("/usr/share/doc/sssd-ldap", "sssd-ldap"),
        ("/usr/share/doc/libnss-sss", "libnss-sss"),
        ("/usr/share/doc/libpam-sss", "libpam-sss"),
        ("/usr/bin/pamtester", "pamtester"),
    ] {
        program(path, package);
    }
    let layout = server.layout();
    let authority = layout.join("ca.crt");
    let text = CONFIGURATION.replace("{url}", server.url().trim_end_matches('/'));
    let text = text.replace("{authority}", authority.to_str().unwrap());
    layout.write("sssd.conf", text).unwrap();
    let mut unshare = program("/usr/bin/unshare", "util-linux");
    // Its process namespace ends with the first process in it.
    unshare.args([
        "--user",
        "--map-root-user",
        "--mount",
        "--pid",
        "--fork",
        "--kill-child",
        "--mount-proc",
    ]);
    unshare.args(["bash", SCRIPT]).arg(layout.path());
    let questions = layout.write("questions", commands.join("\n") + "\n").unwrap();
    let answers = succeed(unshare.stdin(File::open(questions).unwrap()));
    answers.lines().map(str::to_owned).collect()
}

/// Each command must be answered with its expected line.
fn assert_answers(server: &Server, steps: &[(&str, &str)]) {
    let commands: Vec<_> = steps.iter().map(|(command, _)| *command).collect();
    let answers = ask(server, &commands);
    let given: Vec<_> = commands
        .iter()
        .copied()
        .zip(answers.iter().map(String::as_str))
        .collect();
    assert_eq!(given, steps);
}

#[test]
fn sssd_knows_users_and_groups_and_lets_users_log_in() {
    let server = started(Flavor::Ironbark, ("", ""));
    let steps = [
        ("getent passwd ann", "0 ann:*:30001:40001:Ann Lee:/people/ann:/bin/sh"),
        ("getent passwd 30002", "0 bob:*:30002:40001:Bob Ray:/people/bob:"),
        ("getent group editors", "0 editors:*:40002:ann,bob"),
        ("getent group 40001", "0 staff:*:40001:"),
        (
            "id ann",
            "0 uid=30001(ann) gid=40001(staff) groups=40001(staff),40002(editors)",
        ),
        ("getent passwd stranger", "2 "),
        ("getent passwd 'a*'", "2 "),
        (
            "pamtester test ann authenticate acct_mgmt <<<pencil",
            "0 Password: pamtester: successfully authenticated|pamtester: account management done.",
        ),
        (
            "pamtester test ann authenticate <<<pencils",
            "1 Password: pamtester: Authentication failure",
        ),
        // There is such a user, but he may not log in here.
        (
            "pamtester test bob authenticate acct_mgmt <<<brush",
            "1 Password: pamtester: Permission denied|pamtester: successfully authenticated",
        ),
        (
            "pamtester test stranger authenticate <<<pencil",
            "1 Password: pamtester: User not known to the underlying authentication module",
        ),
    ];
    assert_answers(&server, &steps);
}

#[test]
fn sssd_has_users_change_a_password_that_was_reset() {
    let access = "access to attrs=userPassword by self write by anonymous auth\naccess to * by * read\n";
    let server = started(Flavor::Ironbark, ("", &format!("{access}{POLICY}")));
    server.ldapmodify(POLICY_ENTRY).unwrap().success().unwrap();
    let steps = [
        (
            "pamtester test ann authenticate chauthtok <<<$'pencil\\npencil\\nink\\nink'",
            "1 Password: Current Password: New Password: Reenter new Password: pamtester: Authentication token is no longer valid; \
             new one required|pamtester: successfully authenticated|Password change failed. Server message: \
             Password fails quality checking policy",
        ),
        (
            "pamtester test ann authenticate chauthtok <<<$'pencil\\npencil\\neraser\\neraser'",
            "0 Password: Current Password: New Password: Reenter new Password: pamtester: successfully authenticated|\
             pamtester: authentication token altered successfully.",
        ),
        (
            "pamtester test ann authenticate <<<pencil",
            "1 Password: pamtester: Authentication failure",
        ),
        (
            "pamtester test ann authenticate acct_mgmt <<<eraser",
            "0 Password: pamtester: successfully authenticated|pamtester: account management done.",
        ),
    ];
    assert_answers(&server, &steps);
}
