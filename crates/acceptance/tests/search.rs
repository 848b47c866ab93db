//! Search as ldapsearch sees it. Each answer is compared with slapd's.
#![allow(clippy::unwrap_used, reason = "clippy knows test functions, but not what they call")]

use ironbark_testkit::{Credentials, Server, TestkitError, Transcript, assert_same_answers};

const DATA: &str = include_str!("data/example.ldif");
const BASE: &str = "dc=example,dc=com";

/// Compares the answers to one ldapsearch per filter, DNs only.
#[track_caller]
fn same_filters(filters: &[&str]) {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| {
        for filter in filters {
            transcript.search(&["-b", BASE, filter, "1.1"])?;
        }
        Ok(())
    });
}

/// Compares the answers to searches from `BASE`.
#[track_caller]
fn same_searches(searches: &[&[&str]]) {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| run(transcript, searches));
}

fn run(transcript: &mut Transcript<'_>, searches: &[&[&str]]) -> Result<(), TestkitError> {
    for arguments in searches {
        transcript.search(&[&["-b", BASE][..], arguments].concat())?;
    }
    Ok(())
}

#[test]
fn entries_attributes_and_values_come_in_the_order_they_were_added() {
    same_searches(&[&[], &["(objectClass=inetOrgPerson)", "sn", "mail", "cn"]]);
}

#[test]
fn each_scope_has_its_entries() {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| {
        transcript.ignore_order();
        for scope in ["base", "one", "sub", "children"] {
            for base in [
                BASE,
                "ou=Groups,dc=example,dc=com",
                "cn=staff,ou=Groups,dc=example,dc=com",
                "OU=deep , ou=GROUPS,dc=Example,dc=COM",
                "sn=b+cn=A,ou=Deep,ou=Groups,dc=example,dc=com",
            ] {
                transcript.search(&["-b", base, "-s", scope, "1.1"])?;
            }
        }
        Ok(())
    });
}

#[test]
fn a_base_that_is_missing_gives_the_nearest_name() {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| {
        for base in [
            "uid=nobody,ou=People,dc=example,dc=com",
            "cn=x,cn=y,cn=rôle,ou=Groups,dc=example,dc=com",
            "ou=x,dc=example,dc=com",
            "dc=com",
            "dc=example,dc=org",
            "cn=x",
            "no dn",
            "cn=a,,dc=b",
            "nosuchattribute=1,dc=example,dc=com",
        ] {
            for scope in ["base", "one", "sub"] {
                transcript.search(&["-b", base, "-s", scope])?;
            }
        }
        Ok(())
    });
}

#[test]
fn equality_follows_the_matching_rule() {
    same_filters(&[
        "(cn=ann lee)",
        "(cn=ANN  LEE )",
        "(cn=annlee)",
        "(mail=ANN@EXAMPLE.COM)",
        "(telephoneNumber=+15550100)",
        "(telephoneNumber=+1-555-0100)",
        "(sn=äöü)",
        "(sn=ÄÖÜ)",
        "(sn=aou)",
        "(member=UID=ann, OU=people,dc=example,dc=com)",
        "(member=no dn)",
        "(objectClass=person)",
        "(objectClass=2.5.6.6)",
        "(objectClass=nosuchclass)",
        "(2.5.4.3=bob ray)",
        "(name=staff)",
        "(name=Lee)",
        "(description;lang-en=the first)",
        "(description=the first)",
        "(description;lang-en-=the first)",
        "(description;lang-en-=numero uno)",
        "(description;lang-fr=the first)",
        "(userPassword=annspass)",
        "(jpegPhoto=x)",
        "(entryDN=uid=bob,ou=people,dc=example,dc=com)",
        "(structuralObjectClass=groupOfNames)",
        "(hasSubordinates=TRUE)",
        "(hasSubordinates=FALSE)",
        "(subschemaSubentry=cn=Subschema)",
    ]);
}

#[test]
fn presence_counts_supertypes_and_options() {
    same_filters(&[
        "(mail=*)",
        "(name=*)",
        "(description;lang-de=*)",
        "(description;lang-en-=*)",
        "(description;lang-=*)",
        "(nosuch=*)",
        "(objectClass=*)",
        "(2.5.4.4=*)",
        "(entryUUID=*)",
        "(hasSubordinates=*)",
        "(subschemaSubentry=*)",
        "(!(subschemaSubentry=*))",
        "(!(subschemaSubentry=cn=x))",
        "(&(subschemaSubentry=*)(sn=*))",
        "(entryDN=*)",
        "(!(mail=*))",
        "(preferredLanguage=*)",
    ]);
}

#[test]
fn substrings_match_in_order() {
    same_filters(&[
        "(cn=A*)",
        "(cn=*e*)",
        "(cn=*lee)",
        "(cn=a*n*l*e)",
        "(cn=a*l*n*e)",
        "(cn=ann*nnie)",
        "(mail=*@example.com)",
        "(mail=*@EXAMPLE.o*)",
        "(telephoneNumber=*550*)",
        "(telephoneNumber=+1*100)",
        "(cn=  a*)",
        "(cn=ann *)",
        "(cn=ann*lee)",
        "(cn=ann *lee)",
        "(cn=a* *lee)",
        r"(description=*\2a*)",
        r"(description=*\28with*)",
        r"(description=*\5c*)",
        "(member=uid=ann*)",
        "(sn=ä*)",
        "(name=st*)",
        "(userPassword=ann*)",
        "(objectClass=inet*)",
        "(employeeNumber=1*)",
    ]);
}

#[test]
fn order_and_likeness_follow_the_syntax() {
    same_filters(&[
        "(employeeNumber>=7)",
        "(employeeNumber<=5)",
        "(uid>=bob)",
        "(cn>=bob)",
        "(cn<=bob)",
        "(uidNumber>=1)",
        "(createTimestamp>=20000101000000Z)",
        "(createTimestamp<=20000101000000Z)",
        "(createTimestamp>=no time)",
        "(objectClass>=person)",
        "(entryCSN>=20000101000000.000000Z#000000#000#000000)",
        "(cn~=an li)",
        "(cn~=li an)",
        "(cn~=annie)",
        "(sn~=rae)",
        "(sn~=b)",
        "(cn~=)",
        "(mail~=an)",
        "(mail~=bobby)",
        "(cn:directoryStringApproxMatch:=an li)",
        "(cn:1.3.6.1.4.1.4203.666.4.4:=anni)",
        "(mail:IA5StringApproxMatch:=an)",
        "(mail:1.3.6.1.4.1.4203.666.4.5:=bob@example.com)",
        "(mail:directoryStringApproxMatch:=an)",
        "(cn:IA5StringApproxMatch:=an)",
        "(mail~=ann@example.com)",
        "(member~=uid=ann,ou=people,dc=example,dc=com)",
    ]);
}

#[test]
fn values_that_the_syntax_forbids_decide_nothing() {
    let mut filters = Vec::new();
    for item in [
        "(x121Address=x0)",
        "(x121Address>=x0)",
        "(x121Address=*x*)",
        "(telephoneNumber=a_b)",
        "(telephoneNumber=*_*)",
        "(homePhone~=_)",
        "(postalAddress=a\\5cb)",
        "(postalAddress=*\\5c*)",
        "(hasSubordinates=true)",
        "(uidNumber=01)",
        "(uidNumber>=x)",
        "(createTimestamp<=x)",
        "(member=x)",
        "(mail=\\c3\\a4)",
        "(mail=*\\c3\\a4)",
        "(mail~=\\c3\\a4)",
        "(cn=\\ff)",
        "(cn=)",
        "(cn:=)",
        "(cn:caseExactMatch:=)",
        "(telephoneNumber:telephoneNumberMatch:=_)",
        "(uidNumber:integerBitAndMatch:=x)",
        "(entryUUID:=x)",
        "(objectClass=cn)",
        "(x500UniqueIdentifier=1)",
    ] {
        filters.extend([
            item.to_owned(),
            format!("(!{item})"),
            format!("(|(cn=ann lee)(!{item}))"),
        ]);
    }
    let filters: Vec<&str> = filters.iter().map(String::as_str).collect();
    same_filters(&filters);
}

#[test]
fn extensible_filters_name_rules_and_look_into_names() {
    same_filters(&[
        "(c:caseIgnoreIA5Match:=de)",
        "(cn:caseExactMatch:=Ann Lee)",
        "(cn:caseExactMatch:=ann lee)",
        "(cn:2.5.13.2:=ANN LEE)",
        "(:caseExactMatch:=Ann)",
        "(:caseIgnoreMatch:=people)",
        "(:dn:caseIgnoreMatch:=people)",
        "(ou:dn:=people)",
        "(ou:dn:=groups)",
        "(ou:=people)",
        "(dc:dn:caseExactIA5Match:=example)",
        "(cn:dn:=a)",
        "(sn:dn:caseIgnoreMatch:=b)",
        "(cn:nosuchrule:=x)",
        "(cn:integerMatch:=5)",
        "(cn:caseIgnoreSubstringsMatch:=*n*)",
        "(employeeNumber:caseIgnoreOrderingMatch:=6)",
        "(member:distinguishedNameMatch:=uid=ann,ou=people,dc=example,dc=com)",
        "(entryDN:dnSubtreeMatch:=ou=people,dc=example,dc=com)",
        "(entryDN:dnOneLevelMatch:=ou=people,dc=example,dc=com)",
        "(entryDN:dnSubordinateMatch:=ou=people,dc=example,dc=com)",
        "(entryDN:dnSuperiorMatch:=uid=ann,ou=people,dc=example,dc=com)",
        "(member:dnSubtreeMatch:=ou=people,dc=example,dc=com)",
        "(:=x)",
        "(nosuch:=x)",
        "(cn:dn:=)",
    ]);
}

#[test]
fn not_and_and_or_have_three_values() {
    same_filters(&[
        "(!(cn=ann lee))",
        "(!(nosuch=x))",
        "(!(!(nosuch=x)))",
        "(!(employeeNumber>=7))",
        "(|(nosuch=x)(cn=bob ray))",
        "(&(nosuch=x)(cn=bob ray))",
        "(!(&(nosuch=x)(cn=bob ray)))",
        "(!(|(nosuch=x)(cn=bob ray)))",
        "(&)",
        "(|)",
        "(!(&))",
        "(!(|))",
        "(&(objectClass=inetOrgPerson)(!(mail=*com)))",
        "(&(objectClass=inetOrgPerson)(|(uid=ann)(uid=carla))(!(sn=lee)))",
        "(!(member=uid=ann,ou=people,dc=example,dc=com))",
        "(!(uidNumber=x))",
        "(!(objectClass=nosuch))",
        "((cn=x)",
        "(cn=x",
        "cn=bob ray",
        "(&(cn=*)(!(sn=*)))",
        "(!(createTimestamp=no time))",
        "(&(uid=a*)(uid=*n)(cn=*))",
    ]);
}

#[test]
fn attributes_are_selected_by_type_option_class_and_kind() {
    same_searches(&[
        &["(uid=ann)", "*"],
        &["(uid=ann)", "1.1"],
        &["(uid=ann)", "1.1", "cn"],
        &["(uid=ann)", "CN", "cn", "commonName"],
        &["(uid=ann)", "name"],
        &["(uid=ann)", "2.5.4.4"],
        &["(uid=ann)", "description"],
        &["(uid=ann)", "description;lang-en"],
        &["(uid=ann)", "description;lang-en-"],
        &["(uid=ann)", "description;lang-"],
        &["(uid=ann)", "description;lang-fr"],
        &["(uid=ann)", "description;binary"],
        &["(uid=ann)", "@person"],
        &["(uid=ann)", "@nosuch"],
        &["(uid=ann)", "!person"],
        &["(uid=ann)", "nosuch"],
        &["(uid=ann)", "*", "nosuch", "structuralObjectClass"],
        &[
            "(uid=ann)",
            "structuralObjectClass",
            "hasSubordinates",
            "subschemaSubentry",
            "entryDN",
        ],
        &["(ou=people)", "hasSubordinates", "ou"],
        &["(uid=ann)", "creatorsName", "modifiersName"],
        &["-A", "(uid=ann)"],
        &["-A", "(uid=ann)", "cn", "description"],
        &["(uid=ann)", "objectClass"],
        &["(uid=ann)", "userPassword"],
    ]);
}

#[test]
fn extensible_object_selects_user_attributes() {
    // RFC 4529 §2 makes it `*`; slapd returns the operational attributes too.
    let server = Server::start(ironbark_testkit::Flavor::Ironbark, Server::PEOPLE_CONFIG).unwrap();
    server.ldapadd(DATA).unwrap().success().unwrap();
    let answer = |selection| {
        server
            .search(&["-b", BASE, selection])
            .unwrap()
            .success()
            .unwrap()
            .stdout
    };
    assert_eq!(answer("@extensibleObject"), answer("*"));
}

#[test]
fn plus_selects_all_operational_attributes() {
    let config = Server::PEOPLE_CONFIG;
    ironbark_testkit::assert_same(|flavor| {
        let server = Server::start(flavor, config)?;
        server.ldapadd(DATA)?.success()?;
        let mut names = String::new();
        for selection in [&["+"][..], &["*", "+"], &["+", "cn"]] {
            let arguments = [&["-b", BASE, "-A", "(|(uid=ann)(ou=people))"][..], selection].concat();
            names.push_str(&server.search(&arguments)?.success()?.stdout);
        }
        Ok(names)
    });
}

#[test]
fn limits_end_a_search_with_their_codes() {
    let mut data = "dn: dc=example,dc=com\nobjectClass: domain\ndc: example\n\n".to_owned();
    for n in 0..600 {
        let number = n.to_string();
        for part in [
            "dn: cn=n",
            &number,
            ",dc=example,dc=com\nobjectClass: organizationalRole\ncn: n",
            &number,
            "\n\n",
        ] {
            data.push_str(part);
        }
    }
    assert_same_answers(Server::PEOPLE_CONFIG, &data, |transcript| {
        transcript.search(&["-b", BASE, "-z", "3", "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "1", "(cn=n5)", "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "max", "1.1"])?;
        transcript.search(&["-b", BASE, "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "601", "1.1"])?;
        transcript.search(&["-b", BASE, "-l", "5", "-z", "2", "1.1"])?;
        transcript.root_search(&["-b", BASE, "-z", "none", "1.1"])?;
        transcript.root_search(&["-b", BASE, "-z", "550", "1.1"])
    });
    let limited = format!(
        "{}limits anonymous size=7\nlimits * size.soft=9 size.hard=12\n",
        Server::PEOPLE_CONFIG
    );
    assert_same_answers(&limited, &data, |transcript| {
        transcript.search(&["-b", BASE, "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "8", "1.1"])?;
        transcript.search(&["-b", BASE, "-z", "5", "1.1"])?;
        transcript.search_but_for("# pagedresults: ", &["-b", BASE, "-E", "pr=5/noprompt", "1.1"])?;
        transcript.root_search(&["-b", BASE, "-z", "599", "1.1"])
    });
}

#[test]
fn the_root_dse_names_what_the_server_can() {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| {
        let root = ["-b", "", "-s", "base"];
        transcript.search(&root)?;
        for attribute in [
            "namingContexts",
            "subschemaSubentry",
            "supportedLDAPVersion",
            "supportedFeatures",
            "monitorContext",
            "altServer",
            "structuralObjectClass",
            "entryDN",
            "1.1",
        ] {
            transcript.search(&[&root[..], &[attribute]].concat())?;
        }
        for filter in [
            "(objectClass=*)",
            "(objectClass=top)",
            "(objectClass=person)",
            "(cn=*)",
            "(supportedLDAPVersion=3)",
            "(namingContexts=dc=example,dc=com)",
        ] {
            transcript.search(&[&root[..], &[filter, "1.1"]].concat())?;
        }
        transcript.search(&["-b", "", "-s", "sub", "(uid=ann)", "1.1"])?;
        transcript.search(&["-b", "", "-s", "one", "1.1"])
    });
}

#[test]
fn a_default_search_base_replaces_the_empty_one() {
    let config = Server::people_config("defaultsearchbase \"ou=People,dc=example,dc=com\"", "");
    assert_same_answers(&config, DATA, |transcript| {
        for scope in ["sub", "one", "base", "children"] {
            transcript.search(&["-b", "", "-s", scope, "1.1"])?;
        }
        Ok(())
    });
}

#[test]
fn the_schema_can_be_read() {
    assert_same_answers(Server::PEOPLE_CONFIG, "", |transcript| {
        let subschema = ["-b", "cn=Subschema", "-s", "base"];
        transcript.search(&[&subschema[..], &["cn", "objectClass", "subschemaSubentry", "entryDN"]].concat())?;
        for filter in [
            "(objectClasses=inetOrgPerson)",
            "(objectClasses=2.5.6.6)",
            "(attributeTypes=cn)",
            "(attributeTypes=nosuch)",
            "(matchingRules=caseIgnoreMatch)",
            "(objectClass=subschema)",
            "(objectClass=subentry)",
        ] {
            transcript.search(&[&subschema[..], &[filter, "1.1"]].concat())?;
        }
        transcript.search(&["-b", "cn=Subschema", "-s", "one", "1.1"])?;
        transcript.search(&["-b", "cn=Subschema", "-s", "sub", "1.1"])?;
        transcript.search(&["-b", "cn=x,cn=Subschema", "-s", "base", "1.1"])
    });
}

#[test]
fn the_definitions_of_the_schema_are_slapds() {
    ironbark_testkit::assert_same(|flavor| {
        let server = Server::start(flavor, Server::PEOPLE_CONFIG)?;
        let arguments = ["-b", "cn=Subschema", "-s", "base", "attributeTypes", "objectClasses"];
        let answer = server.search(&arguments)?.success()?.stdout;
        // OID, names, superior, rules, syntax, kind; descriptions and the choice among names differ from slapd's.
        let description = |line: &str| match line.split_once(" DESC '") {
            Some((before, after)) => format!("{before}{}", after.split_once('\'').unwrap_or_default().1),
            None => line.to_owned(),
        };
        let mut lines: Vec<String> = answer
            .lines()
            .filter(|line| line.starts_with("attributeTypes: ( 2.5.") || line.starts_with("attributeTypes: ( 0.9."))
            .map(description)
            // RFC 4519 writes internationalISDNNumber, slapd internationaliSDNNumber.
            .map(|line| line.to_lowercase())
            .collect();
        lines.sort_unstable();
        Ok(lines.join("\n") + "\n")
    });
}

const ALIASES: &str = "
dn: ou=Links,dc=example,dc=com
objectClass: organizationalUnit
ou: Links

dn: cn=ann,ou=Links,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: ann
aliasedObjectName: uid=ann,ou=People,dc=example,dc=com

dn: ou=Folk,ou=Links,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
ou: Folk
aliasedObjectName: ou=People,dc=example,dc=com

dn: cn=gone,ou=Links,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: gone
aliasedObjectName: uid=gone,ou=People,dc=example,dc=com

dn: cn=self,ou=Links,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: self
aliasedObjectName: cn=self,ou=Links,dc=example,dc=com

dn: cn=chain,ou=Links,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: chain
aliasedObjectName: cn=ann,ou=Links,dc=example,dc=com
";

#[test]
fn aliases_are_followed_as_the_client_asks() {
    let data = format!("{DATA}{ALIASES}");
    assert_same_answers(Server::PEOPLE_CONFIG, &data, |transcript| {
        transcript.ignore_order();
        for deref in ["never", "search", "find", "always"] {
            for base in [
                "ou=Links,dc=example,dc=com",
                "cn=ann,ou=Links,dc=example,dc=com",
                "ou=Folk,ou=Links,dc=example,dc=com",
                "uid=bob,ou=Folk,ou=Links,dc=example,dc=com",
                "uid=no,ou=Folk,ou=Links,dc=example,dc=com",
                "cn=gone,ou=Links,dc=example,dc=com",
                "cn=self,ou=Links,dc=example,dc=com",
                "cn=chain,ou=Links,dc=example,dc=com",
            ] {
                for scope in ["base", "one", "sub"] {
                    // slapd returns an entry twice if two aliases lead to it; RFC 4511 §4.5.1.3 forbids this.
                    let is_repeated =
                        base.starts_with("ou=Links") && scope == "sub" && matches!(deref, "search" | "always");
                    if !is_repeated {
                        transcript.search(&["-a", deref, "-b", base, "-s", scope, "1.1"])?;
                    }
                }
            }
            transcript.search(&["-a", deref, "-b", BASE, "(uid=*)", "1.1"])?;
            transcript.search(&["-a", deref, "-b", BASE, "(objectClass=alias)", "1.1"])?;
        }
        Ok(())
    });
}

const REFERRALS: &str = "
dn: ou=Remote,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ou: Remote
ref: ldap://remote.example.com/ou=Remote,dc=example,dc=com
ref: ldap://second.example.com/ou=Elsewhere,o=x

dn: ou=Plain,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ou: Plain
ref: ldap://plain.example.com

dn: ou=Various,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ou: Various
ref: ldap://scope.example.com/ou=there,o=x??one
ref: ldap://filter.example.com/ou=there,o=x??sub?(cn=x) and a label
ref: http://web.example.com/x
ref: ldap://nameless.example.com/??base
ref: ldap://attributes.example.com/ou=Various,dc=example,dc=com?cn,sn
ref: ldap://malformed.example.com:port/ou=there
";

/// Two ways to one referral.
const WAYS: &str = "
dn: ou=Ways,dc=example,dc=com
objectClass: organizationalUnit
ou: Ways

dn: cn=one,ou=Ways,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: one
aliasedObjectName: ou=Inner,ou=Outer,dc=example,dc=com

dn: cn=two,ou=Ways,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: two
aliasedObjectName: ou=Outer,dc=example,dc=com

dn: cn=three,ou=Ways,dc=example,dc=com
objectClass: alias
objectClass: extensibleObject
cn: three
aliasedObjectName: ou=Various,dc=example,dc=com

dn: ou=Outer,dc=example,dc=com
objectClass: organizationalUnit
ou: Outer

dn: ou=Inner,ou=Outer,dc=example,dc=com
objectClass: organizationalUnit
ou: Inner

dn: ou=Far,ou=Inner,ou=Outer,dc=example,dc=com
objectClass: referral
objectClass: extensibleObject
ou: Far
ref: ldap://far.example.com/
";

#[test]
fn references_come_once_whatever_ways_lead_to_them() {
    let data = format!("{DATA}{REFERRALS}{WAYS}");
    assert_same_answers(Server::PEOPLE_CONFIG, &data, |transcript| {
        transcript.ignore_order();
        for base in [BASE, "ou=Ways,dc=example,dc=com", "cn=two,ou=Ways,dc=example,dc=com"] {
            for scope in ["one", "sub", "children"] {
                for aliases in ["never", "always", "search"] {
                    for managed in [&[][..], &["-M"]] {
                        let arguments = ["-a", aliases, "-b", base, "-s", scope, "(cn=nothing)", "1.1"];
                        transcript.search(&[managed, &arguments].concat())?;
                    }
                }
            }
        }
        Ok(())
    });
}

#[test]
fn referrals_are_returned_unless_they_are_managed() {
    let data = format!("{DATA}{REFERRALS}");
    let config = format!("referral ldap://root.example.com\n{}", Server::PEOPLE_CONFIG);
    assert_same_answers(&config, &data, |transcript| {
        transcript.ignore_order();
        for managed in [&[][..], &["-M"], &["-MM"]] {
            for base in [
                BASE,
                "ou=Remote,dc=example,dc=com",
                "cn=x y,ou=Remote,dc=example,dc=com",
                "cn=a,cn=b,ou=Plain,dc=example,dc=com",
                "ou=Various,dc=example,dc=com",
                "cn=a,cn=b,ou=Various,dc=example,dc=com",
                "dc=elsewhere",
                "dc=com",
            ] {
                for scope in ["base", "one", "sub", "children"] {
                    transcript.search(&[managed, &["-b", base, "-s", scope, "1.1"]].concat())?;
                }
            }
            transcript.search(&[managed, &["-b", BASE, "(ref=*)", "ref"]].concat())?;
            transcript.search(&[managed, &["-b", BASE, "(uid=ann)", "ref"]].concat())?;
        }
        for change in [
            "dn: cn=x,ou=Remote,dc=example,dc=com\nchangetype: add\nobjectClass: person\ncn: x\nsn: x\n",
            "dn: cn=x,ou=Remote,dc=example,dc=com\nchangetype: delete\n",
            "dn: ou=Remote,dc=example,dc=com\nchangetype: modify\nreplace: ou\nou: Remote\n",
            "dn: ou=Various,dc=example,dc=com\nchangetype: modify\nreplace: ou\nou: Various\n",
            "dn: cn=x,ou=Various,dc=example,dc=com\nchangetype: modify\nreplace: ou\nou: Various\n",
            "dn: cn=x,cn=y,ou=Various,dc=example,dc=com\nchangetype: delete\n",
            "dn: ou=Various,dc=example,dc=com\nchangetype: delete\n",
            "dn: ou=Various,dc=example,dc=com\nchangetype: modrdn\nnewrdn: ou=Other\ndeleteoldrdn: 0\n",
            "dn: cn=x,ou=Various,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=y\ndeleteoldrdn: 0\n",
            "dn: cn=x,cn=y,ou=Various,dc=example,dc=com\nchangetype: modrdn\nnewrdn: cn=z\ndeleteoldrdn: 0\n",
            "dn: uid=ann,ou=People,dc=example,dc=com\nchangetype: modrdn\nnewrdn: uid=ann\ndeleteoldrdn: 0\nnewsuperior: ou=Remote,dc=example,dc=com\n",
            "dn: dc=elsewhere\nchangetype: delete\n",
        ] {
            transcript.modify(change)?;
        }
        transcript.client(
            "ldapcompare",
            &Credentials::Anonymous,
            &["ou=Remote,dc=example,dc=com", "ou:Remote"],
            "",
        )?;
        for name in ["ou=Various,dc=example,dc=com", "cn=x,ou=Various,dc=example,dc=com"] {
            transcript.client("ldapcompare", &Credentials::Anonymous, &[name, "ou:Various"], "")?;
        }
        transcript.client(
            "ldapcompare",
            &Credentials::Anonymous,
            &["-M", "ou=Plain,dc=example,dc=com", "ou:Plain"],
            "",
        )?;
        transcript.client(
            "ldapdelete",
            &Credentials::ROOT,
            &["-M", "ou=Plain,dc=example,dc=com"],
            "",
        )
    });
}

#[test]
fn subentries_are_seen_by_base_or_by_control() {
    let data = format!(
        "{DATA}
dn: cn=policy,dc=example,dc=com
objectClass: subentry
objectClass: extensibleObject
cn: policy
subtreeSpecification: {{}}
"
    );
    assert_same_answers(Server::PEOPLE_CONFIG, &data, |transcript| {
        transcript.search(&["-b", BASE, "1.1"])?;
        transcript.search(&["-b", BASE, "(objectClass=subentry)", "1.1"])?;
        transcript.search(&["-b", "cn=policy,dc=example,dc=com", "-s", "base"])?;
        transcript.search(&["-b", "cn=policy,dc=example,dc=com", "-s", "sub"])?;
        for control in ["subentries", "subentries=true", "!subentries=true", "subentries=false"] {
            transcript.search(&["-b", BASE, "-E", control, "1.1"])?;
            transcript.search(&["-b", "cn=policy,dc=example,dc=com", "-s", "base", "-E", control, "1.1"])?;
        }
        Ok(())
    });
}

/// Two databases, the inner glued to the outer or not.
fn two_databases(subordinate: &str) -> String {
    format!(
        "include {{schema}}/core.schema\ninclude {{schema}}/cosine.schema\ninclude {{schema}}/inetorgperson.schema\n\
         database mdb\nsuffix \"ou=People,dc=example,dc=com\"\n{subordinate}\nrootdn \"cn=Manager,dc=example,dc=com\"\n\
         directory {{dir}}/inner\n\
         database mdb\nsuffix \"dc=example,dc=com\"\nrootdn \"cn=Manager,dc=example,dc=com\"\nrootpw secret\n\
         directory {{dir}}/db\n"
    )
}

#[test]
fn a_subordinate_database_is_searched_as_one_with_its_superior() {
    for subordinate in ["", "subordinate", "subordinate advertise"] {
        ironbark_testkit::assert_same(|flavor| {
            let mut server = Server::prepare(flavor, &two_databases(subordinate))?;
            server.layout().make_dir("inner")?;
            server.launch()?;
            server.ldapadd(DATA)?.success()?;
            let mut transcript = Transcript::new(&server);
            transcript.ignore_order();
            for base in [BASE, "ou=People,dc=example,dc=com", "ou=Groups,dc=example,dc=com"] {
                for scope in ["base", "one", "sub", "children"] {
                    // slapd leaves out the glued database in the scope of subordinates.
                    if (base, scope) != (BASE, "children") {
                        transcript.search(&["-b", base, "-s", scope, "1.1"])?;
                    }
                }
            }
            transcript.search(&["-b", "uid=x,ou=People,dc=example,dc=com"])?;
            transcript.search(&["-b", BASE, "(ou=*)", "hasSubordinates"])?;
            transcript.search(&["-b", "", "-s", "base", "namingContexts"])?;
            Ok(transcript.finish())
        });
    }
}

#[test]
fn a_database_may_have_the_empty_suffix() {
    let config = "include {schema}/core.schema\ninclude {schema}/cosine.schema\ninclude {schema}/inetorgperson.schema\n\
        database mdb\nsuffix \"\"\nrootdn \"cn=Manager,dc=example,dc=com\"\nrootpw secret\ndirectory {dir}/db\n";
    let data = format!(
        "dn: dc=com\nobjectClass: domain\ndc: com\n\n{DATA}\n\ndn: o=Other\nobjectClass: organization\no: Other\n"
    );
    assert_same_answers(config, &data, |transcript| {
        transcript.ignore_order();
        for scope in ["base", "one", "sub", "children"] {
            transcript.search(&["-b", "", "-s", scope, "1.1"])?;
            transcript.search(&["-b", "dc=com", "-s", scope, "1.1"])?;
        }
        transcript.search(&["-b", "", "-s", "base", "namingContexts"])?;
        transcript.search(&["-b", "o=None", "-s", "base"])
    });
}

#[test]
fn an_empty_database_has_no_such_object() {
    assert_same_answers(Server::PEOPLE_CONFIG, "", |transcript| {
        for scope in ["base", "one", "sub"] {
            transcript.search(&["-b", BASE, "-s", scope])?;
            transcript.search(&["-b", "cn=x,dc=example,dc=com", "-s", scope])?;
        }
        transcript.search(&["-b", "", "-s", "base", "namingContexts"])
    });
}

#[test]
fn compare_answers_true_false_and_why_not() {
    assert_same_answers(Server::PEOPLE_CONFIG, DATA, |transcript| {
        for (dn, assertion) in [
            ("uid=ann,ou=People,dc=example,dc=com", "cn:ann lee"),
            ("uid=ann,ou=People,dc=example,dc=com", "cn:bob"),
            ("uid=ann,ou=People,dc=example,dc=com", "ou:x"),
            ("uid=ann,ou=People,dc=example,dc=com", "nosuch:x"),
            ("uid=ann,ou=People,dc=example,dc=com", "name:annie"),
            ("uid=ann,ou=People,dc=example,dc=com", "description;lang-de:die erste"),
            ("uid=ann,ou=People,dc=example,dc=com", "userPassword:annspass"),
            ("uid=ann,ou=People,dc=example,dc=com", "hasSubordinates:FALSE"),
            ("uid=ann,ou=People,dc=example,dc=com", "manager:no dn"),
            ("uid=ann,ou=People,dc=example,dc=com", "createTimestamp:x"),
            ("uid=ann,ou=People,dc=example,dc=com", "jpegPhoto:x"),
            ("uid=ann,ou=People,dc=example,dc=com", "cn:"),
            ("uid=ann,ou=People,dc=example,dc=com", "x121Address:x0"),
            ("uid=ann,ou=People,dc=example,dc=com", "telephoneNumber:a_b"),
            ("uid=ann,ou=People,dc=example,dc=com", "hasSubordinates:false"),
            ("uid=ann,ou=People,dc=example,dc=com", "objectClass:cn"),
            ("uid=ann,ou=People,dc=example,dc=com", "mail:"),
            ("uid=no,ou=People,dc=example,dc=com", "cn:x"),
            ("", "objectClass:top"),
            ("cn=Subschema", "objectClass:subschema"),
            ("o=elsewhere", "cn:x"),
            ("no dn", "cn:x"),
        ] {
            transcript.client("ldapcompare", &Credentials::Anonymous, &[dn, assertion], "")?;
        }
        Ok(())
    });
}
