//! A folder in which the commands of a page run, with the programs that the page has.

use std::{
    fs::{self, File},
    os::unix::fs::symlink,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use ironbark_testkit::{Flavor, Layout, wait};
use nix::{
    sys::signal::{Signal, kill},
    unistd::Pid,
};

use super::page::Block;

/// A folder with the programs `ironbark`, `slapd`, `slapadd` and so on. The LDAP clients are the machine's.
pub(crate) struct Sandbox {
    pub(crate) layout: Layout,
    path: String,
}

/// What a shell has done.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// A program that goes on until it is dropped.
pub(crate) struct Running {
    child: Child,
    output: PathBuf,
}

/// A server that has detached itself, and is ended when this is dropped.
pub(crate) struct Detached(PathBuf);

/// The names of OpenLDAP's programs.
const TOOLS: [&str; 11] = [
    "slapd",
    "slapacl",
    "slapadd",
    "slapauth",
    "slapcat",
    "slapdn",
    "slapindex",
    "slapmodify",
    "slappasswd",
    "slapschema",
    "slaptest",
];

impl Sandbox {
    /// All names are our program.
    pub(crate) fn new() -> Self {
        let sandbox = Self::with_slapd();
        for tool in TOOLS {
            symlink("ironbark", sandbox.layout.join("bin").join(tool)).unwrap();
        }
        sandbox
    }

    /// The names of OpenLDAP's programs are those of Debian's slapd.
    pub(crate) fn with_slapd() -> Self {
        let layout = Layout::new().unwrap();
        let bin = layout.make_dir("bin").unwrap();
        symlink(Flavor::Ironbark.program().unwrap(), bin.join("ironbark")).unwrap();
        let path = format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", bin.display());
        Self { layout, path }
    }

    /// Writes a file, in which `{dir}` is the folder.
    pub(crate) fn write(&self, name: &str, text: &str) -> PathBuf {
        let path = self.layout.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text.replace("{dir}", &self.folder())).unwrap();
        path
    }

    /// Its path.
    pub(crate) fn folder(&self) -> String {
        self.layout.path().display().to_string()
    }

    /// Runs commands as the lines of a shell in the folder, until one of them fails.
    pub(crate) fn run(&self, commands: &Block) -> Done {
        self.shell(&commands.text)
    }

    /// The same; they must succeed.
    #[track_caller]
    pub(crate) fn succeed(&self, commands: &Block) -> Done {
        let done = self.run(commands);
        assert_eq!(done.code, Some(0), "{}: {commands:?}\n{done:?}", commands.place);
        done
    }

    /// Runs a text as a shell does.
    pub(crate) fn shell(&self, text: &str) -> Done {
        // A server that detaches itself may keep these: a pipe would not end then.
        let (stdout, stderr) = (self.layout.join("stdout"), self.layout.join("stderr"));
        let status = self
            .command(text)
            .stdout(File::create(&stdout).unwrap())
            .stderr(File::create(&stderr).unwrap())
            .status()
            .unwrap();
        let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap()).into_owned();
        Done {
            code: status.code(),
            stdout: read(stdout),
            stderr: read(stderr),
        }
    }

    /// Starts a command that does not end by itself.
    pub(crate) fn start(&self, command: &str) -> Running {
        let output = self.layout.join("running");
        let file = File::create(&output).unwrap();
        let child = self
            .command(&format!("exec {}", command.trim()))
            .stdout(file.try_clone().unwrap())
            .stderr(file)
            .spawn()
            .unwrap();
        Running { child, output }
    }

    fn command(&self, text: &str) -> Command {
        let mut command = Command::new("/bin/bash");
        command
            .args(["--noprofile", "--norc", "-eu", "-o", "pipefail", "-c", text])
            .current_dir(self.layout.path())
            .env_clear()
            .env("PATH", &self.path)
            .env("HOME", self.layout.path())
            .env("LC_ALL", "C.UTF-8")
            .env("LDAPCONF", "/dev/null")
            .stdin(Stdio::null());
        command
    }

    /// The server that has written this file, to be ended at the end of the test.
    pub(crate) fn detached(&self, pid_file: &str) -> Detached {
        Detached(self.layout.join(pid_file))
    }
}

impl Running {
    /// Its output, when it has this text.
    #[track_caller]
    pub(crate) fn wait_for(&self, text: &str) -> String {
        let read = || fs::read_to_string(&self.output).unwrap_or_default();
        let found = wait::until(|| Some(read()).filter(|shown| shown.contains(text)));
        found.unwrap_or_else(|| panic!("{text:?} did not come:\n{}", read()))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Drop for Detached {
    fn drop(&mut self) {
        let pid = fs::read_to_string(&self.0).unwrap_or_default();
        if let Ok(pid) = pid.trim().parse() {
            let _ = kill(Pid::from_raw(pid), Signal::SIGTERM);
            // The server removes its file last.
            wait::until(|| (!self.0.exists()).then_some(()));
        }
    }
}
