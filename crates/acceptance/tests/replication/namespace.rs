//! A network or a file system that only servers of a test see.

use std::{
    io::{BufRead, BufReader},
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Child, Command, Stdio},
};

use ironbark_testkit::{Flavor, Server};

/// A process that keeps the namespace. Dropping it ends the process.
pub(crate) struct Namespace {
    keeper: Child,
    /// `--net` or `--mount`.
    kind: &'static str,
}

impl Namespace {
    /// A namespace of a kind, in which a shell command has succeeded.
    pub(crate) fn new(kind: &'static str, command: &str) -> Self {
        let script = format!("{command} && echo ready && exec sleep 600");
        let mut keeper = Command::new("unshare")
            .args(["--map-root-user", kind, "sh", "-c", &script])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut said = String::new();
        BufReader::new(keeper.stdout.take().unwrap())
            .read_line(&mut said)
            .unwrap();
        assert_eq!(said, "ready\n");
        Self { keeper, kind }
    }

    /// Runs a shell command in it. Returns whether it succeeded.
    pub(crate) fn run(&self, command: &str) -> bool {
        let [program, arguments @ ..] = self.entering();
        let status = Command::new(program)
            .args(arguments)
            .args(["sh", "-c", command])
            .status();
        status.unwrap().success()
    }

    /// A server of ours that is to run in it. `further` are arguments after the usual ones.
    pub(crate) fn holding(&self, server: Server, further: &str) -> Server {
        let program = Flavor::Ironbark.program().unwrap();
        let script = format!(
            "#!/bin/sh\nexec {} {} slapd \"$@\" {further}\n",
            self.entering().join(" "),
            program.display()
        );
        let path: PathBuf = server.layout().write("server.sh", script).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        server.program(path)
    }

    fn entering(&self) -> [String; 6] {
        let keeper = self.keeper.id().to_string();
        [
            "nsenter",
            "--target",
            &keeper,
            "--user",
            self.kind,
            "--preserve-credentials",
        ]
        .map(str::to_owned)
    }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.keeper.kill();
        let _ = self.keeper.wait();
    }
}
