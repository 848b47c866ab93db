//! Assuming another identity, or an anonymous client with the rights of somebody.

use ironbark_testkit::Credentials;

use crate::attacks::site::{ANN, BASE, BOB, BOSS, HIDDEN, NOBODY, run, site, site_holding, site_with, user};

#[test]
fn nobody_writes() {
    let server = site();
    for (program, arguments, input) in [
        (
            "ldapadd",
            &[][..],
            "dn: cn=x,dc=example,dc=com\nobjectClass: person\ncn: x\nsn: x\n".to_owned(),
        ),
        (
            "ldapmodify",
            &[],
            format!("dn: {ANN}\nchangetype: modify\nreplace: sn\nsn: x\n"),
        ),
        ("ldapdelete", &[ANN], String::new()),
        ("ldapmodrdn", &[ANN, "uid=x"], String::new()),
        ("ldappasswd", &["-s", "x", ANN], String::new()),
        ("ldappasswd", &["-a", "annspass", "-s", "x", ANN], String::new()),
    ] {
        let outcome = run(&server, &NOBODY, program, arguments, &input);
        assert!(
            matches!(outcome.code(), Some(8 | 50 | 53 | 1)),
            "{program}: {outcome:?}"
        );
    }
    let found = run(
        &server,
        &user(BOSS),
        "ldapsearch",
        &["-b", BASE, "(|(uid=ann)(cn=x))", "sn"],
        "",
    );
    assert_eq!(found.stdout.matches("dn:").count(), 1);
    assert!(found.stdout.contains("sn: Able"));
}

#[test]
fn an_empty_password_is_no_password() {
    let server = site();
    for dn in [
        ANN,
        "cn=Manager,dc=example,dc=com",
        HIDDEN,
        "uid=none,dc=example,dc=com",
    ] {
        let who = Credentials::Simple { dn, password: "" };
        let outcome = run(&server, &who, "ldapwhoami", &[], "");
        assert_eq!(outcome.code(), Some(53), "{dn}: {outcome:?}");
    }
    // Where it is allowed, the client is anonymous.
    let server = site_with("allow bind_anon_dn", "");
    let outcome = run(
        &server,
        &Credentials::Simple { dn: ANN, password: "" },
        "ldapwhoami",
        &[],
        "",
    );
    assert_eq!((outcome.code(), outcome.stdout.trim()), (Some(0), "anonymous"));
}

#[test]
fn a_bind_that_fails_leaves_nobody() {
    let server = site();
    let script = format!(
        "import ldap, os\nc = ldap.initialize(os.environ['LDAP_URL'])\nc.simple_bind_s('{BOSS}', 'bossspass')\nprint(c.whoami_s())\n\
         try:\n    c.simple_bind_s('{BOSS}', 'wrong')\nexcept ldap.INVALID_CREDENTIALS:\n    print('refused')\n\
         print(repr(c.whoami_s()))\n"
    );
    let answer = server.python(&script).unwrap().success().unwrap().stdout;
    assert_eq!(
        answer.lines().collect::<Vec<_>>(),
        [&format!("dn:{BOSS}"), "refused", "''"]
    );
}

#[test]
fn a_bind_that_is_refused_for_its_controls_leaves_nobody() {
    let server = site();
    let script = format!(
        "import ldap, os\n\
         from ldap.controls import RequestControl as R\n\
         refused = [\n\
         \x20   [R('1.2.3', True, None)],\n\
         \x20   [R('1.2.840.113556.1.4.319', True, b'zz')],\n\
         \x20   [R('2.16.840.1.113730.3.4.18', True, b'dn:{ANN}')],\n\
         \x20   [R('1.2.3.%d' % n, False, None) for n in range(100)],\n\
         ]\n\
         for controls in refused:\n\
         \x20   for again in [('{BOSS}', 'bossspass'), ('{ANN}', 'annspass'), ('', ''), ('bad', 'x')]:\n\
         \x20       c = ldap.initialize(os.environ['LDAP_URL'])\n\
         \x20       c.simple_bind_s('{BOSS}', 'bossspass')\n\
         \x20       m = c.search_ext('{BASE}', ldap.SCOPE_SUBTREE, '(sn=secret)', ['1.1'])\n\
         \x20       assert c.result3(m)[1], 'the boss sees it'\n\
         \x20       try:\n\
         \x20           c.simple_bind_s(*again, serverctrls=controls)\n\
         \x20           raise AssertionError('taken')\n\
         \x20       except ldap.LDAPError:\n\
         \x20           pass\n\
         \x20       assert c.whoami_s() == '', (controls, again, c.whoami_s())\n\
         \x20       m = c.search_ext('{BASE}', ldap.SCOPE_SUBTREE, '(sn=secret)', ['1.1'])\n\
         \x20       try:\n\
         \x20           assert not c.result3(m)[1]\n\
         \x20       except ldap.LDAPError:\n\
         \x20           pass\n\
         print('good')\n"
    );
    assert_eq!(server.python(&script).unwrap().success().unwrap().stdout, "good\n");
}

/// RFC 4511 §4.14.2.
#[test]
fn a_start_tls_that_cannot_be_leaves_the_identity() {
    let server = site();
    let script = format!(
        "import ldap, os\n\
         from ldap.extop import ExtendedRequest\n\
         c = ldap.initialize(os.environ['LDAP_URL'])\n\
         c.simple_bind_s('{BOSS}', 'bossspass')\n\
         for value in (None, b'x'):\n\
         \x20   try:\n\
         \x20       c.extop_s(ExtendedRequest('1.3.6.1.4.1.1466.20037', value))\n\
         \x20   except ldap.LDAPError as e:\n\
         \x20       print(type(e).__name__)\n\
         \x20   print(c.whoami_s())\n"
    );
    let said = server.python(&script).unwrap().success().unwrap().stdout;
    let boss = format!("dn:{BOSS}");
    assert_eq!(
        said.lines().collect::<Vec<_>>(),
        ["PROTOCOL_ERROR", &boss, "PROTOCOL_ERROR", &boss]
    );
}

#[test]
fn relaxed_rules_need_the_right_to_manage() {
    let rules = format!("access to dn.subtree=\"ou=kept,{BASE}\" by dn.exact=\"{BOB}\" manage by * read");
    let entries = format!(
        "dn: ou=kept,{BASE}\nobjectClass: organizationalUnit\nou: kept\n\n\
         dn: cn=p,ou=kept,{BASE}\nobjectClass: person\ncn: p\nsn: p\n\n\
         dn: cn=p,ou=mine,{BASE}\nobjectClass: person\ncn: p\nsn: p\n"
    );
    let server = site_holding("", &rules, &entries);
    let relaxed = |program: &str, arguments: &[&str], input: &str| {
        let arguments = [&["-e", "!relax"], arguments].concat();
        run(&server, &user(BOB), program, &arguments, input).code()
    };
    let add = |name: &str, more: &str| {
        let input = format!("dn: cn={name},{BASE}\nobjectClass: person\nsn: x\n{more}");
        relaxed("ldapadd", &[], &input)
    };
    let set = |name: &str, attribute: &str, value: &str| {
        let input = format!("dn: {name},{BASE}\nchangetype: modify\nreplace: {attribute}\n{attribute}: {value}\n");
        relaxed("ldapmodify", &[], &input)
    };
    let forged = [
        ("creatorsName", "cn=x"),
        ("modifiersName", "cn=x"),
        ("createTimestamp", "20000101000000Z"),
        ("modifyTimestamp", "20000101000000Z"),
        ("entryUUID", "00000000-0000-4000-8000-000000000000"),
    ];
    // Bob may write in one place, and manage in the other.
    for (place, allowed) in [("ou=mine", Some(50)), ("ou=kept", Some(0))] {
        for (attribute, value) in forged {
            let target = format!("cn=p,{place}");
            assert_eq!(set(&target, attribute, value), allowed, "{attribute} in {place}");
        }
        assert_eq!(add(&format!("new,{place}"), "creatorsName: cn=x\n"), allowed, "{place}");
        assert_eq!(add(&format!("plain,{place}"), ""), allowed, "{place}");
        let name = format!("cn=p,{place},{BASE}");
        assert_eq!(relaxed("ldapmodrdn", &[&name, "cn=q"], ""), allowed, "{place}");
        let name = format!("cn=way,{place},{BASE}");
        if allowed == Some(50) {
            assert_eq!(relaxed("ldapdelete", &[&name], ""), allowed, "{place}");
        }
    }
    assert_eq!(
        relaxed("ldapdelete", &[&format!("cn=plain,ou=kept,{BASE}")], ""),
        Some(0)
    );
    // No two entries have the same entryUUID.
    let used = "entryUUID: 00000000-0000-4000-8000-000000000000\n";
    assert_eq!(add("twin,ou=kept", used), Some(19));
    assert_eq!(
        set("cn=new,ou=kept", "entryUUID", "00000000-0000-4000-8000-000000000000"),
        Some(19)
    );
    assert_eq!(
        set("cn=q,ou=kept", "entryUUID", "00000000-0000-4000-8000-000000000000"),
        Some(0)
    );
}

#[test]
fn nobody_speaks_for_others_without_the_right() {
    let server = site_with("authz-policy both", "");
    for who in [NOBODY, user(ANN)] {
        for authzid in [
            &format!("dn:{BOSS}")[..],
            "dn:cn=Manager,dc=example,dc=com",
            "dn:cn=config",
            "u:boss",
            "dn:",
            "",
        ] {
            let control = format!("!authzid={authzid}");
            let outcome = run(
                &server,
                &who,
                "ldapsearch",
                &["-e", &control, "-b", HIDDEN, "-s", "base"],
                "",
            );
            assert!(!outcome.stdout.contains("plan"), "{who:?} as {authzid}: {outcome:?}");
            let whoami = run(&server, &who, "ldapwhoami", &["-e", &control], "");
            assert!(
                !whoami.stdout.contains("boss") && !whoami.stdout.contains("Manager"),
                "{who:?} as {authzid}: {whoami:?}"
            );
        }
    }
}

#[test]
fn nobody_gives_himself_the_right_to_speak_for_others() {
    // Ann may write her own description, and no authzTo of any kind.
    let server = site_with("authz-policy to", "");
    let input = format!("dn: {ANN}\nchangetype: modify\nadd: authzTo\nauthzTo: dn.regex:.*\n");
    assert_eq!(run(&server, &user(ANN), "ldapmodify", &[], &input).code(), Some(50));
}

#[test]
fn passwords_of_others_are_not_changed() {
    let server = site();
    for arguments in [
        &["-s", "mine", ANN][..],
        &["-a", "annspass", "-s", "mine", ANN],
        &["-a", "wrong", "-s", "mine", ANN],
        &["-s", "mine", "cn=Manager,dc=example,dc=com"],
        &[ANN],
    ] {
        let outcome = run(&server, &user(BOB), "ldappasswd", arguments, "");
        assert_ne!(outcome.code(), Some(0), "{arguments:?}: {outcome:?}");
        assert!(!outcome.stdout.contains("New password"), "{outcome:?}");
    }
    let change = |old: &str| {
        let outcome = run(&server, &user(BOB), "ldappasswd", &["-a", old, "-s", "mine", ANN], "");
        (outcome.code(), outcome.stderr)
    };
    assert_eq!(
        change("annspass"),
        change("wrong"),
        "the old password of another is no oracle"
    );
    assert_eq!(run(&server, &user(ANN), "ldapwhoami", &[], "").code(), Some(0));
}

#[test]
fn controls_give_no_rights() {
    let server = site();
    let forged = [
        "replace: creatorsName\ncreatorsName: cn=x",
        "replace: entryUUID\nentryUUID: 00000000-0000-4000-8000-000000000000",
        "replace: modifyTimestamp\nmodifyTimestamp: 20000101000000Z",
        "replace: structuralObjectClass\nstructuralObjectClass: device",
        "replace: sn\nsn: x",
    ];
    for control in ["!relax", "!manageDSAit", "relax", "!1.3.6.1.4.1.4203.666.11.1.3"] {
        for change in forged {
            let input = format!("dn: {ANN}\nchangetype: modify\n{change}\n");
            let outcome = run(&server, &user(BOB), "ldapmodify", &["-e", control], &input);
            assert_ne!(outcome.code(), Some(0), "{control} {change}");
        }
        let found = run(&server, &user(BOB), "ldapsearch", &["-e", control, "-b", HIDDEN], "");
        assert!(!found.stdout.contains("dn:"), "{control}: {}", found.stdout);
    }
    // Deleting a tree needs the right to delete each entry of it.
    let outcome = run(
        &server,
        &user(BOB),
        "ldapdelete",
        &["-e", "!1.2.840.113556.1.4.805", "ou=people,dc=example,dc=com"],
        "",
    );
    assert_ne!(outcome.code(), Some(0));
    let found = run(
        &server,
        &user(BOSS),
        "ldapsearch",
        &["-b", ANN, "-s", "base", "sn", "creatorsName"],
        "",
    );
    assert!(
        found.stdout.contains("sn: Able") && !found.stdout.contains("creatorsName: cn=x"),
        "{}",
        found.stdout
    );
}

#[test]
fn the_configuration_and_the_monitor_are_closed() {
    // No rules at all: cn=config and cn=Monitor protect themselves.
    let template =
        ironbark_testkit::Server::PEOPLE_CONFIG.replace("database mdb", "database config\nrootpw other\ndatabase mdb");
    let mut server = ironbark_testkit::Server::prepare(ironbark_testkit::Flavor::Ironbark, &template).unwrap();
    server.slapadd(crate::attacks::site::DATA).unwrap();
    server.launch().unwrap();
    for who in [NOBODY, user(BOB), Credentials::ROOT] {
        for base in [
            "cn=config",
            "olcDatabase={1}mdb,cn=config",
            "olcDatabase={0}config,cn=config",
            "cn=schema,cn=config",
        ] {
            for scope in ["base", "sub"] {
                let found = run(&server, &who, "ldapsearch", &["-b", base, "-s", scope], "");
                assert!(
                    !found.stdout.contains("dn:") && found.code() != Some(0),
                    "{who:?} {base}: {found:?}"
                );
            }
            let compare = run(&server, &who, "ldapcompare", &[base, "olcRootPW:other"], "");
            assert!(!matches!(compare.code(), Some(5 | 6)), "{compare:?}");
            let input = format!("dn: {base}\nchangetype: modify\nreplace: olcAccess\nolcAccess: to * by * manage\n");
            assert_ne!(run(&server, &who, "ldapmodify", &[], &input).code(), Some(0));
        }
    }
    let server = site_with("", "");
    for base in ["cn=config", "cn=monitor"] {
        let found = run(&server, &NOBODY, "ldapsearch", &["-b", base], "");
        assert!(!found.stdout.contains("dn:"), "{base}: {}", found.stdout);
    }
}

#[test]
fn cookies_are_good_for_their_connection_alone() {
    let server = site();
    let script = format!(
        "import ldap, os\n\
         from ldap.controls import SimplePagedResultsControl as P\n\
         def connect(dn, pw):\n    c = ldap.initialize(os.environ['LDAP_URL'])\n    c.simple_bind_s(dn, pw)\n    return c\n\
         def page(c, cookie, filter='(objectClass=*)'):\n\
         \x20   m = c.search_ext('{BASE}', ldap.SCOPE_SUBTREE, filter, attrlist=['description'], serverctrls=[P(True, size=1, cookie=cookie)])\n\
         \x20   t, data, i, controls = c.result3(m)\n\
         \x20   return data, controls[0].cookie\n\
         boss, bob = connect('{BOSS}', 'bossspass'), connect('{BOB}', 'bobspass')\n\
         data, cookie = page(boss, b'')\n\
         tried = [cookie, b'\\0' * 8, b'\\xff' * 8, b'x', b'y' * 10000] + [bytes([0] * 7 + [n]) for n in range(64)] + [cookie[:-1], cookie + b'x']\n\
         for attempt in tried:\n\
         \x20   try:\n\
         \x20       data, _ = page(bob, attempt)\n\
         \x20       raise AssertionError((attempt, data))\n\
         \x20   except ldap.LDAPError as e:\n\
         \x20       assert isinstance(e, (ldap.UNWILLING_TO_PERFORM, ldap.PROTOCOL_ERROR)), e\n\
         # Who binds anew goes on with nothing of what the one before was shown.\n\
         boss2 = connect('{BOSS}', 'bossspass')\n\
         data, cookie = page(boss2, b'', '(|(sn=secret)(uid=*))')\n\
         boss2.simple_bind_s('{BOB}', 'bobspass')\n\
         seen = []\n\
         try:\n\
         \x20   while cookie:\n\
         \x20       data, cookie = page(boss2, cookie, '(|(sn=secret)(uid=*))')\n\
         \x20       seen += data\n\
         except ldap.LDAPError:\n\
         \x20   pass\n\
         assert 'hidden' not in str(seen), seen\n\
         print('good')\n"
    );
    assert_eq!(server.python(&script).unwrap().success().unwrap().stdout, "good\n");
}
