//! What has become of everything at the end of a storm.

use std::process::Command;

use ironbark_testkit::{Flavor::Ironbark, difference};

use super::{
    course::Storm,
    held::{Image, SUFFIX},
    judge::Judge,
    world::folder,
};

impl Storm {
    /// What is wrong at the end.
    pub(super) async fn findings(&self) -> (Vec<String>, Vec<Image>) {
        let (is_equal, images) = self.world.settled(Image::clone).await;
        let ledger = self.shared.ledger.lock().unwrap();
        let mut findings = ledger.faults.clone();
        if !is_equal {
            findings.push(format!("UNEQUAL:\n{}", unequal(&images)));
        }
        let contents: Vec<Image> = images.iter().map(Image::without_vector).collect();
        findings.extend(self.compare(contents.iter().all(|content| *content == contents[0])));
        let logs = self.world.logs();
        let conflicts = logs
            .iter()
            .flat_map(|log| log.lines())
            .filter(|line| line.contains("conflict: "));
        let mut judge = Judge {
            mode: self.shared.mode,
            images: &images,
            ledger: &ledger,
            own: self.idle.iter().flatten().map(|writer| &writer.own.entries).collect(),
            conflicts: conflicts.collect(),
            findings,
        };
        judge.judge();
        (judge.findings, images)
    }

    /// What the tool says; it should say the same as the test.
    fn compare(&self, is_equal: bool) -> Option<String> {
        let output = Command::new(Ironbark.program().unwrap())
            .arg("compare-replicas")
            .args(self.world.urls())
            .args([
                "-b",
                SUFFIX,
                "-D",
                "cn=Manager,dc=example,dc=com",
                "-w",
                "secret",
                "--deep",
            ])
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let wanted = i32::from(!is_equal);
        (output.status.code() != Some(wanted)).then(|| format!("COMPARED with {:?}: {text}", output.status))
    }

    /// Keeps what is known for who looks for the cause.
    pub(super) fn keep(&self, seed: u64, findings: &[String], images: &[Image]) {
        let folder = folder(self.shared.mode, seed);
        std::fs::create_dir_all(&folder).unwrap();
        for (number, log) in self.world.logs().iter().enumerate() {
            std::fs::write(folder.join(format!("server-{number}.log")), log).unwrap();
        }
        for (number, image) in images.iter().enumerate() {
            std::fs::write(folder.join(format!("server-{number}.ldif")), image.text()).unwrap();
        }
        std::fs::write(folder.join("findings"), findings.join("\n")).unwrap();
        let ledger = self.shared.ledger.lock().unwrap();
        std::fs::write(folder.join("ledger"), ledger.lines.join("\n")).unwrap();
    }
}

/// How what servers hold differs.
pub(super) fn unequal(images: &[Image]) -> String {
    let texts: Vec<String> = images.iter().map(Image::text).collect();
    let others = texts.iter().enumerate().skip(1);
    let unlike = others.map(|(number, text)| difference("server 0", &texts[0], &format!("server {number}"), text));
    unlike.collect()
}
