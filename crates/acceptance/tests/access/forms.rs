//! Every form of slapd.access(5), one at a time.

use super::site::{Site, assert_same};

/// One set of rules a line; rules are separated by ` ; `.
const RULES: &str = r#"
to * by * read
to * by * none
to * by users read by anonymous auth
to attrs=userPassword by self write by anonymous auth by * none ; to * by self write by users read by * search
to dn.base="dc=example,dc=com" by * read ; to dn.subtree="ou=People,dc=example,dc=com" by users read ; to * by * =0
to dn.one="ou=People,dc=example,dc=com" by * read ; to * by * search
to dn.children="ou=People,dc=example,dc=com" by * read ; to * by * disclose
to dn.regex="^uid=([^,]+),ou=people,dc=example,dc=com$" by * read ; to * by * search
to dn.regex="^(.+,)?uid=([^,]+),(.*)$" by dn.regex="^uid=$2,.+$$" write by users read ; to * by * read
to dn.regex="^(.+,)?uid=([^,]+),ou=people,dc=example,dc=com$" by dn.exact,expand="uid=$2,ou=people,dc=example,dc=com" write by * none
to dn.subtree="dc=com" by dn.subtree,expand="$1" read by anonymous search
to dn.subtree="ou=People,dc=example,dc=com" by dn.children,expand="$1" read by * search ; to * by * read
to * by dn.level{2}="dc=example,dc=com" read by dn.level{3}="dc=example,dc=com" search
to * by self.level{1} write by self.level{-1} read by * disclose
to * by self.level{2} read by self.level{-2} write by anonymous search
to filter=(title=boss) by users read ; to filter=(|(uid=*)(member=*)) by users search ; to * by * read
to attrs=entry,children,objectClass by * read ; to attrs=@person by users read ; to * by anonymous search by * none
to attrs=!person by * read ; to * by users search
to attrs=cn,sn,mail by * read ; to attrs=entry by * read ; to * by * disclose
to attrs=description by * read ; to attrs=entry by * read ; to * by users read
to attrs=mail val="ann@example.com" by * none ; to * by * read
to attrs=mail val.regex=".*@example.org" by users read ; to attrs=mail by * none ; to * by * read
to attrs=mail val.regex="^(.*)@example.com$" by dn.regex="^uid=${v1},.*$$" read by * none ; to * by * read
to attrs=title val="boss" by anonymous none by users search ; to * by * read
to attrs=title val/caseExactMatch="Boss" by * read ; to attrs=title by * search ; to * by * read
to attrs=member val.children="ou=Staff,ou=People,dc=example,dc=com" by * read ; to attrs=member by users search ; to * by * read
to attrs=member val.base="uid=ann,ou=People,dc=example,dc=com" by dnattr=owner write ; to * by * read
to attrs=member by dnattr=member selfwrite by users read ; to * by * read
to attrs=member,seeAlso by users selfwrite by * read ; to * by * read
to attrs=member by users self=aw by * read ; to * by * read
to attrs=member by users self+w by * read ; to * by * read
to * by dnattr=manager write by dnattr=seeAlso read by * search
to * by dnattr=member read by realdnattr=owner read by * disclose
to * by group="cn=editors,ou=Groups,dc=example,dc=com" write by * search
to * by group/groupOfUniqueNames/uniqueMember="cn=unique,ou=Groups,dc=example,dc=com" read by * auth
to * by group/groupOfURLs/memberURL="cn=dynamic,ou=Groups,dc=example,dc=com" read by * search
to dn.regex="^cn=([^,]+),ou=groups,dc=example,dc=com$" by group.expand="cn=$1,ou=groups,dc=example,dc=com" write by * search ; to * by * read
to * by group="cn=nothing,ou=Groups,dc=example,dc=com" write by * read
to * by group/groupOfNames/owner="cn=editors,ou=Groups,dc=example,dc=com" read by users search
to * by set="user & [cn=editors,ou=Groups,dc=example,dc=com]/member" read by * search
to * by set="user & [cn=editors,ou=Groups,dc=example,dc=com]/member*" write by * search
to * by set="this/manager & user" write by set="this/manager/manager & user" read by * search
to * by set="user/title & [clerk]" read by set="user/-1 & [ou=people,dc=example,dc=com]" search
to * by set="this/-* & user/-1" read by * disclose
to * by set="[ldap:///ou=people,dc=example,dc=com??sub?(title=boss)]/entryDN & user" read by * search
to * by set="user/mail + [x] & [ann@example.comx]" read by * search
to dn.regex="^uid=([^,]+),.*$" by set.expand="user/uid & [$1]" write by * search ; to * by * read
to * by set="user &" read by * search
to * by peername.ip=127.0.0.1 read
to * by peername.ip=10.0.0.0%255.0.0.0 write by peername.ip=127.0.0.0%255.0.0.0 search by * none
to * by peername.ipv6=::1 read by peername.regex="^IP=127\.0\.0\.1:" search by * none
to * by peername.path="/x" write by * read
to * by sockurl.regex="^ldap://127\.0\.0\.1:[0-9]+/$" read by * none
to * by sockurl="ldapi:///" write by sockname.regex="^IP=127" search by * none
to * by domain=localhost write by domain.subtree=example.com read by * search
to * by ssf=1 write by tls_ssf=128 read by transport_ssf=1 read by sasl_ssf=1 read by * search
to * by users ssf=71 read by users search by * none
to * by realusers read by realanonymous search
to * by realself write by realdn.children="ou=Staff,ou=People,dc=example,dc=com" read by * search
to * by users realself read by * search
to * by * =cs continue by users +r
to attrs=cn by * =cs break ; to dn.subtree="ou=People,dc=example,dc=com" by * +r ; to * by users read
to * by users =rscxd continue by self +w continue by dn.exact="uid=bob,ou=Staff,ou=People,dc=example,dc=com" -r ; to * by * manage
to * by * break ; to * by users read by * break
to * by users =w by anonymous =r
to * by users -r by * +0
to attrs=userPassword by * =x ; to * by users +a continue by users +z continue by users +rscxd by * =
to * by users add by anonymous search
to * by users delete by anonymous compare
to * by users manage by * none
to attrs=title by users =az by * read ; to * by * read
to attrs=title by users =a by * read ; to * by * read
to attrs=objectClass by users search by * none ; to * by * read
to attrs=entry by users search by * none ; to * by * read
to dn.base="uid=nobody,ou=People,dc=example,dc=com" by * read ; to dn.base="ou=People,dc=example,dc=com" by * none ; to * by * read
to dn.base="ou=People,dc=example,dc=com" attrs=entry by * disclose ; to * by * read
to attrs=uidNumber val.regex="^5*$" by users search by * read ; to attrs=uidNumber by anonymous read ; to attrs=objectClass val.regex="^inetOrg" by * read ; to * by users read
to attrs=entry by * read ; to dn.subtree="ou=People,dc=example,dc=com" by set="this/uidNumber & [55]" read by set="this/objectClass & [inetOrgPerson]" search ; to * by * search
to attrs=@extensibleObject by users read ; to * by * write
to attrs=!extensibleObject by * none ; to * by users read by * search
to attrs=@extended by * none ; to * by * read
to attrs=@named by users read ; to * by * search
to attrs=!labelled by users write ; to * by * read
to dn.regex="^(.+,)?uid=ann,ou=people,dc=example,dc=com$" by anonymous none by dn.subtree,expand="$1" write by users search ; to * by * read
to dn.regex="^(cn=[^,]+,)?(uid=[^,]+),(.*)$" by anonymous none by dn.children,expand="$1" write by dn.exact,expand="$1$2,$3" write by users read
to attrs=title by users write continue by users -z ; to attrs=seeAlso by users write break ; to attrs=seeAlso by users -a ; to * by * write
to filter=(entryDN=uid=ann,ou=People,dc=example,dc=com) by users write ; to filter=(!(hasSubordinates=*)) by * read
to dn.exact="" by * read ; to dn.base="cn=Subschema" by * read ; to * by self read by * none
"#;

#[tokio::test]
async fn every_form_of_a_rule_means_what_it_means_to_slapd() {
    let sites = Site::both().await;
    for line in RULES.lines().filter(|line| !line.is_empty()) {
        let rules: Vec<String> = line.split(" ; ").map(str::to_owned).collect();
        assert_same(&sites, &rules).await;
    }
}
