//! Passwords that access rules reveal.

use super::{database, explain, schema};

/// A database with these rules alone, whose entries may have the passwords of Samba.
fn with_rules(rules: &str) -> String {
    format!(
        "{}database mdb\nsuffix dc=example,dc=com\ndirectory db\n{rules}",
        schema().replace("nis.schema", "samba.schema")
    )
}

#[test]
fn passwords_that_others_may_read_or_search_are_unsafe() {
    for (rules, words) in [
        ("", "there is no access rule, so anybody, without a bind,"),
        (
            "access to * by * read\n",
            "anybody, without a bind, may read sambaClearTextPassword, sambaLMPassword, sambaNTPassword, sambaPasswordHistory, userPassword",
        ),
        (
            "access to attrs=userPassword by * auth\naccess to attrs=sambaClearTextPassword by users search\naccess to attrs=entry by users read\n",
            "every user may search by sambaClearTextPassword",
        ),
        ("access to * by users read\n", "every user may read"),
        (
            "access to attrs=userPassword,sambaClearTextPassword,sambaNTPassword,sambaLMPassword,sambaPasswordHistory by self write by users write by anonymous auth\naccess to * by users read\n",
            "every user may change",
        ),
        (
            "access to dn.subtree=ou=guests,dc=example,dc=com by * read\naccess to * by self read by anonymous auth by * none\n",
            "for one of cn=sample,ou=guests,dc=example,dc=com",
        ),
        (
            "access to dn.children=ou=people,dc=example,dc=com by dn.subtree=ou=people,dc=example,dc=com read\naccess to * by anonymous auth\n",
            "every user below ou=people,dc=example,dc=com may read",
        ),
    ] {
        let found = explain(&with_rules(rules));
        assert!(
            found.found("unsafe", "access").iter().any(|line| line.contains(words)),
            "{rules}\n{}",
            found.text
        );
        assert_eq!(found.status, 2, "{rules}");
    }
}

#[test]
fn the_rule_that_gives_a_password_away_is_named() {
    let rules = "access to attrs=userPassword by self =xw by anonymous auth by * none\naccess to attrs=cn by * read\naccess to * by * read\n";
    let found = explain(&with_rules(rules));
    found.assert_has("slapd.conf:10: unsafe: access: ", "sambaNTPassword");
    assert!(!found.text.contains("userPassword of others"), "{}", found.text);
}

#[test]
fn rules_that_keep_passwords_are_not_complained_about() {
    let passwords = "attrs=userPassword,sambaClearTextPassword,sambaNTPassword,sambaLMPassword,sambaPasswordHistory";
    for rules in [
        format!("access to {passwords} by self write by anonymous auth by * none\naccess to * by * read\n"),
        format!(
            "access to {passwords} by self =xw by dn.exact=cn=admin,dc=example,dc=com write by anonymous auth\naccess to * by * read\n"
        ),
        // The rule of the frontend applies to this database too.
        format!(
            "access to {passwords} by self =xw by group=cn=admins,dc=example,dc=com write by * auth\naccess to * by users read\n"
        ),
        "access to dn.base=\"dc=example,dc=com\" by * read\naccess to * by self read by * auth\n".to_owned(),
        "access to * by self write by * compare\n".to_owned(),
    ] {
        let found = explain(&with_rules(&rules));
        assert_eq!(
            (found.found("unsafe", "access").len(), found.status),
            (0, 0),
            "{rules}\n{}",
            found.text
        );
    }
    let require = explain(&with_rules("require authc\naccess to * by users none by * read\n"));
    assert_eq!(require.status, 0, "{}", require.text);
}

#[test]
fn secrets_of_an_overlay_count_where_it_is() {
    let rules = "access to attrs=userPassword,sambaClearTextPassword,sambaNTPassword,sambaLMPassword,sambaPasswordHistory \
                 by self =xw by anonymous auth by * none\naccess to * by * read\n";
    assert_eq!(explain(&with_rules(rules)).status, 0);
    explain(&with_rules(&format!("{rules}overlay otp\n"))).assert_has("slapd.conf:9: unsafe: access: ", "oathSecret");
}

#[test]
fn rules_of_the_frontend_count() {
    let text = format!(
        "{}access to * by * read\ndatabase mdb\nsuffix dc=example,dc=com\ndirectory db\naccess to attrs=cn by * read\n",
        schema()
    );
    explain(&text).assert_has("slapd.conf:5: unsafe: access: ", "userPassword");
}

#[test]
fn the_password_of_an_administrator_of_cn_config_is_kept_too() {
    let text = format!("{}database config\naccess to * by users read\n", super::RULES);
    let found = explain(&text);
    found.assert_has("slapd.conf:4: unsafe: access: ", "olcRootPW");
    assert!(
        !explain("database config\naccess to * by dn.exact=cn=admin manage\n")
            .text
            .contains("olcRootPW")
    );
}

#[test]
fn everything_at_once_for_everybody_is_unsafe() {
    let open = "access to attrs=userPassword,sambaClearTextPassword,sambaNTPassword,sambaLMPassword,sambaPasswordHistory by * auth\naccess to * by * read\n";
    let found = explain(&format!("sizelimit unlimited\n{}", with_rules(open)));
    found.assert_has("slapd.conf:1: unsafe: sizelimit: ", "all entries with one search");
    let found = explain(&with_rules(&format!("{open}limits anonymous size=unlimited\n")));
    found.assert_has("slapd.conf:10: unsafe: limits: ", "all entries with one search");
    for fine in [
        format!("sizelimit unlimited\n{}", database("")),
        with_rules(&format!("{open}sizelimit unlimited\nlimits anonymous size=100\n")),
        with_rules(&format!("{open}limits users size=unlimited\n")),
    ] {
        let found = explain(&fine);
        assert_eq!(found.status, 0, "{}", found.text);
    }
}

#[test]
fn definitions_that_users_may_write_are_unsafe_where_an_overlay_follows_them() {
    let passwords = "access to attrs=userPassword by self =xw by anonymous auth by * none\n";
    let text = |rules: &str, overlay: &str| {
        let rules = format!("database mdb\nsuffix dc=example,dc=com\ndirectory db\n{passwords}{rules}{overlay}");
        explain(&(schema() + &rules))
    };
    let open = "access to attrs=nsRoleFilter by users write\naccess to * by users read\n";
    let found = text(open, "overlay roles\n");
    let words = "every user may write nsRoleFilter, for one of cn=sample,dc=example,dc=com: with overlay roles";
    assert!(
        found.found("unsafe", "access").iter().any(|line| line.contains(words)),
        "{}",
        found.text
    );
    let says_so = |rules: &str, overlay: &str| text(rules, overlay).text.contains("may write");
    assert!(!says_so(open, ""), "no overlay follows it");
    assert!(!says_so("access to * by self write by users read\n", "overlay roles\n"));
}
