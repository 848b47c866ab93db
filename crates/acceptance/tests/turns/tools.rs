//! Tools on the database, beside the server or alone.

use std::{
    collections::BTreeSet,
    io::Write as _,
    os::unix::process::CommandExt as _,
    process::{Command, Stdio},
};

use ironbark_testkit::{Flavor, ProgramOutput, Tool, wait};

use crate::turns::{
    change::{Change, ldif_entry},
    model::Model,
    site::Site,
};

impl Site {
    fn tool(&self, tool: Tool, arguments: &[&str], input: &str) -> ProgramOutput {
        self.server.tool(tool, arguments, input).unwrap()
    }

    /// slapmodify with these changes; what is there after them if this was there before. With `goes_on` it passes over
    /// what is refused.
    pub(crate) fn slapmodify(&self, changes: &[Change], goes_on: bool, before: &Model) -> Model {
        let mut after = before.clone();
        let mut is_refused = false;
        for change in changes {
            is_refused |= after.make(change).is_err();
            if is_refused && !goes_on {
                break;
            }
        }
        let outcome = self.tool(Tool::Modify, if goes_on { &["-c"] } else { &[] }, &records(changes));
        outcome.expect_code(i32::from(is_refused)).unwrap();
        after
    }

    /// slapadd with these entries, likewise. Alone, it adds all of them or none.
    pub(crate) fn slapadd(&self, entries: &[(u8, BTreeSet<u8>)], goes_on: bool, before: &Model) -> Model {
        let mut after = before.clone();
        let mut is_refused = false;
        for (entry, values) in entries {
            let (entry, values) = (*entry, values.clone());
            is_refused |= after.make(&Change::Add { entry, values }).is_err();
            if is_refused && !goes_on {
                if !self.is_running() {
                    after = before.clone();
                }
                break;
            }
        }
        let input: String = entries
            .iter()
            .map(|(entry, values)| ldif_entry(*entry, values))
            .collect();
        let outcome = self.tool(Tool::Add, if goes_on { &["-c"] } else { &[] }, &input);
        outcome.expect_code(i32::from(is_refused)).unwrap();
        after
    }

    /// A dry run: it changes nothing, whatever it says.
    pub(crate) fn dry_run(&self, changes: &[Change]) {
        self.tool(Tool::Modify, &["-u", "-c"], &records(changes));
    }

    pub(crate) fn slapindex(&self) {
        self.tool(Tool::Index, &[], "").success().unwrap();
    }

    /// slapmodify that is killed after it has read about half of these changes.
    pub(crate) fn killed_slapmodify(&self, changes: &[Change]) {
        let mut command = Command::new(Flavor::Ironbark.program().unwrap());
        command.arg0("slapmodify").arg("-f").arg(self.server.config_path());
        let mut child = command.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let records = records(changes);
        let (first, _) = records.split_at(records.len() / 2);
        child.stdin.as_mut().unwrap().write_all(first.as_bytes()).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
    }

    /// Waits until the server has done what tools have sent it.
    pub(crate) fn wait_for_tools(&self) {
        let threads = format!("/proc/{}/task", self.server.pid().unwrap());
        let is_serving = || {
            std::fs::read_dir(&threads).unwrap().any(|thread| {
                // A thread may end meanwhile.
                let name = thread.and_then(|thread| std::fs::read_to_string(thread.path().join("comm")));
                name.is_ok_and(|name| name.trim_end() == "tool")
            })
        };
        wait::until(|| (!is_serving()).then_some(())).unwrap();
    }
}

fn records(changes: &[Change]) -> String {
    changes.iter().map(Change::record).collect()
}
