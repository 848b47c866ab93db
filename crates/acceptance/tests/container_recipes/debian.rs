//! The state after the installation of Debian's package. Several images start from it.

use ironbark_testkit::{Flavor, TestkitError, Tool};

use super::image::{Image, hashed};

/// An image with the package's configuration for this suffix (a `dc`), and the suffix entry. The server does not run
/// yet.
pub(crate) fn installed(flavor: Flavor, suffix: &str) -> Result<Image, TestkitError> {
    let mut image = Image::empty(flavor)?;
    let (dir, schema, peer) = (image.dir(), Image::schema(), image.peer());
    let password = hashed("installed");
    let configuration = format!(
        "dn: cn=config\nobjectClass: olcGlobal\ncn: config\n# a comment of two\n# lines\nolcPidFile: {dir}/slapd.pid\n\
         olcArgsFile: {dir}/slapd.args\nolcLogLevel: none\nolcToolThreads: 1\n\n\
         # front\ndn: olcDatabase={{-1}}frontend,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcFrontendConfig\n\
         olcDatabase: {{-1}}frontend\nolcSizeLimit: 500\nolcAccess: {{0}}to * by dn.exact={peer} manage by * break\n\
         olcAccess: {{1}}to dn.exact=\"\" by * read\nolcAccess: {{2}}to dn.base=\"cn=Subschema\" by * read\n\n\
         dn: olcDatabase=config,cn=config\nobjectClass: olcDatabaseConfig\nolcDatabase: config\n\
         olcAccess: to * by dn.exact={peer} manage by * break\nolcRootDN: cn=admin,cn=config\n\n\
         dn: cn=schema,cn=config\nobjectClass: olcSchemaConfig\ncn: schema\n\n\
         include: file://{schema}/core.ldif\ninclude: file://{schema}/cosine.ldif\ninclude: file://{schema}/nis.ldif\n\
         include: file://{schema}/inetorgperson.ldif\n\n\
         dn: cn=module{{0}},cn=config\nobjectClass: olcModuleList\ncn: module{{0}}\nolcModulePath: /usr/lib/ldap\n\
         olcModuleLoad: back_mdb\n\n\
         dn: olcDatabase=mdb,cn=config\nobjectClass: olcDatabaseConfig\nobjectClass: olcMdbConfig\nolcDatabase: mdb\n\
         olcDbMaxSize: 1073741824\nolcDbCheckpoint: 512 30\nolcLastMod: TRUE\nolcSuffix: {suffix}\nolcDbDirectory: {dir}/db\n\
         olcRootDN: cn=admin,{suffix}\nolcRootPW: {password}\nolcDbIndex: objectClass eq\nolcDbIndex: cn,uid eq\n\
         olcDbIndex: uidNumber,gidNumber eq\nolcDbIndex: member,memberUid eq\n\
         olcAccess: to attrs=userPassword\n  by self write\n  by anonymous auth\n  by * none\n\
         olcAccess: to attrs=shadowLastChange\n  by self write\n  by * read\nolcAccess: to *\n  by * read\n"
    );
    image.tool_succeeds(Tool::Add, &["-b", "cn=config"], &configuration)?;
    let domain = suffix
        .split(',')
        .next()
        .and_then(|rdn| rdn.strip_prefix("dc="))
        .unwrap();
    let top = format!(
        "dn: {suffix}\nobjectClass: top\nobjectClass: dcObject\nobjectClass: organization\no: Example\ndc: {domain}\n"
    );
    image.tool_succeeds(Tool::Add, &["-b", suffix], &top)?;
    Ok(image)
}
