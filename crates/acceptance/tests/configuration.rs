//! Settings of slapd.conf: refusals, settings in old files, and access rules compared with slapd's decisions.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "clippy knows test functions, but not what they call"
)]

use ironbark_testkit::{Flavor, Server, TestkitError, Tool, assert_same};

const DATA: &str = include_str!("data/example.ldif");
const BASE: &str = "dc=example,dc=com";

/// The end of a server that must not start: its exit status, and whether it named the file and this line.
fn refusal(flavor: Flavor, config: &str) -> String {
    match Server::start(flavor, config) {
        Ok(_) => "it starts".to_owned(),
        Err(TestkitError::EndedEarly { status, log }) => {
            let lines = config.lines().count() + if flavor == Flavor::OpenLdap { 2 } else { 0 };
            let named = log.contains(&format!("slapd.conf: line {lines}"));
            format!(
                "{:?}, line {}",
                status.code(),
                if named { "named" } else { "not named" }
            )
        }
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_wrong_line_is_refused_by_file_and_line() {
    // The wrong line is the last.
    let database = Server::PEOPLE_CONFIG;
    for config in [
        "nonsense on\n".to_owned(),
        "sizelimit many\n".to_owned(),
        "threads\n".to_owned(),
        "allow nothing_known\n".to_owned(),
        "include /no/such/file\n".to_owned(),
        "attributetype ( 1.2.3 NAME 'broken\n".to_owned(),
        "objectclass ( 1.2.3 NAME 'x' SUP nosuch )\n".to_owned(),
        "access to * by nobody_known read\n".to_owned(),
        "access to nothing=x by * read\n".to_owned(),
        "database nosuch\n".to_owned(),
        "loglevel nonsense\n".to_owned(),
        format!("{database}index nosuchattribute eq\n"),
        format!("{database}index cn nosuchindex\n"),
        format!("{database}suffix no_dn\n"),
        format!("{database}maxsize much\n"),
        format!("{database}limits somebody size=1\n"),
        format!("{database}overlay nosuchoverlay\n"),
        format!("{database}readonly\n"),
        format!("{database}readonly perhaps\n"),
    ] {
        assert_eq!(refusal(Flavor::Ironbark, &config), "Some(1), line named", "{config}");
        // slapd ignores an unknown word before the first database.
        if config != "nonsense on\n" {
            assert!(
                refusal(Flavor::OpenLdap, &config).starts_with("Some(1)"),
                "slapd takes {config}"
            );
        }
    }
}

#[test]
fn a_database_without_its_directory_or_suffix_does_not_start() {
    let start = |config: &str| Server::start(Flavor::Ironbark, config).map(|_| ());
    let missing = Server::PEOPLE_CONFIG.replace("directory {dir}/db", "directory {dir}/none");
    let error = start(&missing).unwrap_err().to_string();
    assert!(error.contains("/none"), "{error}");
    let twice = format!(
        "{0}database mdb\nsuffix \"dc=example,dc=com\"\ndirectory {{dir}}/db\n",
        Server::PEOPLE_CONFIG
    );
    start(&twice).unwrap_err();
    let outside = Server::PEOPLE_CONFIG.replace(
        "rootdn \"cn=Manager,dc=example,dc=com\"",
        "rootdn \"cn=Manager,dc=other\"",
    );
    start(&outside).unwrap_err();
}

#[test]
fn modules_that_are_built_in_may_be_loaded_by_any_name() {
    for lines in [
        "modulepath /usr/lib/ldap\nmoduleload back_mdb\n",
        "moduleload back_mdb.la\nmoduleload back_monitor.so\n",
        "modulepath /usr/lib/ldap:/usr/local/lib\nmoduleload pw-sha2\nmoduleload pw-sha2.so\nmoduleload memberof.la\n",
        "moduleload /usr/lib/ldap/back_mdb.so\n",
    ] {
        let server = Server::start(Flavor::Ironbark, &format!("{lines}{}", Server::PEOPLE_CONFIG)).unwrap();
        assert_eq!(server.search(&["-b", "", "-s", "base"]).unwrap().code(), Some(0));
    }
    let error = Server::start(
        Flavor::Ironbark,
        &format!("moduleload nosuch.la\n{}", Server::PEOPLE_CONFIG),
    )
    .unwrap_err();
    assert!(error.to_string().contains("slapd.conf: line 1"), "{error}");
}

#[test]
fn configurations_of_old_databases_still_serve() {
    for kind in ["hdb", "bdb"] {
        let config = format!(
            "allow bind_v2\n{}",
            Server::PEOPLE_CONFIG.replace(
                "database mdb\n",
                &format!("moduleload back_{kind}\ndatabase {kind}\ncachesize 10000\nidlcachesize 30000\ncheckpoint 1024 5\ndirtyread\nshm_key 42\ndbconfig set_cachesize 0 2097152 0\n")
            )
        );
        let mut server = Server::start(Flavor::Ironbark, &config).unwrap();
        server.ldapadd(DATA).unwrap().success().unwrap();
        server.stop().unwrap();
        std::fs::write(server.layout().join("db/DB_CONFIG"), "set_cachesize 0 2097152 0\n").unwrap();
        server.launch().unwrap();
        assert_eq!(
            server
                .search(&["-b", BASE, "1.1"])
                .unwrap()
                .success()
                .unwrap()
                .stdout
                .matches("dn:")
                .count(),
            10
        );
    }
}

#[test]
fn slaptest_says_what_the_server_would() {
    for flavor in Flavor::ALL {
        let good = Server::prepare(flavor, Server::PEOPLE_CONFIG).unwrap();
        good.slapadd(DATA).unwrap();
        assert_eq!(good.tool(Tool::Test, &["-u"], "").unwrap().code(), Some(0));
        let bad = Server::prepare(flavor, "nonsense on\n").unwrap();
        let outcome = bad.tool(Tool::Test, &["-u"], "").unwrap();
        assert_eq!(outcome.code(), Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains("slapd.conf: line"), "{outcome:?}");
    }
}

#[test]
fn slaptest_fails_where_a_start_fails() {
    for (global, why) in [
        ("rootDSE {dir}/none.ldif\n", "none.ldif: No such file"),
        ("pidfile {dir}/none/slapd.pid\n", "pid file"),
        ("argsfile {dir}/none/slapd.args\n", "args file"),
        ("logfile {dir}/none/slapd.log\n", "log file"),
        ("TLSCertificateFile {dir}/none.crt\n", "TLS"),
    ] {
        let others = Server::PEOPLE_CONFIG
            .lines()
            .filter(|line| !line.contains("{dir}/slapd."));
        let template = format!("{global}{}\n", others.collect::<Vec<_>>().join("\n"));
        let mut server = Server::prepare(Flavor::Ironbark, &template).unwrap();
        server.slapadd(DATA).unwrap();
        let outcome = server.tool(Tool::Test, &[], "").unwrap();
        assert!(
            outcome.code() == Some(1) && outcome.stderr.contains(why),
            "{global}: {outcome:?}"
        );
        let outcome = server.tool(Tool::Test, &["-u"], "").unwrap();
        assert!(outcome.code() == Some(0) && outcome.stderr.contains(why), "{outcome:?}");
        assert!(server.launch().is_err(), "{global}");
    }
}

/// The rights of each identity: read, search, compare, and six kinds of writes. One connection for each identity,
/// because 2,000 programs of ldap-utils would take minutes.
const MATRIX: &str = r"
import ldap, os
ann, staff, people = 'uid=ann,ou=People,dc=example,dc=com', 'cn=staff,ou=Groups,dc=example,dc=com', 'ou=People,dc=example,dc=com'
base = 'dc=example,dc=com'
identities = [('', ''), (ann, 'annspass'), ('uid=bob,' + people, 'bobspass'), ('uid=carla,' + people, 'carlaspass'),
              (os.environ['ROOT_DN'], os.environ['ROOT_PASSWORD'])]
def note(what, operation, *arguments, **named):
    try:
        answer = operation(*arguments, **named)
        if isinstance(answer, list):
            answer = sorted((dn, list(attributes.items())) for dn, attributes in answer)
        elif not isinstance(answer, bool):
            answer = 'done'
        print(what, answer)
    except ldap.LDAPError as e:
        fault = e.args[0]
        matched = fault.get('matched')
        # slapd names the superior of what is to be deleted even to those to whom it may not be disclosed.
        print(what, type(e).__name__, fault.get('info'), matched if what[0] != 'delete' else '')
for name, password in identities:
    c = ldap.initialize(os.environ['LDAP_URL'])
    c.set_option(ldap.OPT_REFERRALS, 0)
    note(('bind', name), c.simple_bind_s, name, password)
    note(('read', name), c.search_s, base, ldap.SCOPE_SUBTREE)
    note(('search', name), c.search_s, base, ldap.SCOPE_SUBTREE, '(mail=*example.com)', ['mail'])
    note(('search name', name), c.search_s, ann, ldap.SCOPE_BASE, '(sn=lee)', ['1.1'])
    note(('search nothing', name), c.search_s, 'uid=none,' + people, ldap.SCOPE_SUBTREE)
    for attribute, value in (('sn', b'lee'), ('mail', b'ann@example.com'), ('userPassword', b'annspass'), ('title', b'x')):
        note(('compare', attribute, name), c.compare_s, ann, attribute, value)
    for attribute, value in (('title', b'x'), ('mail', b'x@example.com'), ('userPassword', b'x')):
        note(('modify', attribute, name), c.modify_s, ann, [(ldap.MOD_ADD, attribute, [value]), (ldap.MOD_DELETE, attribute, [value])])
    for member in ((name or 'o=x').encode(), b'uid=stranger,o=x'):
        note(('add member', member, name), c.modify_s, staff, [(ldap.MOD_ADD, 'member', [member])])
        note(('delete member', member, name), c.modify_s, staff, [(ldap.MOD_DELETE, 'member', [member])])
    note(('add', name), c.add_s, 'cn=new,' + people, [('objectClass', [b'person']), ('cn', [b'new']), ('sn', [b'new'])])
    note(('rename', name), c.rename_s, 'cn=new,' + people, 'cn=newer')
    note(('delete', name), c.delete_s, 'cn=newer,' + people)
    note(('delete', name), c.delete_s, 'cn=new,' + people)
";

#[track_caller]
fn same_access(rules: &[&str]) {
    for rule in rules {
        same_matrix(&format!("{}{rule}\n", Server::PEOPLE_CONFIG));
    }
}

/// Compares the rights of each identity. The data is loaded before the server starts.
#[track_caller]
fn same_matrix(config: &str) {
    assert_same(|flavor| {
        let mut server = Server::prepare(flavor, config)?;
        server.slapadd(DATA)?;
        server.launch()?;
        let answers = server.python(MATRIX)?.success()?.stdout;
        Ok(format!("{config}{answers}"))
    });
}

#[test]
fn access_is_granted_by_entry() {
    same_access(&[
        "access to * by * read",
        "access to * by * none",
        "access to * by anonymous auth by users read",
        "access to dn.base=\"ou=People,dc=example,dc=com\" by * none\naccess to * by * read",
        "access to dn.subtree=\"ou=People,dc=example,dc=com\" by users read by * auth\naccess to * by * search",
        "access to dn.one=\"ou=People,dc=example,dc=com\" by self write by * auth\naccess to * by * read",
        "access to dn.children=\"ou=Groups,dc=example,dc=com\" by * write\naccess to * by * read",
        "access to filter=(objectClass=groupOfNames) by * none\naccess to * by * read",
    ]);
}

#[test]
fn access_is_granted_by_attribute_and_value() {
    same_access(&[
        "access to attrs=userPassword by self write by anonymous auth by * none\naccess to * by * read",
        "access to attrs=mail,telephoneNumber by self write by users read\naccess to * by * read",
        "access to attrs=@organizationalPerson by * search\naccess to * by * read",
        "access to attrs=!person by users read by * none\naccess to * by * read",
        "access to attrs=entry by * read\naccess to attrs=children by users write\naccess to * by * read",
        "access to attrs=member by dnattr=member write by * read\naccess to * by * read",
        "access to attrs=member by dnattr=member selfwrite by * read\naccess to * by * read",
    ]);
}

#[test]
fn access_is_granted_to_identities() {
    same_access(&[
        "access to * by group=\"cn=staff,ou=Groups,dc=example,dc=com\" write by * read",
        "access to * by group/groupOfNames/member=\"cn=staff,ou=Groups,dc=example,dc=com\" write by * auth",
        "access to * by dn.exact=\"uid=ann,ou=People,dc=example,dc=com\" write by dn.subtree=\"ou=People,dc=example,dc=com\" read by * auth",
        "access to * by dn.one=\"ou=People,dc=example,dc=com\" read by * auth",
        "access to * by self write by dnattr=manager write by * read",
    ]);
}

#[test]
fn privileges_are_levels_or_sets() {
    same_access(&[
        "access to * by * =wx",
        "access to * by * =rscxd",
        "access to * by self =rscxw by * =x",
        "access to * by users =ra by * =x",
        "access to * by users =rscxaz by * =x",
        "access to * by users disclose by * auth",
        "access to * by users compare by * auth",
        "access to * by users add by * auth",
        "access to * by users delete by * auth",
        "access to * by users manage by * auth",
    ]);
}

#[test]
fn rules_stop_continue_or_break() {
    same_access(&[
        "access to * by users read stop by * auth\naccess to * by * write",
        "access to * by users read break by * auth\naccess to * by self write by * none",
        "access to * by users =rscx break by * auth break\naccess to * by self +w by * +0",
        "access to * by users read continue by self write by * auth",
        "access to * by self +w continue by users +rscxd continue by * +x stop",
        "access to attrs=mail by * none break\naccess to * by users -r by * auth",
        "access to attrs=mail by users =rscxd continue by self -r\naccess to * by * read",
        "access to * by users write continue by self -w stop",
    ]);
}

#[test]
fn rules_of_all_databases_follow_those_of_one() {
    let global = "access to dn.base=\"\" by * read\naccess to attrs=mail by * none\naccess to * by * read";
    same_matrix(&Server::people_config(global, ""));
    let default = Server::people_config("defaultaccess none", "");
    // slapd 2.5 and this server accept the same lines: both refuse or obey each of them.
    assert_eq!(
        refusal(Flavor::OpenLdap, &default).starts_with("it starts"),
        refusal(Flavor::Ironbark, &default).starts_with("it starts")
    );
}

#[test]
fn operations_are_restricted_by_word() {
    for directive in [
        "restrict add",
        "restrict modify delete",
        "restrict rename",
        "restrict search",
        "restrict compare",
        "restrict read",
        "restrict write",
        "restrict bind",
    ] {
        same_matrix(&format!("{}{directive}\n", Server::PEOPLE_CONFIG));
    }
}
