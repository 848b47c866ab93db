//! vegardit/openldap: Debian's installation, its export reloaded with another schema, then LDIF over the socket.

use ironbark_testkit::{Credentials, TestkitError, Tool, assert_same_now};

use super::{
    debian,
    image::{Image, hashed},
};

const SUFFIX: &str = "dc=example,dc=com";
const DATABASE: &str = "olcDatabase={1}mdb,cn=config";
const ADMINS: &str = "cn=ldap-admins,ou=Groups,dc=example,dc=com";

/// Keys for ssh. They are optional in an entry.
const PUBLIC_KEYS: &str = "dn: cn=openssh-lpk,cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: openssh-lpk\n\
    olcAttributeTypes: ( 1.3.6.1.4.1.24552.500.1.1.1.13\n  NAME 'sshPublicKey'\n  EQUALITY octetStringMatch\n  \
    SYNTAX 1.3.6.1.4.1.1466.115.121.1.40\n  )\n\
    olcObjectClasses: ( 1.3.6.1.4.1.24552.500.1.1.2.0\n  NAME 'ldapPublicKey'\n  SUP top\n  AUXILIARY MAY ( sshPublicKey $ uid )\n  )\n";

fn admin() -> Credentials<'static> {
    Credentials::Simple {
        dn: "uid=admin,dc=example,dc=com",
        password: "changeit",
    }
}

/// The export of the configuration with RFC 2307bis instead of nis, loaded into the emptied directory.
fn exchange_schema(image: &mut Image) -> Result<(), TestkitError> {
    let exported = image.tool_succeeds(Tool::Cat, &["-n", "0"], "")?;
    std::fs::remove_dir_all(&image.folder).unwrap();
    std::fs::create_dir(&image.folder).unwrap();
    let (before, _) = exported.split_once("dn: cn={2}nis,cn=schema,cn=config").unwrap();
    let (_, after) = exported
        .split_once("dn: cn={3}inetorgperson,cn=schema,cn=config")
        .unwrap();
    let other = Image::own_schema("rfc2307bis.ldif").replace("rfc2307bis", "{2}rfc2307bis");
    let text = format!("{before}{other}\n\ndn: cn={{3}}inetorgperson,cn=schema,cn=config{after}");
    image.tool_succeeds(Tool::Add, &["-n", "0"], &text)?;
    Ok(())
}

/// All settings of the frontend and the database.
fn settings(image: &mut Image) -> Result<(), TestkitError> {
    image.modify(
        "version: 1\n\ndn: olcDatabase={-1}frontend,cn=config\nchangetype: modify\nreplace: olcPasswordHash\nolcPasswordHash: {SSHA}\n-\n\
         # a minute\nreplace: olcTimeLimit\nolcTimeLimit: 60\n-\ndelete: olcAccess\nolcAccess: {1}to dn.exact=\"\" by * read\n-\n\
         add: olcAccess\nolcAccess: {1}to dn.exact=\"\"\n  by users read\n  by anonymous auth\n",
    )?;
    image.add(&format!(
        "version: 1\n\ndn: cn=module{{0}},cn=config\nchangetype: modify\nadd: olcModuleLoad\nolcModuleLoad: memberof\n\
         olcModuleLoad: refint\n\n\
         dn: olcOverlay=memberof,{DATABASE}\nobjectClass: top\nobjectClass: olcConfig\nobjectClass: olcOverlayConfig\n\
         objectClass: olcMemberOf\nolcOverlay: memberof\nolcMemberOfDangling: ignore\nolcMemberOfRefInt: TRUE\n\
         olcMemberOfGroupOC: groupOfUniqueNames\nolcMemberOfMemberAD: uniqueMember\nolcMemberOfMemberOfAD: memberOf\n\n\
         dn: olcOverlay=refint,{DATABASE}\nobjectClass: top\nobjectClass: olcConfig\nobjectClass: olcOverlayConfig\n\
         objectClass: olcRefintConfig\nolcOverlay: refint\nolcRefintAttribute: owner\nolcRefintAttribute: manager\n\
         olcRefintAttribute: member\nolcRefintAttribute: memberOf\nolcRefintAttribute: uniqueMember\n"
    ))?;
    let password = hashed("changeit");
    image.modify(&format!(
        "version: 1\n\ndn: {DATABASE}\nchangetype: modify\n####\n# the suffix\n####\nreplace: olcSuffix\nolcSuffix: {SUFFIX}\n-\n\
         ####\n# root\n####\nreplace: olcRootDN\nolcRootDN: uid=admin,{SUFFIX}\n-\nreplace: olcRootPW\nolcRootPW: {password}\n"
    ))?;
    let reset = format!("cn=ldap-password-reset,ou=Groups,{SUFFIX}");
    let group = |name: &str| format!("by group/groupOfUniqueNames/uniqueMember=\"{name}\" write");
    let (admins, resetters) = (group(ADMINS), group(&reset));
    image.modify(&format!(
        "version: 1\n\ndn: {DATABASE}\nchangetype: modify\nreplace: olcAccess\n# in front\nolcAccess: {{0}}to dn.base=\"\"\n  by * read\n\
         olcAccess: {{1}}to attrs=shadowLastChange\n  by self write\n  by users read\n  by * none\n\
         olcAccess: {{2}}to attrs=userPassword\n  by dn=\"uid=admin,{SUFFIX}\" write\n  {admins}\n  {resetters}\n  by self write\n  \
         by anonymous auth\n  by * none\n\
         olcAccess: {{3}}to attrs=sshPublicKey\n  by dn=\"uid=admin,{SUFFIX}\" write\n  {admins}\n  {resetters}\n  by self write\n  \
         by users read\n  by * none\n\
         olcAccess: {{4}}to *\n  by dn=\"uid=admin,{SUFFIX}\" write\n  {admins}\n  by users read\n  by anonymous auth\n  by * none\n"
    ))?;
    image.modify(&format!(
        "version: 1\n\ndn: {DATABASE}\nchangetype: modify\nreplace: olcDbIndex\nolcDbIndex: objectClass pres,eq\n\
         olcDbIndex: uid,mail pres,eq\nolcDbIndex: uidNumber,gidNumber eq\nolcDbIndex: cn,givenName,sn,ou pres,eq,approx,sub\n\
         olcDbIndex: member,memberUid,memberOf,uniqueMember pres,eq\n"
    ))?;
    image.add(&format!(
        "version: 1\n\ndn: cn=module{{0}},cn=config\nchangetype: modify\nadd: olcModuleLoad\nolcModuleLoad: unique\n\n\
         dn: olcOverlay=unique,{DATABASE}\nobjectClass: top\nobjectClass: olcConfig\nobjectClass: olcOverlayConfig\n\
         objectClass: olcUniqueConfig\nolcOverlay: unique\nolcUniqueURI: ldap:///{SUFFIX}?cn?sub\nolcUniqueURI: ldap:///{SUFFIX}?uid?sub\n\
         olcUniqueURI: ldap:///ou=Users,{SUFFIX}?mail?sub\nolcUniqueURI: ldap:///ou=Users,{SUFFIX}?gidNumber?sub\n\
         olcUniqueURI: ldap:///ou=Users,{SUFFIX}?uidNumber?sub\n"
    ))?;
    image.modify(&format!(
        "dn: olcDatabase={{0}}config,cn=config\nchangetype: modify\nadd: olcAccess\nolcAccess: to *\n  by dn=\"uid=admin,{SUFFIX}\" write\n  \
         {admins}\n  by * none\n"
    ))
}

/// The tree, its users and groups, added by the rootdn. The suffix exists already.
fn organization(image: &mut Image) -> Result<(), TestkitError> {
    let unit = |name: &str, above: &str| {
        format!(
            "dn: ou={name},{above}{SUFFIX}\nou: {name}\ndescription: {name}\nobjectClass: top\nobjectClass: organizationalUnit\n\n"
        )
    };
    let tree = [
        unit("Groups", ""),
        unit("Users", ""),
        unit("Internal", "ou=Users,"),
        unit("External", "ou=Users,"),
    ];
    let tree = format!("version: 1\n\n##\n# the tree\n##\n{}", tree.concat());
    image.client("ldapadd", &admin(), &[], &tree)?.success()?;
    let person = |uid: &str, unit: &str, key: &str| {
        format!(
            "##\n# {uid}\n##\ndn: uid={uid},ou={unit},ou=Users,{SUFFIX}\nou: {unit}\nou: Users\nobjectClass: top\n\
             objectClass: inetOrgPerson\nobjectClass: organizationalPerson\nobjectClass: person\n{key}uid: {uid}\ncn: {uid}\nsn: {uid}\n\
             givenName: {uid}\nmail: {uid}@example.com\nuserPassword: changeit\n\n"
        )
    };
    let group = |name: &str, member: &str| {
        format!(
            "dn: cn={name},ou=Groups,{SUFFIX}\nou: Groups\nobjectClass: top\nobjectClass: groupOfUniqueNames\ncn: {name}\n\
             description: {name}\nuniqueMember: {member},ou=Users,{SUFFIX}\n\n"
        )
    };
    let entries = [
        "version: 1\n\n".to_owned(),
        person("employee1", "Internal", "objectClass: ldapPublicKey\n"),
        person("guest1", "External", ""),
        group("ldap-admins", "uid=employee1,ou=Internal"),
        group("guests", "uid=guest1,ou=External"),
    ];
    image.client("ldapadd", &admin(), &[], &entries.concat())?.success()?;
    Ok(())
}

/// The image's changes for a provider and a consumer, except those for synchronization.
fn replication(image: &mut Image) -> Result<(), TestkitError> {
    image.modify(&format!(
        "dn: {DATABASE}\nchangetype: modify\n# before the rules about attributes\nadd: olcAccess\n\
         olcAccess: {{1}}to * by dn.exact=\"uid=replicator,{SUFFIX}\" read by * break\n-\nadd: olcLimits\n\
         olcLimits: dn.exact=\"uid=replicator,{SUFFIX}\" time.soft=unlimited time.hard=unlimited size.soft=unlimited size.hard=unlimited\n-\n\
         add: olcDbIndex\nolcDbIndex: entryCSN,entryUUID eq\n"
    ))?;
    image.modify(&format!(
        "dn: {DATABASE}\nchangetype: modify\nreplace: olcReadOnly\nolcReadOnly: TRUE\n\n\
         dn: olcOverlay={{0}}memberof,{DATABASE}\nchangetype: modify\nreplace: olcMemberOfRefInt\nolcMemberOfRefInt: FALSE\n"
    ))
}

#[test]
fn the_image_comes_up() {
    assert_same_now(|flavor| -> Result<String, TestkitError> {
        let mut image = debian::installed(flavor, SUFFIX)?;
        exchange_schema(&mut image)?;
        image.launch()?;
        for schema in [&Image::own_schema("sudo.ldif"), PUBLIC_KEYS] {
            image.add(schema)?;
        }
        settings(&mut image)?;
        organization(&mut image)?;
        let employee = Credentials::Simple {
            dn: "uid=employee1,ou=Internal,ou=Users,dc=example,dc=com",
            password: "changeit",
        };
        let guest = Credentials::Simple {
            dn: "uid=guest1,ou=External,ou=Users,dc=example,dc=com",
            password: "changeit",
        };
        let change = |value: &str| {
            format!(
                "dn: uid=guest1,ou=External,ou=Users,{SUFFIX}\nchangetype: modify\nreplace: title\ntitle: {value}\n"
            )
        };
        for who in [&employee, &guest, &Credentials::Anonymous] {
            image.client("ldapmodify", who, &[], &change("one"))?;
            image.client("ldapsearch", who, &["-b", SUFFIX, "(ou=Intern*)", "1.1"], "")?;
            image.client("ldapsearch", who, &["-s", "base", "-b", "", "namingContexts"], "")?;
            image.client("ldapsearch", who, &["-b", DATABASE, "-s", "base", "olcSuffix"], "")?;
        }
        replication(&mut image)?;
        image.client("ldapmodify", &employee, &[], &change("two"))?;
        image.finish(SUFFIX, &employee)
    });
}
