//! The program that runs beside a server.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Child, Command},
};

use ironbark_testkit::{Server, wait::until};

/// `program.py`, while it runs.
pub(crate) struct Program {
    child: Child,
    notes: PathBuf,
}

impl Program {
    /// Starts it where the configuration of `server` has the socket, with answers as `program.py` reads them.
    pub(crate) fn start(server: &Server, replies: &[(&str, &str)]) -> Self {
        let place = |name: &str| server.layout().join(name);
        let blocks = replies
            .iter()
            .map(|(request, answer)| format!("{request}\n{answer}\n===\n"));
        fs::write(place("replies"), blocks.collect::<String>()).unwrap();
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sock/program.py");
        Self::run(server, &script, &[place("notes"), place("replies")])
    }

    /// Starts another one, which listens at its first argument.
    pub(crate) fn run(server: &Server, script: &Path, arguments: &[PathBuf]) -> Self {
        let socket = server.layout().join("program.sock");
        let child = Command::new("/usr/bin/python3")
            .arg("-B")
            .arg(script)
            .arg(&socket)
            .args(arguments)
            .spawn()
            .unwrap();
        until(|| socket.exists().then_some(())).unwrap();
        Self {
            child,
            notes: server.layout().join("notes"),
        }
    }

    /// What it has noted since the last call, once the text `last` is there.
    pub(crate) fn notes_with(&self, last: &str) -> String {
        let found = until(|| {
            let text = fs::read_to_string(&self.notes).unwrap_or_default();
            text.contains(last).then_some(text)
        });
        let text = found.unwrap_or_else(|| panic!("{last:?} never came: {:?}", fs::read_to_string(&self.notes)));
        fs::write(&self.notes, "").unwrap();
        text
    }
}

impl Program {
    /// What it has noted since the last call of [`Program::notes_with`].
    pub(crate) fn notes(&self) -> String {
        fs::read_to_string(&self.notes).unwrap_or_default()
    }

    /// Its process.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
