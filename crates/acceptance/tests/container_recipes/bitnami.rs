//! bitnami/openldap: slapadd loads a configuration with placeholders, and ldapmodify fills them in over the socket.

use std::fmt::Write as _;

use ironbark_testkit::{Credentials, TestkitError, Tool, assert_same_now};

use super::image::{Image, hashed};

const SUFFIX: &str = "dc=example,dc=org";
const DATABASE: &str = "olcDatabase={2}mdb,cn=config";

fn admin() -> Credentials<'static> {
    Credentials::Simple {
        dn: "cn=admin,dc=example,dc=org",
        password: "adminpassword",
    }
}

/// The configuration that every container begins with.
fn initial(image: &Image) -> String {
    let (dir, peer, schema) = (image.dir(), image.peer(), Image::schema());
    format!(
        "#\n# a head of\n# comments\n#\n\ndn: cn=config\nobjectClass: olcGlobal\ncn: config\nolcArgsFile: {dir}/slapd.args\n\
         olcPidFile: {dir}/slapd.pid\n\n#\n# modules\n#\ndn: cn=module,cn=config\ncn: module\nobjectClass: olcModuleList\n\
         olcModulePath: /usr/lib/ldap\nolcModuleLoad: pw-sha2.so\n\
         # in the image part of the program, in Debian not\nolcModuleLoad: back_mdb\nolcModuleLoad: back_monitor\n\n\
         #\n# schema\n#\n\ndn: cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: schema\n\n\
         include: file://{schema}/core.ldif\n\n\
         dn: olcDatabase=frontend,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcFrontendConfig\nolcDatabase: frontend\n\n\
         dn: olcDatabase=config,cn=config\nobjectClass: olcDatabaseConfig\nolcDatabase: config\n\
         olcAccess: to * by dn.base=\"{peer}\" manage by * none\n\n\
         dn: olcDatabase=monitor,cn=config\nobjectClass: olcDatabaseConfig\nolcDatabase: monitor\n\
         olcAccess: to * by dn.base=\"{peer}\" read by dn.base=\"cn=Manager,dc=my-domain,dc=com\" read by * none\n\n\
         dn: olcDatabase=mdb,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcMdbConfig\nolcDatabase: mdb\n\
         olcDbMaxSize: 1073741824\nolcSuffix: dc=my-domain,dc=com\nolcRootDN: cn=Manager,dc=my-domain,dc=com\nolcMonitoring: FALSE\n\
         olcDbDirectory:\t{dir}/db\nolcDbIndex: objectClass eq,pres\nolcDbIndex: ou,cn,mail,surname,givenname eq,pres,sub\n"
    )
}

/// Suffix, administrators, and the readers of cn=Monitor.
fn credentials(image: &mut Image) -> Result<(), TestkitError> {
    // A blank within a name, as the image writes it.
    let peer = image.peer().replace(",cn=auth", ", cn=auth");
    let (password, config) = (hashed("adminpassword"), hashed("configpassword"));
    image.modify(&format!(
        "dn: {DATABASE}\nchangetype: modify\nreplace: olcSuffix\nolcSuffix: {SUFFIX}\n\n\
         dn: {DATABASE}\nchangetype: modify\nreplace: olcRootDN\nolcRootDN: cn=admin,{SUFFIX}\n\n\
         dn: {DATABASE}\nchangeType: modify\nadd: olcRootPW\nolcRootPW: {password}\n\n\
         dn: olcDatabase={{1}}monitor,cn=config\nchangetype: modify\nreplace: olcAccess\n\
         olcAccess: {{0}}to * by dn.base=\"{peer}\" read by dn.base=\"cn=admin,{SUFFIX}\" read by * none\n\n\
         dn: olcDatabase={{0}}config,cn=config\nchangetype: modify\nadd: olcRootDN\nolcRootDN: cn=admin,cn=config\n\n\
         dn: olcDatabase={{0}}config,cn=config\nchangetype: modify\nadd: olcRootPW\nolcRootPW: {config}\n"
    ))
}

fn without_anonymous_binds(image: &mut Image) -> Result<(), TestkitError> {
    image.modify(
        "dn: cn=config\nchangetype: modify\nadd: olcDisallows\nolcDisallows: bind_anon\n\n\
         dn: cn=config\nchangetype: modify\nadd: olcRequires\nolcRequires: authc\n",
    )?;
    let outcome = image.client("ldapsearch", &Credentials::Anonymous, &["-b", SUFFIX], "")?;
    assert_eq!(outcome.code(), Some(48));
    Ok(())
}

fn add_schema(image: &mut Image) -> Result<(), TestkitError> {
    for name in ["cosine", "inetorgperson", "nis"] {
        let ldif = std::fs::read_to_string(format!("{}/{name}.ldif", Image::schema())).unwrap();
        image.add(&ldif)?;
    }
    Ok(())
}

/// A site's own schema is added with slapadd while the server runs. The server is then restarted.
fn add_custom_schema(image: &mut Image) -> Result<(), TestkitError> {
    let custom = "dn: cn=custom,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: custom\n\
        olcAttributeTypes: ( 1.3.6.1.4.1.32473.1.1 NAME 'badge' EQUALITY caseIgnoreMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )\n\
        olcObjectClasses: ( 1.3.6.1.4.1.32473.2.1 NAME 'badgeHolder' SUP top AUXILIARY MAY badge )\n";
    image.tool_succeeds(Tool::Add, &["-n", "0"], custom)?;
    image.restart()
}

fn password_hash(image: &mut Image) -> Result<(), TestkitError> {
    image.modify(
        "dn: olcDatabase={-1}frontend,cn=config\nchangetype: modify\nadd: olcPasswordHash\nolcPasswordHash: {SSHA512}\n",
    )
}

/// Another list of modules with one in it, because the image loads requested modules in this way, and the indexes for
/// its access log.
fn modules_and_indexes(image: &mut Image) -> Result<(), TestkitError> {
    image.add(
        "dn: cn=module,cn=config\ncn: module\nobjectClass: olcModuleList\nolcModulePath: /usr/lib/ldap\nolcModuleLoad: memberof.so\n",
    )?;
    image.modify(&format!(
        "dn: {DATABASE}\nchangetype: modify\nadd: olcDbIndex\nolcDbIndex: entryCSN eq\n-\nadd: olcDbIndex\nolcDbIndex: entryUUID eq\n"
    ))
}

/// The tree of users and groups.
fn tree() -> String {
    let mut text = format!(
        "# the root\ndn: {SUFFIX}\nobjectClass: dcObject\nobjectClass: organization\ndc: example\no: example\n\n\
         dn: ou=users,{SUFFIX}\nobjectClass: organizationalUnit\nou: users\n\n\
         dn: ou=groups,{SUFFIX}\nobjectClass: organizationalUnit\nou: groups\n\n"
    );
    for number in 1..3 {
        write!(
            text,
            "# user {number}\ndn: cn=user0{number},ou=users,{SUFFIX}\ncn: User{number}\nsn: Bar{number}\n\
             objectClass: inetOrgPerson\nobjectClass: posixAccount\nobjectClass: shadowAccount\nobjectClass: badgeHolder\n\
             userPassword: bitnami{number}\nuid: user0{number}\nuidNumber: 100{number}\ngidNumber: 100{number}\n\
             homeDirectory: /home/user0{number}\nbadge: {number}\n\n"
        )
        .unwrap();
    }
    text + &format!(
        "# the group\ndn: cn=readers,ou=groups,{SUFFIX}\ncn: readers\nobjectClass: groupOfNames\n# its members\n\
         member: cn=user01,ou=users,{SUFFIX}\nmember: cn=user02,ou=users,{SUFFIX}\n\n"
    )
}

#[test]
fn the_image_comes_up() {
    assert_same_now(|flavor| -> Result<String, TestkitError> {
        let mut image = Image::empty(flavor)?;
        let initial = initial(&image);
        let file = image
            .server
            .layout()
            .write("slapd.ldif", initial)?
            .display()
            .to_string();
        image.tool_succeeds(Tool::Add, &["-n", "0", "-l", &file], "")?;
        image.launch()?;
        // The image uses this to see that the server is ready.
        image.search(
            &Credentials::External,
            &["-b", "cn=config", "-s", "base", "(objectClass=*)", "dn"],
        )?;
        credentials(&mut image)?;
        without_anonymous_binds(&mut image)?;
        add_schema(&mut image)?;
        add_custom_schema(&mut image)?;
        password_hash(&mut image)?;
        modules_and_indexes(&mut image)?;
        image.client("ldapadd", &admin(), &[], &tree())?.success()?;
        let user = Credentials::Simple {
            dn: "cn=user01,ou=users,dc=example,dc=org",
            password: "bitnami1",
        };
        image.client("ldapwhoami", &user, &[], "")?.success()?;
        image
            .client(
                "ldappasswd",
                &admin(),
                &["-s", "changed", "cn=user01,ou=users,dc=example,dc=org"],
                "",
            )?
            .success()?;
        let stored = image.server.client(
            "ldapsearch",
            &admin(),
            &["-b", SUFFIX, "(uid=user01)", "userPassword"],
            "",
        )?;
        // {SSHA512} in base64.
        assert!(
            stored.stdout.contains("userPassword:: e1NTSEE1MTJ9"),
            "{}",
            stored.stdout
        );
        let back =
            format!("dn: cn=user01,ou=users,{SUFFIX}\nchangetype: modify\nreplace: userPassword\nuserPassword: back\n");
        image.client("ldapmodify", &admin(), &[], &back)?.success()?;
        image.search(
            &admin(),
            &["-b", "cn=Databases,cn=Monitor", "-s", "one", "namingContexts"],
        )?;
        let config = Credentials::Simple {
            dn: "cn=admin,cn=config",
            password: "configpassword",
        };
        for attribute in ["olcDbIndex", "olcSuffix"] {
            image.search(&config, &["-b", DATABASE, "-s", "base", attribute])?;
        }
        // slapd 2.5 takes the tab as the blank behind a colon. Others have it in the value, where it is harmless.
        Ok(image.finish(SUFFIX, &admin())?.replace(": \t", ": "))
    });
}
