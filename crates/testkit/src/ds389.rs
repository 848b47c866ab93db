//! A 389 Directory Server for tests, of Debian's 389-ds-base.

use std::{
    fmt::Write,
    fs,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use crate::{Layout, ProgramOutput, TestkitError, binary::installed, command, server::free_port, wait};

/// A 389 Directory Server with an empty database `dc=example,dc=com` and a change log with unique IDs. It listens on a
/// loopback port, with its files in a directory of its own. Dropping it ends its own process.
#[derive(Debug)]
pub struct Ds389 {
    layout: Layout,
    port: u16,
    process: Option<Child>,
}

const TEMPLATE: &str = "/usr/share/dirsrv/data/template-dse.ldif";
const SCHEMA: &str = "/etc/dirsrv/schema/99user.ldif";
const LOG: &str = "dn: cn=Retro Changelog Plugin,cn=plugins,cn=config\n";
/// SSHA512 of `secret`.
const PASSWORD: &str = "{SSHA512}iWwx8naQWtJKIoYOgnIUnOjDVRc/KB/avnmg7rvibFhiLlylVmd8s/TomzyGqQwBOpJzU5z2YBupYIJWW8egvDEy\
                        MzQ1Njc4";
const DATABASE: &str = "dn: cn=userRoot,cn=ldbm database,cn=plugins,cn=config\nobjectClass: extensibleObject\n\
    objectClass: nsBackendInstance\ncn: userRoot\nnsslapd-suffix: dc=example,dc=com\n\n\
    dn: cn=\"dc=example,dc=com\",cn=mapping tree,cn=config\nobjectClass: extensibleObject\n\
    objectClass: nsMappingTree\ncn: dc=example,dc=com\nnsslapd-state: backend\nnsslapd-backend: userRoot\n";

impl Ds389 {
    /// The name that may do everything. Its password is `secret`.
    pub const ROOT: &str = "cn=Directory Manager";

    /// Starts a server.
    pub fn start() -> Result<Self, TestkitError> {
        let mut server = Self {
            layout: Layout::new()?,
            port: free_port()?,
            process: None,
        };
        server.write_files()?;
        server.launch()?;
        server.client("ldapadd", &[], DATABASE)?.success()?;
        Ok(server)
    }

    fn write_files(&self) -> Result<(), TestkitError> {
        let template =
            fs::read_to_string(installed(TEMPLATE)?).map_err(TestkitError::io("cannot read the template"))?;
        let mut parts = template.split('%');
        let mut text = parts.next().unwrap_or_default().to_owned();
        while let (Some(name), Some(rest)) = (parts.next(), parts.next()) {
            self.write_value(&mut text, name)?;
            text.push_str(rest);
        }
        let with_log = format!("{LOG}nsslapd-attribute: nsuniqueid:targetUniqueId\n");
        let (before, plugin) = text.split_once(LOG).unwrap_or((&text, ""));
        let plugin = plugin.replacen("nsslapd-pluginenabled: off", "nsslapd-pluginenabled: on", 1);
        let text = format!("{before}{with_log}{plugin}");
        let settings = "nsslapd-listenhost: 127.0.0.1\nnsslapd-rootpwstoragescheme: SSHA512\nnsslapd-port:";
        self.layout
            .write("dse.ldif", text.replacen("nsslapd-port:", settings, 1))?;
        let schema = fs::read(installed(SCHEMA)?).map_err(TestkitError::io("cannot read the schema"))?;
        self.layout.write("schema/99user.ldif", schema).map(|_| ())
    }

    /// Writes the value of a variable of the template.
    fn write_value(&self, text: &mut String, name: &str) -> Result<(), TestkitError> {
        let value = match name {
            "fqdn" => "localhost".to_owned(),
            "ds_port" => self.port.to_string(),
            "ds_user" => nix::unistd::User::from_uid(nix::unistd::geteuid())
                .ok()
                .flatten()
                .map_or_else(|| "nobody".to_owned(), |user| user.name),
            "rootdn" => Self::ROOT.to_owned(),
            "ds_passwd" => PASSWORD.to_owned(),
            "ldapi_enabled" | "ldapi_autobind" => "off".to_owned(),
            "ds_suffix" => "dc=example,dc=com".to_owned(),
            "db_lib" => "bdb".to_owned(),
            "config_dir" => "/etc/dirsrv/config".to_owned(),
            "db_home_dir" => self.layout.join("db").display().to_string(),
            _ => match name.strip_suffix("_dir") {
                Some(directory) => self.layout.make_dir(directory)?.display().to_string(),
                None => self.layout.join(name).display().to_string(),
            },
        };
        text.write_str(&value)
            .map_err(|_| TestkitError::io("cannot fill the template")(std::io::Error::other("no memory")))
    }

    /// Starts the process, and waits until it answers.
    pub fn launch(&mut self) -> Result<(), TestkitError> {
        let mut command = Command::new(installed("/usr/sbin/ns-slapd")?);
        command
            .env_clear()
            .env("LC_ALL", "C.UTF-8")
            .env("PATH", "/usr/sbin:/usr/bin");
        let pid = self.layout.join("pid");
        command
            .arg("-D")
            .arg(self.layout.path())
            .args(["-d", "0", "-i"])
            .arg(pid);
        let output = |name| {
            let made = fs::OpenOptions::new()
                .create(true)
                .append(true)
                .open(self.layout.join(name));
            made.map_err(TestkitError::io("cannot write the output"))
        };
        command
            .stdin(Stdio::null())
            .stdout(output("output")?)
            .stderr(output("output")?);
        self.process = Some(command.spawn().map_err(TestkitError::io("cannot run ns-slapd"))?);
        let arguments = ["-b", "", "-s", "base", "1.1"];
        let answers = wait::until(|| {
            let outcome = self.client("ldapsearch", &arguments, "").ok()?;
            (outcome.code() == Some(0)).then_some(())
        });
        answers.ok_or_else(|| TestkitError::Deadline {
            what: "an answer of ns-slapd".to_owned(),
            seconds: wait::DEADLINE.as_secs(),
            log: self.layout.read("output").unwrap_or_default(),
        })
    }

    /// Ends the process, and starts another. 389 takes in roles and definitions of Class of Service after the answer to
    /// the change, and may keep values for an entry that were asked for meanwhile. A new process has them all at once.
    pub fn restart(&mut self) -> Result<(), TestkitError> {
        self.kill()?;
        self.launch()
    }

    /// Kills the process, and waits for its end.
    pub fn kill(&mut self) -> Result<(), TestkitError> {
        let Some(mut process) = self.process.take() else {
            return Ok(());
        };
        process.kill().map_err(TestkitError::io("cannot kill ns-slapd"))?;
        process.wait().map_err(TestkitError::io("cannot wait for ns-slapd"))?;
        Ok(())
    }

    /// Exports the database as LDIF to a new file. `options` are those of `db2ldif`. The server may run, unless `-r` is
    /// among them.
    pub fn export(&self, name: &str, options: &[&str]) -> Result<PathBuf, TestkitError> {
        let file = self.layout.join(name);
        let mut command = Command::new(installed("/usr/sbin/ns-slapd")?);
        command.env_clear().env("LC_ALL", "C.UTF-8");
        command.args(["db2ldif", "-D"]).arg(self.layout.path());
        command.args(["-n", "userRoot"]).args(options).arg("-a").arg(&file);
        command::run(&mut command, b"")?.success()?;
        Ok(file)
    }

    /// A file of its configuration: `dse.ldif`, or the folder `schema`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.layout.join(name)
    }

    /// Its `ldap://` URL.
    pub fn url(&self) -> String {
        format!("ldap://127.0.0.1:{}", self.port)
    }

    /// Runs a program of ldap-utils against this server, as [`Ds389::ROOT`]. ldapsearch gets `-LLL` and does not fold
    /// its lines.
    pub fn client(&self, program: &str, arguments: &[&str], input: &str) -> Result<ProgramOutput, TestkitError> {
        let mut command = Command::new(installed(&format!("/usr/bin/{program}"))?);
        command.env_clear().env("LDAPNOINIT", "1").env("LC_ALL", "C");
        command.args(["-x", "-H", &self.url(), "-D", Self::ROOT, "-w", "secret"]);
        if program == "ldapsearch" {
            command.args(["-LLL", "-o", "ldif-wrap=no"]);
        }
        command::run(command.args(arguments), input.as_bytes())
    }
}

impl Drop for Ds389 {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.kill();
    }
}
