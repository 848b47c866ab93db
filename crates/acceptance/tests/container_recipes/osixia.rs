//! osixia/openldap 1.x: Debian's installation, then LDIF by ldapmodify and ldapadd over the socket.

use std::fmt::Write as _;

use ironbark_testkit::{Credentials, Flavor, TestkitError, Tool, assert_same_now};

use super::{
    debian,
    image::{Image, hashed},
};

const SUFFIX: &str = "dc=example,dc=org";
const DATABASE: &str = "olcDatabase={1}mdb,cn=config";

fn admin(password: &str) -> Credentials<'_> {
    Credentials::Simple {
        dn: "cn=admin,dc=example,dc=org",
        password,
    }
}

/// A schema file as LDIF: converted by slaptest, and taken from the resulting directory.
fn converted(image: &mut Image, name: &str) -> Result<String, TestkitError> {
    let layout = image.server.layout();
    let schema = Image::schema();
    let own = layout.write(&format!("{name}.schema"), Image::own_schema(&format!("{name}.schema")))?;
    let files = ["core", "cosine", "inetorgperson", "nis"].map(|name| format!("include {schema}/{name}.schema\n"));
    let list = format!("{}include {}\n", files.concat(), own.display());
    let list = layout.write("convert.dat", list)?.display().to_string();
    let folder = layout.make_dir(&format!("converted-{name}"))?;
    Tool::Test
        .run(
            image.server.flavor(),
            &["-f", &list, "-F", folder.to_str().unwrap()],
            "",
        )?
        .success()?;
    let text = std::fs::read_to_string(folder.join(format!("cn=config/cn=schema/cn={{4}}{name}.ldif"))).unwrap();
    let operational = [
        "structuralObjectClass",
        "entryUUID",
        "creatorsName",
        "createTimestamp",
        "entryCSN",
        "modifiersName",
        "modifyTimestamp",
    ];
    let mut kept = String::new();
    for line in text
        .lines()
        .filter(|line| !operational.iter().any(|name| line.starts_with(name)))
    {
        match line.split_once(':').map(|(name, _)| name) {
            Some("dn") => writeln!(kept, "dn: cn={name},cn=schema,cn=config").unwrap(),
            Some("cn") => writeln!(kept, "cn: {name}").unwrap(),
            _ => writeln!(kept, "{line}").unwrap(),
        }
    }
    Ok(kept)
}

/// The schema of the image, added to the running server.
fn add_schema(image: &mut Image) -> Result<(), TestkitError> {
    let policy = Image::own_schema("ppolicy.ldif");
    image
        .client("ldapadd", &Credentials::External, &["-c"], &policy)?
        .success()?;
    for name in ["openssh-lpk", "postfix", "samba"] {
        let ldif = converted(image, name)?;
        let there = image.search(&Credentials::External, &["-b", "cn=schema,cn=config", "cn"])?;
        assert!(!there.contains(&format!("}}{name},")), "{there}");
        image
            .client("ldapadd", &Credentials::External, &["-c"], &ldif)?
            .success()?;
    }
    Ok(())
}

fn access(of_readers: &str, peer: &str) -> String {
    format!(
        "dn: {DATABASE}\nchangetype: modify\ndelete: olcAccess\n-\nadd: olcAccess\n\
         olcAccess: to * by dn.exact={peer} manage by * break\n\
         olcAccess: to attrs=userPassword,shadowLastChange by self write by dn=\"cn=admin,{SUFFIX}\" write by anonymous auth by * none\n\
         olcAccess: to * by self read by dn=\"cn=admin,{SUFFIX}\" write {of_readers}by * none\n"
    )
}

/// The LDIF of the image, in the order of its file names.
fn bootstrap(image: &mut Image) -> Result<(), TestkitError> {
    let config = hashed("config");
    // ldapmodify sends the first record, which has no effect.
    image.modify(&format!(
        "# the password of cn=config\ndn: cn=config\nchangeType: modify\n\ndn: olcDatabase={{0}}config,cn=config\nadd: olcRootPW\n\
         olcRootPW: {config}\n"
    ))?;
    let peer = image.peer();
    image.modify(&access("", &peer))?;
    image.modify(&format!(
        "dn: cn=module{{0}},cn=config\nchangetype: modify\nadd: olcModuleLoad\nolcModuleLoad: memberof\n\n\
         dn: olcOverlay={{0}}memberof,{DATABASE}\nchangetype: add\nobjectClass: olcOverlayConfig\nobjectClass: olcMemberOf\n\
         olcOverlay: {{0}}memberof\nolcMemberOfDangling: ignore\nolcMemberOfRefInt: TRUE\nolcMemberOfGroupOC: groupOfUniqueNames\n\
         olcMemberOfMemberAD: uniqueMember\nolcMemberOfMemberOfAD: memberOf\n"
    ))?;
    image.modify(&format!(
        "dn: cn=module{{0}},cn=config\nchangetype: modify\nadd: olcModuleLoad\nolcModuleLoad: refint\n\n\
         dn: olcOverlay={{1}}refint,{DATABASE}\nchangetype: add\nobjectClass: olcOverlayConfig\nobjectClass: olcRefintConfig\n\
         olcOverlay: {{1}}refint\nolcRefintAttribute: owner\nolcRefintAttribute: manager\nolcRefintAttribute: uniqueMember\n\
         olcRefintAttribute: member\nolcRefintAttribute: memberOf\n"
    ))?;
    image.modify(&format!(
        "dn: {DATABASE}\nchangetype:  modify\nreplace: olcDbIndex\nolcDbIndex: uid eq\nolcDbIndex: mail eq\nolcDbIndex: memberOf eq\n\
         olcDbIndex: entryCSN eq\nolcDbIndex: entryUUID eq\nolcDbIndex: objectClass eq\n"
    ))
}

/// The user that may read everything. The machine's root adds it, because root has `manage` on the database.
fn add_reader(image: &mut Image) -> Result<(), TestkitError> {
    let password = hashed("reader");
    image.modify(&format!(
        "dn: cn=readonly,{SUFFIX}\nchangetype: add\ncn: readonly\nobjectClass: simpleSecurityObject\n\
         objectClass: organizationalRole\nuserPassword: {password}\ndescription: may read\n"
    ))?;
    let peer = image.peer();
    image.modify(&access(&format!("by dn=\"cn=readonly,{SUFFIX}\" read "), &peer))
}

/// The image does this at each start without replication: it removes the settings of replication, if any.
fn without_replication(image: &mut Image) -> Result<(), TestkitError> {
    let ldif = format!(
        "dn: {DATABASE}\nchangetype: modify\ndelete: olcSyncRepl\n-\ndelete: olcMirrorMode\n-\ndelete: olcLimits\n\n\
         dn: olcOverlay=syncprov,{DATABASE}\nchangetype: delete\n\n\
         dn: olcDatabase={{0}}config,cn=config\nchangetype: modify\ndelete: olcSyncRepl\n-\ndelete: olcMirrorMode\n\n\
         dn: olcOverlay=syncprov,olcDatabase={{0}}config,cn=config\nchangetype: delete\n\n\
         dn: cn=config\nchangeType: modify\ndelete: olcServerID\n"
    );
    image.client("ldapmodify", &Credentials::External, &["-c"], &ldif)?;
    Ok(())
}

/// The image does this when its passwords have changed.
fn change_passwords(image: &mut Image) -> Result<(), TestkitError> {
    let (config, root) = (hashed("config two"), hashed("two"));
    image.modify(&format!(
        "dn: cn=config\nchangeType: modify\n\ndn: olcDatabase={{0}}config,cn=config\nreplace: olcRootPW\nolcRootPW: {config}\n\n\
         dn: {DATABASE}\nchangetype: modify\nreplace: olcRootPW\nolcRootPW: {root}\n"
    ))?;
    // The rootdn has no entry here; the image continues.
    let entry = format!("dn: cn=admin,{SUFFIX}\nchangetype: modify\nreplace: userPassword\nuserPassword: {root}");
    image.client("ldapmodify", &Credentials::External, &[], &entry)?;
    image.client("ldapmodify", &admin("two"), &[], &entry)?;
    image.client("ldapwhoami", &admin("installed"), &[], "")?;
    let config = Credentials::Simple {
        dn: "cn=admin,cn=config",
        password: "config two",
    };
    image.client("ldapwhoami", &config, &[], "")?.success()?;
    Ok(())
}

#[test]
fn the_image_comes_up() {
    assert_same_now(|flavor: Flavor| {
        let mut image = debian::installed(flavor, SUFFIX)?;
        image.launch()?;
        add_schema(&mut image)?;
        bootstrap(&mut image)?;
        add_reader(&mut image)?;
        image.add(&format!(
            "dn: uid=billy,{SUFFIX}\nuid: billy\ncn: Billy\nsn: Three\nobjectClass: top\nobjectClass: posixAccount\n\
             objectClass: inetOrgPerson\nobjectClass: ldapPublicKey\nloginShell: /bin/bash\nhomeDirectory: /home/billy\n\
             uidNumber: 14583102\ngidNumber: 14564100\nuserPassword: {}\nmail: billy@example.org\nsshPublicKey: ssh-rsa AAAA\n\n\
             dn: cn=friends,{SUFFIX}\nobjectClass: groupOfUniqueNames\ncn: friends\nuniqueMember: uid=billy,{SUFFIX}\n",
            hashed("billy")
        ))?;
        without_replication(&mut image)?;
        change_passwords(&mut image)?;
        let billy = Credentials::Simple {
            dn: "uid=billy,dc=example,dc=org",
            password: "billy",
        };
        let own = [
            "-b",
            SUFFIX,
            "(memberOf=cn=friends,dc=example,dc=org)",
            "memberOf",
            "mail",
        ];
        image.client("ldapsearch", &billy, &own, "")?;
        image.search(&Credentials::Anonymous, &["-s", "base", "-b", "", "namingContexts"])?;
        let rename = format!("dn: uid=billy,{SUFFIX}\nchangetype: modrdn\nnewrdn: uid=bill\ndeleteoldrdn: 1\n");
        image.client("ldapmodify", &admin("two"), &[], &rename)?.success()?;
        let reader = Credentials::Simple {
            dn: "cn=readonly,dc=example,dc=org",
            password: "reader",
        };
        image.finish(SUFFIX, &reader)
    });
}

#[test]
fn the_image_comes_up_with_rfc2307bis_in_the_place_of_nis() {
    assert_same_now(|flavor: Flavor| {
        let mut image = debian::installed(flavor, SUFFIX)?;
        let schema = Image::schema();
        let layout = image.server.layout();
        let bis = layout.write("rfc2307bis.schema", Image::own_schema("rfc2307bis.schema"))?;
        let files = ["core", "cosine", "inetorgperson"].map(|name| format!("include {schema}/{name}.schema\n"));
        let list = layout.write(
            "rfc2307bis.conf",
            format!("{}include {}\n", files.concat(), bis.display()),
        )?;
        let converted = layout.make_dir("converted")?;
        let arguments = ["-f", list.to_str().unwrap(), "-F", converted.to_str().unwrap()];
        Tool::Test.run(flavor, &arguments, "")?.success()?;
        // The image replaces the files.
        let definitions = format!("{}/cn=config/cn=schema", image.folder);
        std::fs::remove_dir_all(&definitions).unwrap();
        std::fs::rename(converted.join("cn=config/cn=schema"), &definitions).unwrap();
        image.launch()?;
        image.search(
            &Credentials::External,
            &["-b", "cn=schema,cn=config", "-s", "one", "cn"],
        )?;
        let group = format!(
            "dn: cn=group,{SUFFIX}\nobjectClass: groupOfNames\nobjectClass: posixGroup\ncn: group\ngidNumber: 1\n\
             member: cn=admin,{SUFFIX}\n"
        );
        image.client("ldapadd", &admin("installed"), &[], &group)?.success()?;
        image.finish(SUFFIX, &admin("installed"))
    });
}
