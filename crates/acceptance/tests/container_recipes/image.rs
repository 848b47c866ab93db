//! A container: a configuration directory, a database directory, a server, and the record of the steps.

use std::{collections::BTreeMap, fmt::Write as _, os::unix::fs::MetadataExt as _, sync::Mutex};

use ironbark_testkit::{Credentials, Flavor, NormalizedLdif, ProgramOutput, Server, TestkitError, Tool};

/// Attributes that differ from run to run.
const VOLATILE: [&str; 4] = ["entryUUID", "createTimestamp", "modifyTimestamp", "entryCSN"];

pub(crate) struct Image {
    pub(crate) server: Server,
    /// The configuration directory.
    pub(crate) folder: String,
    text: String,
}

impl Image {
    /// Nothing but empty directories.
    pub(crate) fn empty(flavor: Flavor) -> Result<Self, TestkitError> {
        let server = Server::prepare(flavor, Server::PEOPLE_CONFIG)?;
        let folder = server.layout().make_dir("slapd.d")?.display().to_string();
        Ok(Self {
            server: server.from_directory(&folder),
            folder,
            text: String::new(),
        })
    }

    /// The directory of everything.
    pub(crate) fn dir(&self) -> String {
        self.server.layout().path().display().to_string()
    }

    /// Where slapd's own schema files are, which both servers load.
    pub(crate) fn schema() -> String {
        Flavor::OpenLdap.schema_dir().display().to_string()
    }

    /// A schema file that comes with this project.
    pub(crate) fn own_schema(name: &str) -> String {
        let path = Flavor::Ironbark.schema_dir().join(name);
        std::fs::read_to_string(path).unwrap()
    }

    /// The name by which the user that runs the tests is known on the socket.
    pub(crate) fn peer(&self) -> String {
        let owner = std::fs::metadata(self.server.layout().path()).unwrap();
        let (gid, uid) = (owner.gid(), owner.uid());
        format!("gidNumber={gid}+uidNumber={uid},cn=peercred,cn=external,cn=auth")
    }

    /// A tool on the configuration directory.
    pub(crate) fn tool(&mut self, tool: Tool, arguments: &[&str], input: &str) -> Result<ProgramOutput, TestkitError> {
        let arguments = [&["-F", self.folder.as_str()], arguments].concat();
        let outcome = tool.run(self.server.flavor(), &arguments, input)?;
        let name = tool.program_name();
        writeln!(self.text, "{name} {:?}", outcome.code()).unwrap();
        Ok(outcome)
    }

    /// A tool that must succeed.
    pub(crate) fn tool_succeeds(
        &mut self,
        tool: Tool,
        arguments: &[&str],
        input: &str,
    ) -> Result<String, TestkitError> {
        Ok(self.tool(tool, arguments, input)?.success()?.stdout)
    }

    /// Starts the server from the directory.
    pub(crate) fn launch(&mut self) -> Result<(), TestkitError> {
        self.server.launch()
    }

    /// Stops the server and starts it again.
    pub(crate) fn restart(&mut self) -> Result<(), TestkitError> {
        self.server.stop()?;
        self.server.launch()
    }

    /// Runs a client and records its output.
    pub(crate) fn client(
        &mut self,
        program: &str,
        who: &Credentials<'_>,
        arguments: &[&str],
        input: &str,
    ) -> Result<ProgramOutput, TestkitError> {
        let outcome = self.server.client(program, who, arguments, input)?;
        let (shown, told) = (outcome.stdout.trim(), outcome.stderr.trim());
        let shown = if program == "ldapsearch" {
            NormalizedLdif::new(shown).without(&VOLATILE).to_string()
        } else {
            shown.to_owned()
        };
        let arguments = arguments.join(" ");
        writeln!(
            self.text,
            "{program} {arguments} {:?}\n{shown}\n{told}\n",
            outcome.code()
        )
        .unwrap();
        Ok(outcome)
    }

    /// ldapmodify as the user of the machine.
    pub(crate) fn modify(&mut self, ldif: &str) -> Result<(), TestkitError> {
        self.client("ldapmodify", &Credentials::External, &[], ldif)?
            .success()?;
        Ok(())
    }

    /// ldapadd as the user of the machine.
    pub(crate) fn add(&mut self, ldif: &str) -> Result<(), TestkitError> {
        self.client("ldapadd", &Credentials::External, &[], ldif)?.success()?;
        Ok(())
    }

    /// A search that is recorded and must succeed.
    pub(crate) fn search(&mut self, who: &Credentials<'_>, arguments: &[&str]) -> Result<String, TestkitError> {
        Ok(self.client("ldapsearch", who, arguments, "")?.success()?.stdout)
    }

    /// whoami behind StartTLS, of a client that trusts `ca.crt`.
    pub(crate) fn secured_whoami(&mut self, dn: &str, password: &str) -> Result<(), TestkitError> {
        let authority = self.server.layout().join("ca.crt").display().to_string();
        let environment = [("LDAPTLS_CACERT", authority.as_str()), ("LDAPTLS_REQCERT", "demand")];
        let url = self.server.url();
        let arguments = ["-x", "-ZZ", "-H", &url, "-D", dn, "-w", password];
        let outcome = self
            .server
            .client_with("ldapwhoami", &environment, &arguments, "")?
            .success()?;
        writeln!(self.text, "ldapwhoami -ZZ\n{}", outcome.stdout).unwrap();
        Ok(())
    }

    /// Restarts the server and reads the suffix as this identity. Returns the record with the configuration at its end.
    pub(crate) fn finish(mut self, suffix: &str, who: &Credentials<'_>) -> Result<String, TestkitError> {
        self.restart()?;
        self.client("ldapsearch", who, &["-b", suffix, "*", "memberOf"], "")?;
        self.server.stop()?;
        let arguments = ["-n", "0", "-o", "ldif-wrap=no", "-a", "(!(cn=schema))"];
        let exported = self.tool_succeeds(Tool::Cat, &arguments, "")?;
        let configuration = NormalizedLdif::new(&exported).without(&VOLATILE).to_string();
        self.text.push_str(&configuration);
        Ok(self
            .text
            .replace(&self.server.layout().path().display().to_string(), "{dir}"))
    }
}

/// A password as slappasswd stores it; the same for both servers.
pub(crate) fn hashed(password: &str) -> String {
    static HASHED: Mutex<BTreeMap<String, String>> = Mutex::new(BTreeMap::new());
    let mut hashed = HASHED.lock().unwrap();
    let stored = hashed.entry(password.to_owned()).or_insert_with(|| {
        let outcome = Tool::Passwd.run(Flavor::Ironbark, &["-s", password], "").unwrap();
        outcome.success().unwrap().stdout.trim().to_owned()
    });
    stored.clone()
}
