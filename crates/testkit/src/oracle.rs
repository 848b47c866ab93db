//! slapd's answers: recorded, so that a run of the tests does not start slapd for answers that never change.
//!
//! `IRONBARK_SLAPD=record` (`make record`) asks Debian's slapd and writes the recordings; `IRONBARK_SLAPD=compare`
//! (`make test-slapd`) asks it and compares them. Otherwise they are only read.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::{TestkitError, difference, repository_root};

/// Where the answers of slapd come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Oracle {
    /// From the recordings.
    Recorded,
    /// From slapd; the recordings are written.
    Recording,
    /// From slapd; the recordings must be the same.
    Compared,
}

impl Oracle {
    /// As the environment says.
    ///
    /// # Errors
    /// If the variable has another value than those above.
    pub fn of_environment() -> Result<Self, TestkitError> {
        match std::env::var(VARIABLE).as_deref() {
            Err(_) => Ok(Self::Recorded),
            Ok("record") => Ok(Self::Recording),
            Ok("compare") => Ok(Self::Compared),
            Ok(other) => Err(TestkitError::io(format!("{VARIABLE} is record or compare"))(
                io::Error::other(other.to_owned()),
            )),
        }
    }

    /// slapd's answer, of the file or of `ask`.
    ///
    /// # Errors
    /// Of `ask`; a recording that is missing, or differs from the answer.
    pub fn answer(
        self,
        file: &Path,
        ask: impl FnOnce() -> Result<String, TestkitError>,
    ) -> Result<String, TestkitError> {
        if self == Self::Recorded {
            return fs::read_to_string(file).map_err(TestkitError::io(format!(
                "{}: slapd's answer is not recorded (`make record`)",
                file.display()
            )));
        }
        let answer = ask()?;
        if self == Self::Recording {
            let folder = file.parent().unwrap_or(file);
            fs::create_dir_all(folder).map_err(TestkitError::io(folder.display().to_string()))?;
            fs::write(file, &answer).map_err(TestkitError::io(file.display().to_string()))?;
            return Ok(answer);
        }
        let recorded = fs::read_to_string(file).unwrap_or_default();
        if recorded == answer {
            return Ok(answer);
        }
        Err(TestkitError::OtherAnswer {
            file: file.to_owned(),
            difference: difference("recorded", &recorded, "slapd", &answer),
        })
    }
}

/// The file of the next answer in this test; `None` outside of a test that has a name.
///
/// The harness gives each test a thread with the name of the test. Several answers of one test are numbered.
pub(crate) fn next_file() -> Option<PathBuf> {
    let thread = std::thread::current();
    let name = thread.name().filter(|name| name.contains("::"))?;
    let number = COUNTS.with_borrow_mut(|counts| {
        let count: &mut u32 = counts.entry(name.to_owned()).or_default();
        *count += 1;
        *count
    });
    let number = if number == 1 {
        String::new()
    } else {
        format!("-{number}")
    };
    let path = format!("{FOLDER}/{}{number}.txt", name.replace("::", "/"));
    Some(repository_root().join(path))
}

thread_local! {
    static COUNTS: RefCell<BTreeMap<String, u32>> = const { RefCell::new(BTreeMap::new()) };
}

const VARIABLE: &str = "IRONBARK_SLAPD";
const FOLDER: &str = "crates/acceptance/tests/recorded";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_written_read_and_compared() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a").join("b.txt");
        let missing = Oracle::Recorded.answer(&file, || Ok("x".to_owned())).unwrap_err();
        assert!(missing.to_string().contains("b.txt"), "{missing}");
        assert_eq!(
            Oracle::Recording.answer(&file, || Ok("one\n".to_owned())).unwrap(),
            "one\n"
        );
        let read = Oracle::Recorded.answer(&file, || panic!("slapd is not asked"));
        assert_eq!(read.unwrap(), "one\n");
        assert_eq!(
            Oracle::Compared.answer(&file, || Ok("one\n".to_owned())).unwrap(),
            "one\n"
        );
        let differs = Oracle::Compared.answer(&file, || Ok("two\n".to_owned())).unwrap_err();
        assert!(differs.to_string().contains("-one\n+two\n"), "{differs}");
    }

    #[test]
    fn each_answer_of_a_test_has_a_file() {
        let [first, second] = [next_file().unwrap(), next_file().unwrap()];
        let test = "oracle/tests/each_answer_of_a_test_has_a_file";
        assert!(first.ends_with(format!("{FOLDER}/{test}.txt")), "{first:?}");
        assert!(second.ends_with(format!("{FOLDER}/{test}-2.txt")), "{second:?}");
    }
}
