//! slapo-otp(5).
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::time::Duration;

use ironbark_directory::{OutcomeKind, password};
use ironbark_harness::peer::{csn, made, mapping, refresh};
use ironbark_harness::{Site, TestClient};
use ironbark_ldap_proto::{Authentication, BindRequest, CompareRequest, Request};

const USER: &str = "cn=u,dc=ex";
const TOKEN: &str = "ou=token,dc=ex";
const PARAMS: &str = "ou=params,dc=ex";
/// The secret of RFC 4226 appendix D.
const SECRET: &str = "12345678901234567890";
/// Its codes for the counters from 0 on.
const HOTP: [&str; 10] = [
    "755224", "287082", "359152", "969429", "338314", "254676", "287922", "162583", "399871", "520489",
];
/// The time step of 30 seconds at which sites begin, five seconds after its beginning.
const STEP: i64 = 58_910_768;
/// Its codes for the steps from three before that on.
const TOTP: [&str; 9] = [
    "632048", "594060", "391022", "652348", "751330", "366299", "212808", "173758", "737718",
];

/// The code of a step, counted from [`STEP`].
fn totp(offset: i64) -> &'static str {
    TOTP.get(usize::try_from(offset + 3).unwrap()).unwrap()
}

fn bind(client: &mut TestClient, name: &str, password: impl AsRef<[u8]>) -> u32 {
    let request = BindRequest {
        version: 3,
        name: name.as_bytes(),
        authentication: Authentication::Simple(password.as_ref()),
    };
    let code = client.send(&Request::Bind(request), &[]).code;
    client.become_("cn=root,dc=ex");
    code
}

fn compare(client: &mut TestClient, name: &str, value: &str) -> u32 {
    let request = CompareRequest {
        entry: name.as_bytes(),
        attribute: b"oathSecret",
        value: value.as_bytes(),
    };
    client.send(&Request::Compare(request), &[]).code
}

fn site(lines: &str) -> Site {
    let lines = format!("{lines}\noverlay otp");
    let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
    site
}

fn hotp_params(look_ahead: &str) -> String {
    format!(
        "objectClass: organizationalUnit\nobjectClass: oathHOTPParams\noathOTPLength: 6\n\
         oathHMACAlgorithm: 1.2.840.113549.2.7\noathHOTPLookAhead: {look_ahead}"
    )
}

fn hotp_token() -> String {
    format!(
        "objectClass: organizationalUnit\nobjectClass: oathHOTPToken\noathSecret: {SECRET}\noathHOTPParams: {PARAMS}"
    )
}

fn hotp_user(password: &str) -> String {
    format!("objectClass: person\nobjectClass: oathHOTPUser\nsn: s\nuserPassword: {password}\noathHOTPToken: {TOKEN}")
}

/// With a user, whose password is `pw`, and its token, look-ahead 2.
fn hotp_site(lines: &str) -> Site {
    let mut site = site(lines);
    site.must_add(PARAMS, &hotp_params("2"));
    site.must_add(TOKEN, &hotp_token());
    site.must_add(USER, &hotp_user("pw"));
    site
}

/// The same by time, with a window of two steps.
fn totp_site() -> Site {
    let mut site = site("");
    site.must_add(
        PARAMS,
        "objectClass: organizationalUnit\nobjectClass: oathTOTPParams\noathOTPLength: 6\n\
         oathHMACAlgorithm: 1.2.840.113549.2.7\noathTOTPTimeStepPeriod: 30\noathTOTPTimeStepWindow: 2",
    );
    let token = format!(
        "objectClass: organizationalUnit\nobjectClass: oathTOTPToken\noathSecret: {SECRET}\noathTOTPParams: {PARAMS}"
    );
    site.must_add(TOKEN, &token);
    let user =
        format!("objectClass: person\nobjectClass: oathTOTPUser\nsn: s\nuserPassword: pw\noathTOTPToken: {TOKEN}");
    site.must_add(USER, &user);
    site
}

fn with(code: &str) -> String {
    format!("pw{code}")
}

fn state(site: &mut Site) -> String {
    let names = ["oathHOTPCounter", "oathTOTPLastTimeStep", "oathTOTPTimeStepDrift"];
    site.read(TOKEN, &names).unwrap()
}

#[test]
fn a_counter_code_counts_once_and_those_before_it_no_more() {
    let mut site = hotp_site("");
    assert_eq!(bind(&mut site, USER, "pw"), 49, "a code is asked for");
    assert_eq!(bind(&mut site, USER, HOTP[0]), 49, "and a password");
    assert_eq!(
        bind(&mut site, USER, with(HOTP[1])),
        0,
        "the code alone has used up the first"
    );
    assert_eq!(state(&mut site), "oathHOTPCounter: 1\n");
    for used in &HOTP[..2] {
        assert_eq!(bind(&mut site, USER, with(used)), 49, "{used}");
    }
    assert_eq!(bind(&mut site, USER, with(HOTP[5])), 49, "beyond the look-ahead");
    assert_eq!(state(&mut site), "oathHOTPCounter: 1\n");
    assert_eq!(bind(&mut site, USER, with(HOTP[4])), 0, "two are skipped");
    assert_eq!(state(&mut site), "oathHOTPCounter: 4\n");
    assert_eq!(bind(&mut site, USER, with(HOTP[2])), 49, "skipped codes are void");
    let author = site.read(TOKEN, &["modifiersName"]).unwrap();
    assert_eq!(author, "modifiersName: cn=root,dc=ex\n");
}

#[test]
fn a_wrong_password_uses_up_the_code() {
    let mut site = hotp_site("");
    assert_eq!(bind(&mut site, USER, format!("wrong{}", HOTP[0])), 49);
    assert_eq!(state(&mut site), "oathHOTPCounter: 0\n");
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 49);
    assert_eq!(bind(&mut site, USER, with(HOTP[1])), 0);
}

#[test]
fn users_without_the_class_need_no_code() {
    let mut site = hotp_site("");
    site.must_add("cn=plain,dc=ex", "objectClass: person\nsn: s\nuserPassword: pw123456");
    assert_eq!(bind(&mut site, "cn=plain,dc=ex", "pw123456"), 0);
    assert_eq!(bind(&mut site, "cn=plain,dc=ex", "pw"), 49);
    assert_eq!(bind(&mut site, "cn=nobody,dc=ex", "pw"), 49);
    assert_eq!(bind(&mut site, "cn=u,dc=elsewhere", "pw"), 49);
}

#[test]
fn users_who_share_a_token_share_its_codes() {
    let mut site = hotp_site("");
    site.must_add("cn=v,dc=ex", &hotp_user("pv"));
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 0);
    assert_eq!(bind(&mut site, "cn=v,dc=ex", format!("pv{}", HOTP[0])), 49);
    assert_eq!(bind(&mut site, "cn=v,dc=ex", format!("pv{}", HOTP[1])), 0);
}

#[test]
fn what_is_no_password_with_a_code_is_refused() {
    let mut site = hotp_site("");
    let long = "7".repeat(100_000);
    let tries: [&[u8]; 8] = [
        b"1",
        b"755224",
        b"pw75522",
        b"pw755224 ",
        b"\xff\xfe\xff",
        b"pw\xd9\xa7\xd9\xa5\xd9\xa5",
        b"pw+75522",
        long.as_bytes(),
    ];
    // The code alone is the right one, and used up.
    for presented in tries {
        assert_eq!(
            bind(&mut site, USER, presented),
            49,
            "{:?}",
            String::from_utf8_lossy(presented)
        );
    }
    assert_eq!(bind(&mut site, USER, with(HOTP[1])), 0);
}

#[test]
fn tokens_that_cannot_be_used_let_nobody_in() {
    let mut site = hotp_site("");
    let changes = [
        (USER, "delete: oathHOTPToken"),
        (USER, "replace: oathHOTPToken\noathHOTPToken: ou=missing,dc=ex"),
        (USER, "replace: oathHOTPToken\noathHOTPToken: ou=token,dc=elsewhere"),
        (USER, "replace: oathHOTPToken\noathHOTPToken: cn=u,dc=ex"),
        (TOKEN, "delete: oathSecret"),
        (TOKEN, "delete: oathHOTPParams"),
        (TOKEN, "replace: oathHOTPParams\noathHOTPParams: ou=missing,dc=ex"),
        (TOKEN, "replace: oathHOTPParams\noathHOTPParams: ou=token,dc=ex"),
        (TOKEN, "replace: oathHOTPCounter\noathHOTPCounter: 9223372036854775807"),
        (TOKEN, "replace: oathHOTPCounter\noathHOTPCounter: 99999999999999999999"),
        (PARAMS, "replace: oathOTPLength\noathOTPLength: 0"),
        (PARAMS, "replace: oathOTPLength\noathOTPLength: -6"),
        (PARAMS, "replace: oathOTPLength\noathOTPLength: 9"),
        (PARAMS, "replace: oathOTPLength\noathOTPLength: 18446744073709551622"),
        (PARAMS, "replace: oathHOTPLookAhead\noathHOTPLookAhead: -1"),
        (
            PARAMS,
            "replace: oathHMACAlgorithm\noathHMACAlgorithm: 1.2.840.113549.2.1",
        ),
    ];
    let names = ["*"];
    for (name, change) in changes {
        let before = site.read(name, &names).unwrap();
        assert_eq!(site.modify(name, change).code, 0, "{change}");
        for presented in [with(HOTP[0]), "pw".to_owned(), with("")] {
            assert_eq!(bind(&mut site, USER, &presented), 49, "{change}: {presented}");
        }
        assert_eq!(site.delete(name).code, 0);
        site.must_add(name, &before);
    }
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 0, "all is as it was");
}

#[test]
fn a_look_ahead_of_any_size_is_bounded() {
    let mut site = hotp_site("");
    site.modify(PARAMS, "replace: oathHOTPLookAhead\noathHOTPLookAhead: 2147483647");
    assert_eq!(bind(&mut site, USER, with("796651")), 49, "counter 1001");
    assert_eq!(bind(&mut site, USER, with("450130")), 0, "counter 1000");
    assert_eq!(state(&mut site), "oathHOTPCounter: 1000\n");
}

#[test]
fn a_time_code_counts_in_its_window_once_and_earlier_steps_no_more() {
    let mut site = totp_site();
    assert_eq!(bind(&mut site, USER, with(totp(-3))), 49, "before the window");
    assert_eq!(bind(&mut site, USER, with(totp(3))), 49, "behind it");
    assert_eq!(bind(&mut site, USER, with(totp(-2))), 0);
    let last = |step: i64, drift: i64| format!("oathTOTPLastTimeStep: {step}\noathTOTPTimeStepDrift: {drift}\n");
    assert_eq!(state(&mut site), last(STEP - 2, -2));
    assert_eq!(bind(&mut site, USER, with(totp(-2))), 49, "once");
    assert_eq!(bind(&mut site, USER, with(totp(1))), 0);
    assert_eq!(state(&mut site), last(STEP + 1, 1));
    assert_eq!(bind(&mut site, USER, with(totp(0))), 49, "not behind a later one");
    assert_eq!(bind(&mut site, USER, format!("wrong{}", totp(2))), 49);
    assert_eq!(bind(&mut site, USER, with(totp(2))), 49, "used up by a wrong password");
    site.clock.advance(Duration::from_secs(30));
    assert_eq!(bind(&mut site, USER, with(totp(3))), 0);
    assert_eq!(state(&mut site), last(STEP + 3, 2));
}

#[test]
fn the_drift_of_the_parameters_moves_the_window() {
    let mut site = totp_site();
    // Token and parameters in one entry: the window follows the client's clock.
    site.modify(
        TOKEN,
        "add: objectClass\nobjectClass: oathTOTPParams\n-\nadd: oathOTPLength\noathOTPLength: 6\n-\n\
         add: oathHMACAlgorithm\noathHMACAlgorithm: 1.2.840.113549.2.7\n-\n\
         add: oathTOTPTimeStepPeriod\noathTOTPTimeStepPeriod: 30\n-\n\
         add: oathTOTPTimeStepWindow\noathTOTPTimeStepWindow: 2\n-\n\
         replace: oathTOTPParams\noathTOTPParams: ou=token,dc=ex",
    );
    assert_eq!(bind(&mut site, USER, with(totp(3))), 49);
    assert_eq!(bind(&mut site, USER, with(totp(2))), 0);
    assert_eq!(bind(&mut site, USER, with(totp(4))), 0, "two beyond the drift of two");
    assert!(state(&mut site).ends_with("Drift: 4\n"));
}

#[test]
fn parameters_of_time_that_cannot_be_let_nobody_in() {
    let mut site = totp_site();
    for change in [
        "replace: oathTOTPTimeStepPeriod\noathTOTPTimeStepPeriod: 0",
        "replace: oathTOTPTimeStepPeriod\noathTOTPTimeStepPeriod: -30",
        "replace: oathTOTPTimeStepWindow\noathTOTPTimeStepWindow: -1",
    ] {
        let before = site.read(PARAMS, &["*"]).unwrap();
        assert_eq!(site.modify(PARAMS, change).code, 0);
        assert_eq!(bind(&mut site, USER, with(totp(0))), 49, "{change}");
        assert_eq!(site.delete(PARAMS).code, 0);
        site.must_add(PARAMS, &before);
    }
    site.modify(
        PARAMS,
        "replace: oathTOTPTimeStepWindow\noathTOTPTimeStepWindow: 9223372036854775807",
    );
    assert_eq!(bind(&mut site, USER, with(totp(5))), 0);
}

#[test]
fn a_user_with_both_tokens_may_use_either() {
    let mut site = totp_site();
    site.must_add("ou=counted,dc=ex", &hotp_token().replace(PARAMS, "ou=ahead,dc=ex"));
    site.must_add("ou=ahead,dc=ex", &hotp_params("0"));
    site.modify(
        USER,
        "add: objectClass\nobjectClass: oathHOTPUser\n-\nadd: oathHOTPToken\noathHOTPToken: ou=counted,dc=ex",
    );
    assert_eq!(bind(&mut site, USER, with(totp(0))), 0);
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 0);
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 49);
    assert_eq!(bind(&mut site, USER, with(totp(0))), 49);
}

#[test]
fn of_many_binds_with_one_code_one_succeeds() {
    let site = hotp_site("");
    let directory = &site.directory;
    let accepted: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| scope.spawn(|| usize::from(bind(&mut TestClient::new(directory), USER, with(HOTP[0])) == 0)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    assert_eq!(accepted, 1);
}

#[test]
fn slow_hashes_of_the_password_are_compared_with_what_stands_before_the_code() {
    let mut site = hotp_site("");
    let scheme = password::split(b"{PBKDF2-SHA256}x").0.unwrap();
    let slow = |clear: &[u8]| {
        let stored = password::hash(scheme, clear, &mut |salt| salt.fill(7)).unwrap();
        String::from_utf8(stored).unwrap()
    };
    let change = format!(
        "replace: userPassword\nuserPassword: {}\nuserPassword: {}",
        slow(b"other"),
        slow(b"pw")
    );
    assert_eq!(site.modify(USER, &change).code, 0);
    assert_eq!(bind(&mut site, USER, format!("wrong{}", HOTP[0])), 49);
    assert_eq!(state(&mut site), "oathHOTPCounter: 0\n");
    assert_eq!(bind(&mut site, USER, with(HOTP[1])), 0);
    assert_eq!(bind(&mut site, USER, "pw"), 49);
    assert_eq!(bind(&mut site, USER, format!("other{}", HOTP[2])), 0);
}

#[test]
fn access_rules_keep_passwords_from_binds_and_do_not_keep_tokens_from_the_server() {
    let mut site = hotp_site("access to attrs=userPassword by anonymous auth\naccess to * by * none");
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 0);
    let mut site = hotp_site("access to attrs=userPassword by * none\naccess to * by * read");
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 49);
}

#[test]
fn a_rootdn_with_a_token_needs_a_code_too() {
    let lines = "rootpw rootpw";
    let mut site = hotp_site(lines);
    assert_eq!(bind(&mut site, "cn=root,dc=ex", "rootpw"), 0, "it has no entry");
    assert_eq!(bind(&mut site, "cn=root,dc=ex", "wrong"), 49);
    site.must_add("cn=root,dc=ex", &hotp_user("own"));
    assert_eq!(bind(&mut site, "cn=root,dc=ex", "rootpw"), 49);
    assert_eq!(bind(&mut site, "cn=root,dc=ex", format!("rootpw{}", HOTP[0])), 0);
    assert_eq!(bind(&mut site, "cn=root,dc=ex", format!("own{}", HOTP[1])), 0);
}

/// A site whose entries come from a provider. What is missing for `token` to conform to the schema is not checked.
fn replicated(lines: &str, token: &[(&str, &str)]) -> Site {
    let lines = format!("{}\n{lines}\noverlay otp", ironbark_harness::peer::LINES);
    let site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
    let unit = ("objectClass", "organizationalUnit");
    let params = [
        unit,
        ("objectClass", "oathHOTPParams"),
        ("structuralObjectClass", "organizationalUnit"),
        ("ou", "params"),
        ("oathOTPLength", "6"),
        ("oathHMACAlgorithm", "1.2.840.113549.2.7"),
        ("oathHOTPLookAhead", "2"),
    ];
    let user = [
        ("objectClass", "person"),
        ("objectClass", "oathHOTPUser"),
        ("structuralObjectClass", "person"),
        ("cn", "u"),
        ("sn", "s"),
        ("userPassword", "pw"),
        ("oathHOTPToken", TOKEN),
    ];
    let mut whole = vec![
        ("objectClass", "oathHOTPToken"),
        ("oathSecret", SECRET),
        ("oathHOTPParams", PARAMS),
    ];
    whole.extend(token);
    let top = [("objectClass", "domain"), ("dc", "ex")];
    let entries: [(&str, &[(&str, &str)]); 4] = [("dc=ex", &top), (PARAMS, &params), (TOKEN, &whole), (USER, &user)];
    for (count, (name, attributes)) in (1..).zip(entries) {
        let sent = made(name, count, &csn(1, count.into()), attributes);
        assert_eq!(refresh(&site, mapping(&site), &sent), OutcomeKind::Added);
    }
    site
}

const CONFORMING: &[(&str, &str)] = &[
    ("objectClass", "organizationalUnit"),
    ("structuralObjectClass", "organizationalUnit"),
    ("ou", "token"),
];

#[test]
fn a_code_that_cannot_be_marked_as_used_does_not_count() {
    let mut site = replicated("", CONFORMING);
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 0, "it can be");
    // The token does not conform to the schema.
    let mut site = replicated("", &[]);
    let before = site.read(TOKEN, &["*", "+"]);
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 49);
    assert_eq!(compare(&mut site, TOKEN, HOTP[0]), 5);
    assert_eq!(site.read(TOKEN, &["*", "+"]), before);
}

#[test]
fn no_code_counts_on_a_replica_where_it_would_still_be_valid_elsewhere() {
    let mut site = replicated("updatedn cn=elsewhere", CONFORMING);
    let before = site.read(TOKEN, &["*", "+"]);
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 49);
    assert_eq!(compare(&mut site, TOKEN, HOTP[0]), 5);
    assert_eq!(site.read(TOKEN, &["*", "+"]), before);
}

#[test]
fn a_comparison_with_the_secret_of_a_token_is_one_with_its_next_code() {
    let mut site = hotp_site("");
    assert_eq!(compare(&mut site, TOKEN, SECRET), 5, "the secret itself says nothing");
    assert_eq!(compare(&mut site, TOKEN, &with(HOTP[0])), 5, "only the code");
    assert_eq!(compare(&mut site, TOKEN, HOTP[0]), 6);
    assert_eq!(compare(&mut site, TOKEN, HOTP[0]), 5, "once");
    assert_eq!(state(&mut site), "oathHOTPCounter: 0\n");
    assert_eq!(bind(&mut site, USER, with(HOTP[0])), 49);
    assert_eq!(compare(&mut site, USER, HOTP[1]), 16, "no token");
    let mut site = totp_site();
    assert_eq!(compare(&mut site, TOKEN, totp(0)), 6);
    assert_eq!(compare(&mut site, TOKEN, totp(0)), 5);
    site.modify(TOKEN, "delete: oathSecret");
    assert_eq!(compare(&mut site, TOKEN, totp(1)), 16);
}

#[test]
fn who_may_not_compare_the_secret_uses_up_nothing() {
    let rules = "access to dn.base=ou=token,dc=ex attrs=entry by dn.exact=cn=b,dc=ex none by * read\n\
                 access to attrs=oathSecret by dn.exact=cn=c,dc=ex compare by dn.exact=cn=d,dc=ex disclose by * none\n\
                 access to * by * read";
    let mut site = hotp_site(rules);
    for (who, code) in [("cn=b,dc=ex", 32), ("cn=d,dc=ex", 50), ("", 50), (USER, 50)] {
        site.become_(who);
        assert_eq!(compare(&mut site, TOKEN, HOTP[0]), code, "{who}");
    }
    site.become_("cn=root,dc=ex");
    assert_eq!(state(&mut site), "");
    site.become_("cn=c,dc=ex");
    assert_eq!(
        compare(&mut site, TOKEN, HOTP[0]),
        6,
        "compare access is enough, and none to the counter"
    );
}

#[test]
fn wrong_codes_count_as_failures_for_password_policies() {
    for lines in ["overlay ppolicy\nppolicy_default ou=pol,dc=ex", ""] {
        // Before and behind the overlay.
        let behind = if lines.is_empty() {
            "\noverlay ppolicy\nppolicy_default ou=pol,dc=ex"
        } else {
            ""
        };
        let lines = format!("{lines}\noverlay otp{behind}");
        let mut site = Site::open_of(&ironbark_overlays::registry(), &lines, ironbark_overlays::make);
        site.must_add("dc=ex", "objectClass: dcObject\nobjectClass: organization\no: ex");
        site.must_add(
            "ou=pol,dc=ex",
            "objectClass: organizationalUnit\nobjectClass: pwdPolicy\npwdAttribute: userPassword\n\
             pwdLockout: TRUE\npwdMaxFailure: 2",
        );
        site.must_add(PARAMS, &hotp_params("2"));
        site.must_add(TOKEN, &hotp_token());
        site.must_add(USER, &hotp_user("pw"));
        assert_eq!(bind(&mut site, USER, with(HOTP[0])), 0);
        assert_eq!(bind(&mut site, USER, with(HOTP[0])), 49);
        let failures = site.read(USER, &["pwdFailureTime"]).unwrap();
        assert_eq!(failures.lines().count(), 1, "{failures}");
        assert_eq!(bind(&mut site, USER, with(HOTP[0])), 49);
        assert_eq!(bind(&mut site, USER, with(HOTP[1])), 49, "locked");
        assert_eq!(state(&mut site), "oathHOTPCounter: 1\n", "and the code is used up");
    }
}
