//! A server whose accounts have directories.

use std::{
    cell::Cell,
    fs,
    os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt, symlink},
    path::{Path, PathBuf},
};

use ironbark_testkit::{Flavor, ProgramOutput, Server, TestkitError, wait};
use nix::unistd::{Uid, getgid, getuid};

pub(crate) const BASE: &str = "dc=example,dc=com";

const DATA: &str = "\
dn: dc=example,dc=com
objectClass: dcObject
objectClass: organization
dc: example
o: Example

dn: ou=People,dc=example,dc=com
objectClass: organizationalUnit
";

/// The lines of the overlay. Accounts have the IDs of the test.
pub(crate) fn configuration(lines: &str) -> String {
    let global = "include {schema}/nis.schema\nmoduleload homedir";
    let overlay = format!(
        "overlay homedir\nhomedir-min-uidnumber {}\nhomedir-skeleton-path {{dir}}/skel\n\
         homedir-regexp ^(/homes/.+)$ {{dir}}$1\nhomedir-archive-path {{dir}}/archive\n{lines}",
        getuid()
    );
    Server::people_config(global, &overlay)
}

pub(crate) struct Site {
    pub(crate) server: Server,
    settled: Cell<u32>,
}

impl Site {
    pub(crate) fn start(flavor: Flavor, configuration: &str) -> Result<Self, TestkitError> {
        Self::start_with(flavor, configuration, Some(DATA))
    }

    /// Ours, without an entry.
    pub(crate) fn start_empty(configuration: &str) -> Self {
        Self::start_with(Flavor::Ironbark, configuration, None).unwrap()
    }

    fn start_with(flavor: Flavor, configuration: &str, data: Option<&str>) -> Result<Self, TestkitError> {
        let mut server = Server::prepare(flavor, configuration)?;
        let skeleton = server.layout().make_dir("skel")?;
        server.layout().make_dir("homes")?;
        server.layout().make_dir("archive")?;
        fill(&skeleton);
        if let Some(data) = data {
            server.slapadd(data)?;
        }
        server.launch()?;
        Ok(Self {
            server,
            settled: Cell::new(0),
        })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.server.layout().join(name)
    }

    /// Adds an account with the IDs of the test.
    pub(crate) fn add(&self, name: &str, home: &str) -> ProgramOutput {
        self.add_with(name, home, getuid().as_raw(), getgid().as_raw())
    }

    pub(crate) fn add_with(&self, name: &str, home: &str, uid: u32, gid: u32) -> ProgramOutput {
        let ldif = format!(
            "dn: uid={name},ou=People,{BASE}\nobjectClass: account\nobjectClass: posixAccount\ncn: {name}\n\
             homeDirectory: {home}\nuidNumber: {uid}\ngidNumber: {gid}\nuserPassword: secret\n"
        );
        self.server.ldapadd(&ldif).unwrap()
    }

    pub(crate) fn modify(&self, name: &str, change: &str) -> ProgramOutput {
        let ldif = format!("dn: uid={name},ou=People,{BASE}\nchangetype: modify\n{change}\n");
        self.server.ldapmodify(&ldif).unwrap()
    }

    pub(crate) fn delete(&self, name: &str) -> ProgramOutput {
        let ldif = format!("dn: uid={name},ou=People,{BASE}\nchangetype: delete\n");
        self.server.ldapmodify(&ldif).unwrap()
    }

    /// The work is done behind the answers, in their order: waits until what comes now is done.
    pub(crate) fn settle(&self) {
        let name = format!("last{}", self.settled.replace(self.settled.get() + 1));
        self.add(&name, &format!("/homes/{name}"));
        let path = self.path(&format!("homes/{name}"));
        wait::until(|| path.exists().then_some(())).unwrap();
    }

    /// Everything below a directory: path, mode, owner if it is another than the test's, content.
    pub(crate) fn listing(&self, folder: &str) -> String {
        let mut lines = Vec::new();
        list(&self.path(folder), folder, &mut lines);
        lines.sort();
        lines.join("\n")
    }
}

/// A skeleton with all that there may be.
fn fill(skeleton: &Path) {
    let set_mode = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    fs::write(skeleton.join(".profile"), "umask 027\n").unwrap();
    set_mode(&skeleton.join(".profile"), 0o640);
    fs::create_dir_all(skeleton.join("public/www")).unwrap();
    set_mode(&skeleton.join("public"), 0o2751);
    fs::write(skeleton.join("public/www/index.html"), "hello").unwrap();
    symlink("../../.profile", skeleton.join("public/www/link")).unwrap();
    symlink("/etc/passwd", skeleton.join("far")).unwrap();
    nix::unistd::mkfifo(&skeleton.join("pipe"), nix::sys::stat::Mode::from_bits_truncate(0o600)).unwrap();
    set_mode(skeleton, 0o710);
}

fn list(path: &Path, name: &str, lines: &mut Vec<String>) {
    let found = fs::symlink_metadata(path).unwrap();
    let owner = if Uid::from_raw(found.uid()) == getuid() {
        String::new()
    } else {
        format!(" of {}:{}", found.uid(), found.gid())
    };
    let content = if found.is_symlink() {
        format!(" -> {}", fs::read_link(path).unwrap().display())
    } else if found.is_file() {
        format!(" {:?}", fs::read_to_string(path).unwrap())
    } else if found.file_type().is_fifo() {
        " |".to_owned()
    } else {
        "/".to_owned()
    };
    lines.push(format!("{name} {:o}{owner}{content}", found.mode() & 0o7777));
    if found.is_dir() {
        for entry in fs::read_dir(path).unwrap() {
            let entry = entry.unwrap();
            let name = format!("{name}/{}", entry.file_name().to_string_lossy());
            list(&entry.path(), &name, lines);
        }
    }
}
