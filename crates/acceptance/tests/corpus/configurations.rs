//! Configurations, as slapd.conf and as LDIF for cn=config.

use std::fmt::Write as _;

use ironbark_testkit::{CertificateAuthority, Credentials, Flavor, Layout, NormalizedLdif, Server, Tool};

use super::{Checked, CorpusFile, SUFFIX, assert_alike, check_all, corpus, empty, exported, files, filled};

#[test]
fn either_server_starts_with_it_and_with_what_the_other_made_of_it() {
    check_all("configurations", check);
}

fn check(file: &CorpusFile) -> Checked {
    let case = Case::new(file)?;
    for flavor in Flavor::ALL {
        case.is_answered(flavor)?;
    }
    if file.is_refused_by(Flavor::OpenLdap) {
        return Ok(());
    }
    let first = case.served(Flavor::Ironbark, &case.source(Flavor::Ironbark), ENTRIES)?;
    case.convert(Flavor::Ironbark)?;
    let second = case.served(Flavor::OpenLdap, &["-F", &case.our_folder], &first.export)?;
    assert_alike(
        "slapd exports what ours has exported",
        &second.export,
        &first.export,
        &[],
    )?;
    assert_alike("slapd answers from our slapd.d", &second.answers, &first.answers, &[])?;

    let third = case.loaded(Flavor::OpenLdap, &case.source(Flavor::OpenLdap), ENTRIES)?;
    assert_alike("both export the same", &third, &first.export, &NormalizedLdif::VOLATILE)?;
    case.convert(Flavor::OpenLdap)?;
    let fourth = case.served(Flavor::Ironbark, &["-F", &case.their_folder], &third)?;
    assert_alike("ours exports what slapd has exported", &third, &fourth.export, &[])?;
    assert_alike(
        "ours answers from slapd's slapd.d",
        &second.answers,
        &fourth.answers,
        &[],
    )?;

    for folder in [&case.our_folder, &case.their_folder] {
        let [theirs, ours] = Flavor::ALL.map(|flavor| exported(flavor, &["-F", folder], &["-n", "0"]));
        let what = format!("both read {folder}");
        assert_alike(&what, &theirs?, &ours?, &VOLATILE_SETTINGS)?;
    }
    Ok(())
}

/// A configuration in a folder of its own.
struct Case<'a> {
    file: &'a CorpusFile,
    layout: Layout,
    path: String,
    their_folder: String,
    our_folder: String,
}

/// What a server with a configuration has.
struct Served {
    export: String,
    answers: String,
}

impl<'a> Case<'a> {
    fn new(file: &'a CorpusFile) -> Checked<Self> {
        let layout = Layout::new()?;
        layout.make_dir("run")?;
        layout.make_dir("included")?;
        for included in files(&corpus().join("configurations/included")) {
            layout.write(
                &format!("included/{}", included.name),
                filled(&layout, &included.content),
            )?;
        }
        let mut authority = CertificateAuthority::new("corpus")?;
        layout.write("ca.crt", authority.certificate())?;
        authority.server()?.write(&layout, "server")?;
        empty(&layout, &DATABASES)?;
        let path = file.write(&layout)?;
        let folder =
            |flavor: Flavor| -> Checked<String> { Ok(layout.make_dir(&format!("{flavor}.d"))?.display().to_string()) };
        let (their_folder, our_folder) = (folder(Flavor::OpenLdap)?, folder(Flavor::Ironbark)?);
        Ok(Self {
            file,
            layout,
            path,
            their_folder,
            our_folder,
        })
    }

    /// A server takes the configuration, or refuses it as it should. LDIF becomes the server's configuration directory.
    fn is_answered(&self, flavor: Flavor) -> Checked {
        let outcome = if self.file.is_ldif() {
            Tool::Add.run(flavor, &["-F", self.folder(flavor), "-n", "0", "-l", &self.path], "")?
        } else {
            Tool::Test.run(flavor, &["-u", "-f", &self.path], "")?
        };
        outcome.expect_code(self.file.is_refused_by(flavor).into())?;
        Ok(())
    }

    /// The arguments by which a server's tools find the configuration.
    fn source(&self, flavor: Flavor) -> [&str; 2] {
        if self.file.is_ldif() {
            ["-F", self.folder(flavor)]
        } else {
            ["-f", &self.path]
        }
    }

    /// Makes a server's configuration directory of a slapd.conf. Both tell of databases that are empty, afterwards.
    fn convert(&self, flavor: Flavor) -> Checked {
        if !self.file.is_ldif() {
            let arguments = ["-f", &self.path, "-F", self.folder(flavor)];
            Tool::Test.run(flavor, &arguments, "")?;
        }
        Ok(())
    }

    fn folder(&self, flavor: Flavor) -> &str {
        match flavor {
            Flavor::OpenLdap => &self.their_folder,
            Flavor::Ironbark => &self.our_folder,
        }
    }

    /// Fills empty databases, and exports the entries.
    fn loaded(&self, flavor: Flavor, source: &[&str], entries: &str) -> Checked<String> {
        empty(&self.layout, &DATABASES)?;
        let data = self.layout.write("entries.ldif", entries)?.display().to_string();
        let arguments = [source, &SUFFIX, &["-l", &data]].concat();
        Tool::Add.run(flavor, &arguments, "")?.success()?;
        exported(flavor, source, &SUFFIX)
    }

    /// The same, and what the server answers.
    fn served(&self, flavor: Flavor, source: &[&str], entries: &str) -> Checked<Served> {
        let export = self.loaded(flavor, source, entries)?;
        let server = Server::prepare(flavor, "")?;
        let mut server = match source {
            ["-F", folder] => server.from_directory(folder),
            _ => server.from_file(&self.path),
        };
        server.launch()?;
        let reader = Credentials::Simple {
            dn: "cn=reader,ou=people,dc=example,dc=com",
            password: "secret",
        };
        let mut answers = String::new();
        for (who, credentials) in [("anonymous", &Credentials::Anonymous), ("reader", &reader)] {
            for base in [&["-b", "dc=example,dc=com"][..], &["-s", "base", "namingContexts"]] {
                let outcome = server.client("ldapsearch", credentials, base, "")?;
                let found = NormalizedLdif::new(&outcome.stdout).without(&NormalizedLdif::VOLATILE);
                let code = outcome.code();
                writeln!(answers, "dn: {who} {base:?}\ncode: {code:?}\n\n{}", found.sorted())?;
            }
        }
        server.stop()?;
        Ok(Served { export, answers })
    }
}

const DATABASES: [&str; 3] = ["db", "db2", "log"];

/// What every server makes for itself.
const VOLATILE_SETTINGS: [&str; 6] = [
    "entryUUID",
    "entryCSN",
    "createTimestamp",
    "modifyTimestamp",
    "contextCSN",
    "olcConfigDir",
];

/// Entries of the classes that every configuration has.
const ENTRIES: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=people,dc=example,dc=com
objectClass: organizationalUnit
ou: people

dn: cn=reader,ou=people,dc=example,dc=com
objectClass: person
cn: reader
sn: Reader
userPassword: secret
telephoneNumber: +1 555 0100

dn: ou=groups,dc=example,dc=com
objectClass: organizationalUnit
ou: groups

dn: cn=staff,ou=groups,dc=example,dc=com
objectClass: groupOfNames
cn: staff
member: cn=reader,ou=people,dc=example,dc=com
";
