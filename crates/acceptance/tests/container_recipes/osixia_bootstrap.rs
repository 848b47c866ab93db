//! osixia/openldap 2.x: one file of LDIF, loaded with slapadd before the server starts.

use ironbark_testkit::{Credentials, TestkitError, Tool, assert_same_now};

use super::image::{Image, hashed};

const SUFFIX: &str = "dc=example,dc=org";

/// The configuration, joined by the image from files in the order of their numbers.
fn configuration(image: &Image) -> String {
    let (dir, peer, schema) = (image.dir(), image.peer(), Image::schema());
    let schemas = ["core", "cosine", "inetorgperson", "nis"]
        .map(|name| std::fs::read_to_string(format!("{schema}/{name}.ldif")).unwrap() + "\n\n");
    format!(
        "dn: cn=config\nobjectClass: olcGlobal\ncn: config\nolcSizeLimit: 1000\nolcTimeLimit: 60\nolcIdleTimeout: 120\n\n\
         dn: cn=module,cn=config\nobjectClass: olcModuleList\ncn: module\nolcModulepath: /usr/lib/ldap\n\
         olcModuleload: back_mdb.so\nolcModuleload: memberof.so\nolcModuleload: refint.so\nolcModuleload: unique.so\nolcModuleload: back_monitor.so\n\n\
         dn: cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: schema\n\n{}\
         dn: olcDatabase={{-1}}frontend,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcFrontendConfig\n\
         olcDatabase: {{-1}}frontend\nolcPasswordHash: {{SSHA}}\n\n\
         dn: olcDatabase={{0}}config,cn=config\nobjectClass: olcDatabaseConfig\nolcDatabase: {{0}}config\n\
         olcRootDN: cn=admin,cn=config\nolcRootPW: {}\nolcAccess: to *\n  by dn.exact=\"{peer}\" manage\n  by * break\n\n\
         dn: olcDatabase=mdb,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcMdbConfig\nolcDatabase: mdb\n\
         olcDbDirectory: {dir}/db\nolcSuffix: {SUFFIX}\nolcRootDN: cn=admin,{SUFFIX}\nolcRootPW: {}\nolcDbMaxSize: 1073741824\n\
         olcDbIndex: objectClass eq\nolcDbIndex: uid eq,sub\nolcDbIndex: mail eq,sub\nolcDbIndex: cn eq,sub\nolcDbIndex: sn eq,sub\n\
         olcDbIndex: givenName eq,sub\nolcDbIndex: member eq\nolcDbIndex: uniqueMember eq\nolcDbIndex: entryCSN eq\n\
         olcDbIndex: entryUUID eq\n\
         olcAccess: to *\n  by dn.exact=\"{peer}\" manage\n  by * break\n\
         olcAccess: to attrs=userPassword,shadowLastChange\n  by self write\n  by anonymous auth\n  by * break\n\
         olcAccess: to attrs=cn,sn,givenName,mail,uid\n  by self read\n  by users read\n  by * break\n\
         olcAccess: to attrs=userPassword,shadowLastChange\n  by dn.exact=\"cn=readonly,{SUFFIX}\" none\n  by * break\n\
         olcAccess: to *\n  by dn.exact=\"cn=readonly,{SUFFIX}\" read\n  by * break\n\n\
         dn: olcDatabase=monitor,cn=config\nobjectClass: olcDatabaseConfig\nolcDatabase: monitor\nolcMonitoring: TRUE\n\
         olcAccess: to *\n  by dn.exact=\"{peer}\" manage\n  by * break\nolcAccess: to *\n  by * none\n\n\
         dn: olcOverlay=unique,olcDatabase={{1}}mdb,cn=config\nobjectClass: olcOverlayConfig\nobjectClass: olcUniqueConfig\n\
         olcOverlay: unique\nolcUniqueURI: ldap:///?uid?sub\nolcUniqueURI: ldap:///?mail?sub\n\n\
         dn: olcOverlay=refint,olcDatabase={{1}}mdb,cn=config\nobjectClass: olcOverlayConfig\nobjectClass: olcRefintConfig\n\
         olcOverlay: refint\nolcRefintAttribute: member uniqueMember\n\n\
         dn: olcOverlay=memberof,olcDatabase={{1}}mdb,cn=config\nobjectClass: olcOverlayConfig\nobjectClass: olcMemberOfConfig\n\
         olcOverlay: memberof\nolcMemberOfGroupOC: groupOfNames\nolcMemberOfMemberAD: member\nolcMemberOfMemberOfAD: memberOf\n\
         olcMemberOfDangling: ignore\n",
        schemas.concat(),
        hashed("config"),
        hashed("admin"),
    )
}

fn data() -> String {
    let entry = |rest: String| rest + "\n";
    [
        entry(format!("dn: {SUFFIX}\nobjectClass: top\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: example\n")),
        entry(format!(
            "dn: cn=readonly,{SUFFIX}\nobjectClass: simpleSecurityObject\nobjectClass: organizationalRole\ncn: readonly\n\
             userPassword: {}\n",
            hashed("reader")
        )),
        entry(format!(
            "dn: uid=ann,{SUFFIX}\nobjectClass: inetOrgPerson\nuid: ann\ncn: Ann\nsn: Lee\nmail: ann@example.org\n\
             userPassword: {}\n",
            hashed("ann")
        )),
    ]
    .concat()
}

#[test]
fn the_image_comes_up() {
    assert_same_now(|flavor| -> Result<String, TestkitError> {
        let mut image = Image::empty(flavor)?;
        let configuration = configuration(&image);
        image.tool_succeeds(Tool::Add, &["-n", "0"], &configuration)?;
        image.tool_succeeds(Tool::Add, &["-n", "1"], &data())?;
        image.launch()?;
        let admin = Credentials::Simple {
            dn: "cn=admin,dc=example,dc=org",
            password: "admin",
        };
        let second = format!(
            "dn: uid=other,{SUFFIX}\nobjectClass: inetOrgPerson\nuid: other\ncn: O\nsn: O\nmail: ann@example.org\n"
        );
        let outcome = image.client("ldapadd", &admin, &[], &second)?;
        assert_eq!(outcome.code(), Some(19));
        let group = format!("dn: cn=all,{SUFFIX}\nobjectClass: groupOfNames\ncn: all\nmember: uid=ann,{SUFFIX}\n");
        image.client("ldapadd", &admin, &[], &group)?.success()?;
        let ann = Credentials::Simple {
            dn: "uid=ann,dc=example,dc=org",
            password: "ann",
        };
        image.client("ldapsearch", &ann, &["-b", SUFFIX], "")?;
        let config = Credentials::Simple {
            dn: "cn=admin,cn=config",
            password: "config",
        };
        for who in [&config, &Credentials::External] {
            image.search(
                who,
                &[
                    "-b",
                    "cn=config",
                    "(olcDatabase=*)",
                    "olcSuffix",
                    "olcSizeLimit",
                    "olcRootDN",
                ],
            )?;
        }
        image.search(
            &Credentials::External,
            &[
                "-b",
                "cn=Databases,cn=Monitor",
                "-s",
                "one",
                "namingContexts",
                "readOnly",
            ],
        )?;
        image.client("ldapsearch", &ann, &["-b", "cn=Monitor", "-s", "base"], "")?;
        let reader = Credentials::Simple {
            dn: "cn=readonly,dc=example,dc=org",
            password: "reader",
        };
        image.finish(SUFFIX, &reader)
    });
}
