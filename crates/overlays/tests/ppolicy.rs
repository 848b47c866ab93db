//! The password policy, in a directory whose clock only a test moves.
#![allow(
    clippy::expect_used,
    clippy::unwrap_used,
    reason = "clippy knows test functions, but not what they call"
)]

use std::time::Duration;

use ironbark_directory::Started;
use ironbark_harness::{DecodedAnswer, Site, TestClient};
use ironbark_ldap_proto::{
    Authentication, BindRequest, DerefAliases, EncodeControl, ExtendedRequest, MessageId, Request, ResponseMessage,
    Scope, SearchRequest,
    controls::{
        AccountUsability, AccountUsabilityRequest, Control, PasswordPolicyError as Error, PasswordPolicyRequest,
        PasswordPolicyResponse, PasswordPolicyWarning as Warning,
    },
    extended::password_modify::{OID, PasswordModifyRequest},
    message::encode_request,
};
use ironbark_model::Filter;

const U: &str = "uid=u,ou=p,dc=ex";
const POLICY: &str = "cn=policy,dc=ex";
const ASK: Control<PasswordPolicyRequest> = Control::optional(PasswordPolicyRequest);
const RESTRICTED: &str = "Operations are restricted to bind/unbind/abandon/StartTLS/modify password";
const ACCESS: &str = "\naccess to attrs=userPassword by self =wx by anonymous auth by dn.exact=cn=helper,dc=ex manage by * none\
    \naccess to * by self write by * read";

/// A directory with a policy of these lines and a user whose password is `first`.
fn site_with(settings: &str, policy: &str) -> Site {
    let lines = format!("overlay ppolicy\nppolicy_default {POLICY}\n{settings}");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site.must_add("ou=p,dc=ex", "objectClass: organizationalUnit");
    let text = format!("objectClass: device\nobjectClass: pwdPolicy\n{policy}\npwdAttribute: userPassword");
    site.must_add(POLICY, &text);
    site.must_add(
        U,
        "objectClass: inetOrgPerson\ncn: Ursula Quartz\nsn: s\nuserPassword: first",
    );
    site
}

fn site(policy: &str) -> Site {
    site_with(ACCESS, policy)
}

fn bind_with(client: &mut TestClient, dn: &str, password: &str, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
    let request = BindRequest {
        version: 3,
        name: dn.as_bytes(),
        authentication: Authentication::Simple(password.as_bytes()),
    };
    client.send(&Request::Bind(request), controls)
}

fn bind(client: &mut TestClient, password: &str) -> u32 {
    bind_with(client, U, password, &[]).code
}

fn ask(client: &mut TestClient, password: &str) -> (u32, Option<Warning>, Option<Error>) {
    let answer = bind_with(client, U, password, &[&ASK]);
    let PasswordPolicyResponse { warning, error } = answer.policy.expect("the control");
    (answer.code, warning, error)
}

fn state(site: &mut Site, name: &str) -> Vec<String> {
    let text = site.read(U, &[name]).expect("there");
    let values = text.lines().filter_map(|line| line.split_once(": "));
    values.map(|(_, value)| value.to_owned()).collect()
}

fn replace(client: &mut TestClient, password: &str, controls: &[&dyn EncodeControl]) -> DecodedAnswer {
    client.modify_with(U, &format!("replace: userPassword\nu: {password}"), controls)
}

fn exchange(client: &mut TestClient, old: &str, new: &str) -> DecodedAnswer {
    let text = format!("delete: userPassword\nu: {old}\n-\nadd: userPassword\nu: {new}");
    client.modify_with(U, &text, &[&ASK])
}

fn refused(answer: &DecodedAnswer) -> (u32, &str, Option<Error>) {
    (answer.code, &answer.text, answer.policy.and_then(|policy| policy.error))
}

fn password_modify(client: &mut TestClient, old: Option<&str>, new: &str) -> DecodedAnswer {
    password_modify_of(client, None, old, new)
}

fn password_modify_of(client: &mut TestClient, user: Option<&str>, old: Option<&str>, new: &str) -> DecodedAnswer {
    let request = PasswordModifyRequest {
        user_identity: user.map(str::as_bytes),
        old_password: old.map(str::as_bytes),
        new_password: Some(new.as_bytes()),
    };
    let mut value = Vec::new();
    request.encode(&mut value);
    let request = ExtendedRequest {
        name: OID.as_bytes(),
        value: Some(&value),
    };
    client.send(&Request::Extended(request), &[&ASK])
}

fn usability(client: &mut TestClient, base: &str) -> Option<AccountUsability> {
    let request = SearchRequest {
        base: base.as_bytes(),
        scope: Scope::BaseObject,
        deref_aliases: DerefAliases::Never,
        size_limit: 0,
        time_limit: 0,
        types_only: false,
        filter: Filter::parse(b"(objectClass=*)", 10).expect("a filter"),
        attributes: (&[b"1.1" as &[u8]][..]).into(),
    };
    client
        .send(
            &Request::Search(request),
            &[&Control::critical(AccountUsabilityRequest)],
        )
        .usability
}

fn wait(site: &Site, seconds: u64) {
    site.clock.advance(Duration::from_secs(seconds));
}

#[test]
fn wrong_passwords_lock_until_the_lockout_is_over() {
    let mut site = site("pwdLockout: TRUE\npwdMaxFailure: 3\npwdLockoutDuration: 15\npwdFailureCountInterval: 120");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "wrong"), 49);
    assert_eq!(state(&mut site, "pwdFailureTime"), ["20260102030405.000000Z"]);
    assert_eq!(bind(&mut user, "wrong"), 49);
    assert_eq!(state(&mut site, "pwdAccountLockedTime"), [""; 0]);
    assert_eq!(bind(&mut user, "first"), 0, "a success forgets failures");
    assert_eq!(state(&mut site, "pwdFailureTime"), [""; 0]);
    for _ in 0..3 {
        assert_eq!(bind(&mut user, "wrong"), 49);
    }
    assert_eq!(state(&mut site, "pwdAccountLockedTime"), ["20260102030405Z"]);
    assert_eq!(ask(&mut user, "first"), (49, None, None), "nobody is told of the lock");
    let left = AccountUsability::Unavailable {
        inactive: true,
        reset: false,
        expired: false,
        remaining_grace: -1,
        seconds_before_unlock: 15,
    };
    assert_eq!(usability(&mut site, U), Some(left));
    wait(&site, 15);
    assert_eq!(bind(&mut user, "first"), 0);
    assert_eq!(state(&mut site, "pwdAccountLockedTime"), [""; 0]);
    assert_eq!(usability(&mut site, U), Some(AccountUsability::Available(-1)));
    assert_eq!(usability(&mut site, "dc=ex"), None, "there is no password");
}

#[test]
fn old_failures_do_not_count_and_no_more_than_needed_are_kept() {
    let mut site = site("pwdLockout: TRUE\npwdMaxFailure: 2\npwdFailureCountInterval: 10\npwdMaxRecordedFailure: 3");
    let mut user = site.connect();
    for _ in 0..5 {
        assert_eq!(bind(&mut user, "wrong"), 49);
        wait(&site, 11);
    }
    assert_eq!(state(&mut site, "pwdFailureTime").len(), 3);
    assert_eq!(state(&mut site, "pwdAccountLockedTime"), [""; 0]);
    assert_eq!(bind(&mut user, "wrong"), 49);
    assert_eq!(bind(&mut user, "wrong"), 49);
    wait(&site, 1_000_000_000);
    assert_eq!(
        bind(&mut user, "first"),
        49,
        "without a duration only an administrator unlocks"
    );
    assert_eq!(site.modify(U, "delete: pwdAccountLockedTime").brief(), (0, ""));
    assert_eq!(state(&mut site, "pwdFailureTime"), [""; 0]);
    assert_eq!(bind(&mut user, "first"), 0);
}

#[test]
fn a_burst_of_wrong_passwords_is_counted_exactly_and_locks() {
    let mut site = site("pwdLockout: TRUE\npwdMaxFailure: 30\npwdMaxRecordedFailure: 100");
    let mut clients: Vec<TestClient> = (0..40).map(|_| site.connect()).collect();
    let mut pending = Vec::new();
    for client in &mut clients {
        let password: &[u8] = b"wrong";
        let request = BindRequest {
            version: 3,
            name: U.as_bytes(),
            authentication: Authentication::Simple(password),
        };
        let (mut pdu, mut out) = (Vec::new(), Vec::new());
        encode_request(
            &mut pdu,
            MessageId::new(1).expect("in range"),
            &Request::Bind(request),
            &[],
        );
        let (worker, session) = client.parts();
        match worker.start(session, &pdu, &mut out) {
            Started::Submitted(submitted) => pending.push(submitted),
            _ => panic!("the writer decides"),
        }
    }
    for (client, submitted) in clients.iter_mut().zip(pending) {
        assert!(submitted.blocks_connection);
        let completion = submitted.receiver.blocking_recv().expect("completes");
        let (worker, session) = client.parts();
        let mut out = Vec::new();
        worker.finish(session, completion, &mut out);
        assert!(ResponseMessage::decode(&out, &ironbark_ldap_proto::DecodeLimits::default()).is_ok());
    }
    assert_eq!(
        state(&mut site, "pwdFailureTime").len(),
        30,
        "what is locked is not counted"
    );
    assert_eq!(state(&mut site, "pwdAccountLockedTime").len(), 1);
    assert_eq!(bind(&mut clients[0], "first"), 49);
}

#[test]
fn a_slow_hash_is_judged_as_well() {
    let mut site = site("pwdLockout: TRUE\npwdMaxFailure: 2");
    let hash = "{PBKDF2}1000$AAAAAAAAAAAAAAAAAAAAAA$mqsdTM1wPBAoq3R40N0o7rZvVSA";
    assert_eq!(replace(&mut site, hash, &[]).brief(), (0, ""));
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "wrong"), 49);
    assert_eq!(bind(&mut user, "wrong"), 49);
    assert_eq!(state(&mut site, "pwdFailureTime").len(), 2);
    assert_eq!(state(&mut site, "pwdAccountLockedTime").len(), 1);
}

#[test]
fn delays_double_up_to_the_greatest() {
    let site = site("pwdLockout: TRUE\npwdMinDelay: 2\npwdMaxDelay: 5");
    let mut user = site.connect();
    for wait_s in [2, 4, 5, 5] {
        assert_eq!(bind(&mut user, "wrong"), 49);
        assert_eq!(bind(&mut user, "first"), 49, "locked for a moment");
        wait(&site, wait_s - 1);
        assert_eq!(bind(&mut user, "first"), 49);
        wait(&site, 1);
    }
    assert_eq!(bind(&mut user, "first"), 0);
}

#[test]
fn times_of_an_entry_and_a_lock_for_ever() {
    let mut site = site("pwdLockout: TRUE\npwdLockoutDuration: 5");
    let mut user = site.connect();
    for (change, code) in [
        ("add: pwdStartTime\np: 20260102030406Z", 49),
        ("replace: pwdStartTime\np: 20260102030405Z", 0),
        ("add: pwdEndTime\np: 20260102030405Z", 49),
        ("replace: pwdEndTime\np: 20260102030406Z", 0),
        ("add: pwdAccountLockedTime\np: 20260102030500Z", 0),
        ("replace: pwdAccountLockedTime\np: 000001010000Z", 49),
    ] {
        assert_eq!(site.modify(U, change).brief(), (0, ""), "{change}");
        assert_eq!(bind(&mut user, "first"), code, "{change}");
    }
}

#[test]
fn clients_hear_of_a_lock_where_that_is_allowed() {
    let settings = "ppolicy_use_lockout";
    let mut site = site_with(settings, "pwdLockout: TRUE\npwdMaxFailure: 1");
    let mut user = site.connect();
    assert_eq!(ask(&mut user, "wrong"), (49, None, None));
    assert_eq!(ask(&mut user, "first"), (49, None, Some(Error::AccountLocked)));
    let stranger = bind_with(&mut user, "uid=none,dc=ex", "x", &[&ASK]);
    assert_eq!((stranger.code, stranger.policy), (49, None));
    assert_eq!(
        bind_with(&mut site, "cn=root,dc=ex", "secret", &[]).code,
        0,
        "the rootdn is exempt"
    );
}

#[test]
fn passwords_expire_after_warnings_and_grace() {
    let mut site = site(
        "pwdMaxAge: 30\npwdExpireWarning: 10\npwdGraceAuthNLimit: 2\npwdGraceExpiry: 100\npwdCheckQuality: 0\npwdInHistory: 0",
    );
    let mut user = site.connect();
    assert_eq!(state(&mut site, "pwdChangedTime"), ["20260102030405Z"]);
    assert_eq!(ask(&mut user, "first"), (0, None, None));
    assert_eq!(usability(&mut site, U), Some(AccountUsability::Available(30)));
    wait(&site, 21);
    assert_eq!(
        ask(&mut user, "first"),
        (0, Some(Warning::TimeBeforeExpiration(9)), None)
    );
    wait(&site, 10);
    assert_eq!(
        ask(&mut user, "first"),
        (0, Some(Warning::GraceAuthenticationsRemaining(1)), None)
    );
    assert_eq!(
        ask(&mut user, "first"),
        (0, Some(Warning::GraceAuthenticationsRemaining(0)), None)
    );
    assert_eq!(state(&mut site, "pwdGraceUseTime").len(), 2);
    assert_eq!(ask(&mut user, "first"), (49, None, Some(Error::PasswordExpired)));
    site.become_("cn=root,dc=ex");
    assert_eq!(replace(&mut site, "second", &[]).brief(), (0, ""));
    assert_eq!(state(&mut site, "pwdGraceUseTime"), [""; 0]);
    assert_eq!(ask(&mut user, "second"), (0, None, None));
    wait(&site, 131);
    assert_eq!(
        ask(&mut user, "second"),
        (49, None, Some(Error::PasswordExpired)),
        "grace has an end"
    );
}

#[test]
fn netscapes_controls() {
    let settings = "ppolicy_send_netscape_controls on";
    let mut site = site_with(settings, "pwdMaxAge: 30\npwdExpireWarning: 10");
    let mut user = site.connect();
    let expiry = |user: &mut TestClient| bind_with(user, U, "first", &[]).expiry;
    assert_eq!(expiry(&mut user), None);
    wait(&site, 25);
    assert_eq!(expiry(&mut user).as_deref(), Some("2.16.840.1.113730.3.4.5 5"));
    assert_eq!(bind_with(&mut user, U, "first", &[&ASK]).expiry, None);
    wait(&site, 10);
    assert_eq!(expiry(&mut user).as_deref(), Some("2.16.840.1.113730.3.4.4 0"));
    let _ = &mut site;
}

#[test]
fn a_reset_password_must_be_changed_before_anything_else() {
    let mut site = site("pwdMustChange: TRUE\npwdMinAge: 100");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    assert_eq!(replace(&mut site, "reset", &[]).brief(), (0, ""));
    assert_eq!(state(&mut site, "pwdReset"), ["TRUE"]);
    assert_eq!(ask(&mut user, "reset"), (0, None, Some(Error::ChangeAfterReset)));
    let read = user.search_as_self("dc=ex", Scope::BaseObject, "(objectClass=*)", &["*"]);
    assert_eq!(read.brief(), (50, RESTRICTED));
    let added = user.add_with("cn=x,dc=ex", "objectClass: device", &[&ASK]);
    assert_eq!(refused(&added), (50, RESTRICTED, Some(Error::ChangeAfterReset)));
    assert_eq!(user.delete(U).brief(), (50, RESTRICTED));
    assert_eq!(user.rename(U, "uid=v", None).brief(), (50, RESTRICTED));
    let mixed = user.modify_with(U, "replace: sn\ns: x\n-\nreplace: userPassword\nu: own", &[&ASK]);
    assert_eq!(refused(&mixed), (50, RESTRICTED, Some(Error::ChangeAfterReset)));
    assert_eq!(replace(&mut user, "own", &[]).brief(), (0, ""), "however young");
    assert_eq!(state(&mut site, "pwdReset"), [""; 0]);
    let read = user.search_as_self("dc=ex", Scope::BaseObject, "(objectClass=*)", &["*"]);
    assert_eq!(read.code, 0, "the same connection goes on");
    assert_eq!(ask(&mut user, "own"), (0, None, None));
}

#[test]
fn users_change_their_passwords_as_the_policy_allows() {
    let site = site("pwdAllowUserChange: FALSE");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    let text = "User alteration of password is not allowed";
    let answer = replace(&mut user, "second", &[&ASK]);
    assert_eq!(refused(&answer), (50, text, Some(Error::PasswordModNotAllowed)));
    user.become_("cn=helper,dc=ex");
    assert_eq!(replace(&mut user, "second", &[]).brief(), (0, ""));
}

#[test]
fn the_old_password_is_asked_for() {
    let mut site = site("pwdSafeModify: TRUE");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    let text = "Must supply old password to be changed as well as new one";
    let answer = replace(&mut user, "second", &[&ASK]);
    assert_eq!(refused(&answer), (50, text, Some(Error::MustSupplyOldPassword)));
    let answer = password_modify(&mut user, None, "second");
    assert_eq!(refused(&answer), (50, text, Some(Error::MustSupplyOldPassword)));
    let text = "Must supply correct old password to change to new one";
    let answer = exchange(&mut user, "wrong", "second");
    assert_eq!(refused(&answer), (53, text, Some(Error::MustSupplyOldPassword)));
    assert_eq!(
        password_modify(&mut user, Some("wrong"), "second").brief(),
        (53, "unwilling to verify old password")
    );
    assert_eq!(exchange(&mut user, "first", "second").brief(), (0, ""));
    assert_eq!(password_modify(&mut user, Some("second"), "third").brief(), (0, ""));
    assert_eq!(
        exchange(&mut user, "third", "fourth").brief(),
        (0, ""),
        "the old one is hashed by now"
    );
    assert_eq!(bind(&mut user, "fourth"), 0);
    assert_eq!(
        site.modify(U, "replace: userPassword\nu: by the rootdn").brief(),
        (0, "")
    );
}

#[test]
fn a_password_has_to_be_used_for_a_while() {
    let mut site = site("pwdMinAge: 10");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    let answer = replace(&mut user, "second", &[&ASK]);
    let young = (19, "Password is too young to change", Some(Error::PasswordTooYoung));
    assert_eq!(refused(&answer), young);
    wait(&site, 10);
    assert_eq!(replace(&mut user, "second", &[]).brief(), (0, ""));
    let _ = &mut site;
}

#[test]
fn former_passwords_are_remembered() {
    let mut site = site("pwdInHistory: 2");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    let same = "Password is not being changed from existing value";
    let answer = replace(&mut user, "first", &[&ASK]);
    assert_eq!(refused(&answer), (19, same, Some(Error::PasswordInHistory)));
    for new in ["second", "third"] {
        wait(&site, 1);
        assert_eq!(replace(&mut user, new, &[]).brief(), (0, ""));
    }
    let of_first = "20260102030406Z#1.3.6.1.4.1.1466.115.121.1.40#5#first";
    assert_eq!(
        state(&mut site, "pwdHistory"),
        [of_first, "20260102030407Z#1.3.6.1.4.1.1466.115.121.1.40#6#second"]
    );
    let former = "Password is in history of old passwords";
    let answer = replace(&mut user, "first", &[&ASK]);
    assert_eq!(refused(&answer), (19, former, Some(Error::PasswordInHistory)));
    let answer = password_modify(&mut user, None, "second");
    assert_eq!(refused(&answer), (19, former, Some(Error::PasswordInHistory)));
    wait(&site, 1);
    assert_eq!(replace(&mut user, "fourth", &[]).brief(), (0, ""));
    assert_eq!(replace(&mut user, "first", &[]).brief(), (0, ""), "long enough ago");
}

#[test]
fn a_client_without_the_rights_learns_nothing_of_a_password() {
    let rules = "\naccess to attrs=userPassword by self =wx by anonymous auth by * none\naccess to * by * read";
    let mut site = site_with(rules, "pwdInHistory: 3\npwdMinAge: 10");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    wait(&site, 20);
    assert_eq!(replace(&mut user, "second", &[]).code, 0);
    site.must_add("cn=w,dc=ex", "objectClass: person\nsn: s\nuserPassword: other");
    let mut other = site.connect();
    assert_eq!(bind_with(&mut other, "cn=w,dc=ex", "other", &[]).code, 0);
    let none = (50, "", None);
    // Within the minimum age, and after it.
    for _ in 0..2 {
        for guess in ["second", "first", "wrong"] {
            assert_eq!(refused(&replace(&mut other, guess, &[&ASK])), none, "{guess}");
            assert_eq!(refused(&exchange(&mut other, guess, "third")), none, "{guess}");
            let set = password_modify_of(&mut other, Some(U), None, guess);
            assert_eq!(refused(&set), none, "{guess}");
            let missing = other.modify("uid=none,dc=ex", &format!("replace: userPassword\nu: {guess}"));
            assert_eq!(missing.code, 32);
        }
        wait(&site, 20);
    }
    // The user itself is told.
    assert_eq!(
        refused(&replace(&mut user, "second", &[])).1,
        "Password is not being changed from existing value"
    );
    assert_eq!(
        refused(&replace(&mut user, "first", &[])).1,
        "Password is in history of old passwords"
    );
}

#[test]
fn lengths_and_hashed_passwords() {
    let quality = "Password fails quality checking policy";
    let mut site = site("pwdCheckQuality: 2\npwdMinLength: 5\npwdMaxLength: 40");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    let answer = replace(&mut user, "1234", &[&ASK]);
    assert_eq!(refused(&answer), (19, quality, Some(Error::PasswordTooShort)));
    let answer = password_modify(&mut user, None, &"x".repeat(41));
    assert_eq!(refused(&answer), (19, quality, Some(Error::PasswordTooLong)));
    let answer = replace(&mut user, "{SSHA}xxxxxxxxxxxxxxx", &[&ASK]);
    assert_eq!(
        refused(&answer),
        (19, quality, Some(Error::InsufficientPasswordQuality))
    );
    assert_eq!(replace(&mut site, "1234", &[]).brief(), (0, ""), "a manager may");
    user.become_("cn=helper,dc=ex");
    assert_eq!(replace(&mut user, "123", &[]).brief(), (0, ""));
    let twice = "Password policy only allows one password value";
    assert_eq!(site.modify(U, "add: userPassword\nu: one\nu: two").brief(), (19, twice));
    let text = "objectClass: inetOrgPerson\ncn: c\nsn: s\nuserPassword: one\nuserPassword: two";
    assert_eq!(site.add("uid=v,ou=p,dc=ex", text).brief(), (19, twice));
}

#[test]
fn our_own_checks_of_quality() {
    let words = tempfile::NamedTempFile::new().expect("a file");
    std::fs::write(words.path(), "Dragon\nletmein\n").expect("written");
    let settings = format!(
        "ppolicy_quality_characters 6\nppolicy_quality_classes 2\nppolicy_quality_dictionary {}\n\
         ppolicy_quality_forbid uid cn{ACCESS}",
        words.path().display()
    );
    let mut site = site_with(&settings, "pwdCheckQuality: 1");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    for (password, text) in [
        ("\u{e4}\u{f6}1ab", "Password has too few characters"),
        ("abcdefgh", "Password has too few kinds of characters"),
        ("12Dragon34!", "Password is a word of the dictionary"),
        ("my-quartz-7", "Password contains a part of the entry"),
    ] {
        let answer = replace(&mut user, password, &[&ASK]);
        assert_eq!(
            refused(&answer),
            (19, text, Some(Error::InsufficientPasswordQuality)),
            "{password}"
        );
    }
    assert_eq!(replace(&mut user, "dragonfly77", &[]).brief(), (0, ""));
    let _ = &mut site;
}

#[test]
fn a_module_that_a_policy_asks_for_must_be_there() {
    let policy = "objectClass: pwdPolicyChecker\npwdUseCheckModule: TRUE\npwdCheckQuality: 1";
    let quality = "Password fails quality checking policy";
    for (settings, code, text) in [("", 19, quality), ("ppolicy_quality_classes 1", 0, "")] {
        let site = site_with(&format!("{settings}{ACCESS}"), policy);
        let mut user = site.connect();
        assert_eq!(bind(&mut user, "first"), 0);
        assert_eq!(replace(&mut user, "second", &[]).brief(), (code, text));
    }
}

/// What ppm says of some passwords, with these settings and this policy.
fn judged_by_ppm(settings: &str, policy: &str, passwords: &[&str]) -> Vec<String> {
    let policy = format!("objectClass: pwdPolicyChecker\npwdCheckQuality: 2\n{policy}");
    let site = site_with(&format!("{settings}{ACCESS}"), &policy);
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    let mut judge = |password: &&str| {
        let answer = replace(&mut user, password, &[]);
        assert_eq!(answer.code, if answer.text.is_empty() { 0 } else { 19 });
        let prefix = "Password for dn=\"uid=u,ou=p,dc=ex\" ";
        answer.text.strip_prefix(prefix).unwrap_or(&answer.text).to_owned()
    };
    passwords.iter().map(&mut judge).collect()
}

#[test]
fn rules_of_ppm_judge_passwords() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ppm.conf");
    let rules = "minQuality 3\ncheckRDN 1\ncheckAttributes cn,sn\nforbiddenChars ~^\nmaxConsecutivePerClass 4\n\
        class-digit 0123456789 1 1 3\nclass-special !?\u{a7} 0 2 0\n";
    std::fs::write(&file, rules).unwrap();
    let settings = format!(
        "ppolicy_check_module /usr/lib/ldap/ppm.so\nppolicy_ppm_file {}\n",
        file.display()
    );
    let passwords = [
        "secret",
        "Secret!?",
        "Se1cr2e3t4",
        "Sec1ret~",
        "Secret11",
        "Sec1ret",
        "my-QUartz-7",
        "Aa1\u{a7}\u{a7}",
    ];
    assert_eq!(
        judged_by_ppm(&settings, "pwdUseCheckModule: TRUE", &passwords),
        [
            "does not pass required number of strength checks (1 of 3)",
            "has not reached the minimum number of characters (1) for class class-digit",
            "has reached the maximum number of characters (3) for class class-digit",
            "contains 1 forbidden characters in ~^",
            "has reached the maximum number of characters (4) for class class-lowerCase",
            "",
            "is too simple: it contains part of an attribute",
            "",
        ]
    );
    // The policy's own rules come before those of the file. slapd 2.5 names the module in the policy.
    let own = "pwdUseCheckModule: TRUE\npwdCheckModuleArg: minQuality 4";
    let four = "does not pass required number of strength checks (3 of 4)";
    assert_eq!(judged_by_ppm(&settings, own, &["Secret11", "Secret11?"]), [four, ""]);
    let older = "pwdCheckModule: ppm.so\npwdCheckModuleArg: minQuality 4";
    assert_eq!(judged_by_ppm("", older, &["Secret11", "Secret11?"]), [four, ""]);
}

#[test]
fn rules_that_cannot_be_read_let_no_password_in() {
    let error = "Error while checking password";
    for policy in [
        "pwdCheckModule: /usr/lib/ppm.so",
        "pwdCheckModule: ppm.so\npwdCheckModuleArg: minQuality many",
        "pwdCheckModule: ppm.so\npwdCheckModuleArg: minimumQuality 3",
        "pwdCheckModule: ppm.so\npwdCheckModuleArg: useCracklib 1",
    ] {
        assert_eq!(judged_by_ppm("", policy, &["Long-Enough-1"]), [error], "{policy}");
    }
    let other = "pwdCheckModule: /usr/lib/check_password.so";
    assert_eq!(
        judged_by_ppm("", other, &["Long-Enough-1"]),
        ["Password fails quality checking policy"]
    );
    assert_eq!(
        judged_by_ppm("ppolicy_quality_classes 3\n", other, &["Long-Enough-1"]),
        [""]
    );
    // Much too long a password.
    let long = "Aa1?".repeat(3_000);
    let policy = "pwdCheckModule: ppm.so\npwdCheckModuleArg: checkAttributes description";
    assert_eq!(
        judged_by_ppm("", policy, &[&long, "Aa1?"]),
        ["is too long to be checked", ""]
    );
}

#[test]
fn passwords_in_the_clear_are_hashed() {
    let settings = format!("ppolicy_hash_cleartext{ACCESS}");
    let mut site = site_with(
        &settings,
        "objectClass: pwdHashingPolicy\npwdDefaultHash: {SHA}\npwdRehashOnBind: TRUE",
    );
    let sha_of = |value: &str| value.starts_with("{SHA}");
    assert!(sha_of(&state(&mut site, "userPassword")[0]));
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "first"), 0);
    assert_eq!(exchange(&mut user, "first", "second").brief(), (0, ""));
    assert!(sha_of(&state(&mut site, "userPassword")[0]));
    assert_eq!(
        site.modify(POLICY, "replace: pwdDefaultHash\np: {SSHA}").brief(),
        (0, "")
    );
    let changed = state(&mut site, "pwdChangedTime");
    wait(&site, 1);
    assert_eq!(bind(&mut user, "second"), 0);
    assert!(state(&mut site, "userPassword")[0].starts_with("{SSHA}"));
    assert_eq!(state(&mut site, "pwdChangedTime"), changed, "it is the same password");
    assert_eq!(bind(&mut user, "second"), 0);
}

#[test]
fn slow_hashes_are_stored_as_quick_ones_are() {
    let settings = format!("ppolicy_hash_cleartext{ACCESS}");
    let policy = "objectClass: pwdHashingPolicy\npwdDefaultHash: {ARGON2}\npwdRehashOnBind: TRUE\npwdInHistory: 2";
    let mut site = site_with(&settings, policy);
    let is_slow = |values: &[String]| matches!(values, [value] if value.starts_with("{ARGON2}"));
    assert!(is_slow(&state(&mut site, "userPassword")), "of an add");
    assert_eq!(replace(&mut site, "second", &[]).brief(), (0, ""));
    assert!(is_slow(&state(&mut site, "userPassword")), "of a modify");
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "wrong"), 49);
    assert_eq!(bind(&mut user, "second"), 0);
    assert_eq!(
        exchange(&mut user, "second", "first").brief().0,
        19,
        "it was used before"
    );
    assert_eq!(
        replace(&mut site, "{SSHA}qpTUQaru80HNOvDDiWqTwdmCDblhbHR5", &[]).brief(),
        (0, "")
    );
    assert_eq!(bind(&mut user, "salty"), 0);
    assert!(is_slow(&state(&mut site, "userPassword")), "of a bind");
    assert_eq!(bind(&mut user, "salty"), 0);
}

#[test]
fn an_account_that_is_not_used_is_locked() {
    let mut site = site_with(&format!("lastbind on{ACCESS}"), "pwdLockout: TRUE\npwdMaxIdle: 15");
    let mut user = site.connect();
    wait(&site, 10);
    assert_eq!(bind(&mut user, "first"), 0);
    assert_eq!(state(&mut site, "pwdLastSuccess"), ["20260102030415Z"]);
    assert_eq!(usability(&mut site, U), Some(AccountUsability::Available(15)));
    wait(&site, 15);
    assert_eq!(bind(&mut user, "first"), 0);
    wait(&site, 16);
    assert_eq!(bind(&mut user, "first"), 49);
}

#[test]
fn rules_choose_the_policy() {
    let rules = "ppolicy_rules dn.regex=\"uid=([^,]*),ou=p,(dc=ex)\" \
                 group/groupOfNames/member.expand=\"cn=members,$2\" policy_dn.expand=\"cn=$1 policy,$2\"\n\
                 ppolicy_rules dn.baseObject=uid=free,ou=p,dc=ex no_policy\n\
                 ppolicy_rules filter=\"(description=idle)\" policy_dn=cn=other,dc=ex";
    let mut site = site_with(rules, "pwdMinLength: 1");
    let policy = "objectClass: device\nobjectClass: pwdPolicy\npwdAttribute: userPassword";
    for name in ["cn=other,dc=ex", "cn=u policy,dc=ex"] {
        site.must_add(name, policy);
    }
    site.must_add(
        "uid=free,ou=p,dc=ex",
        "objectClass: inetOrgPerson\ncn: c\nsn: s\nuserPassword: x",
    );
    site.must_add("cn=members,dc=ex", &format!("objectClass: groupOfNames\nmember: {U}"));
    let chosen = |site: &mut Site, dn: &str| {
        let names: &[&[u8]] = &[b"pwdPolicySubentry"];
        let request = SearchRequest {
            base: dn.as_bytes(),
            scope: Scope::BaseObject,
            deref_aliases: DerefAliases::Never,
            size_limit: 0,
            time_limit: 0,
            types_only: false,
            filter: Filter::parse(b"(objectClass=*)", 10).expect("a filter"),
            attributes: names.into(),
        };
        let answer = site.send(&Request::Search(request), &[]);
        answer.entries[0].lines().nth(1).map(str::to_owned)
    };
    let named = |name: &str| Some(format!("pwdPolicySubentry: {name}"));
    assert_eq!(chosen(&mut site, U), named("cn=u policy,dc=ex"));
    assert_eq!(chosen(&mut site, "uid=free,ou=p,dc=ex"), None);
    assert_eq!(chosen(&mut site, "dc=ex"), None, "without a password");
    assert_eq!(site.delete("cn=members,dc=ex").code, 0);
    assert_eq!(chosen(&mut site, U), named(POLICY));
    assert_eq!(site.modify(U, "add: description\nd: idle").code, 0);
    assert_eq!(chosen(&mut site, U), named("cn=other,dc=ex"));
    assert_eq!(
        site.modify(U, "add: pwdPolicySubentry\np: cn=u policy,dc=ex").brief(),
        (0, "")
    );
    assert_eq!(chosen(&mut site, U), named("cn=u policy,dc=ex"));
}

#[test]
fn nothing_is_written_where_that_is_switched_off() {
    let mut site = site_with(
        "ppolicy_disable_write on",
        "pwdLockout: TRUE\npwdMaxFailure: 1\npwdCheckQuality: 2\npwdMinLength: 9",
    );
    let before = site.stored(U);
    let mut user = site.connect();
    assert_eq!(bind(&mut user, "wrong"), 49);
    assert_eq!(bind(&mut user, "first"), 0);
    assert_eq!(site.stored(U), before);
}
