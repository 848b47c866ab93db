//! Lines with their prefixes, on their way to a file or to stderr, and the count of those that were not taken.

use std::io::{self, ErrorKind, Write};

/// Lines that the next [`Pending::write`] writes.
#[derive(Default, Debug)]
pub(super) struct Pending {
    /// Each line has its prefix and its line end.
    pub(super) text: String,
    failure: Option<Failure>,
}

/// Lines that were not taken.
#[derive(Debug)]
struct Failure {
    lines: u64,
    reason: io::Error,
    /// The last line that was taken lacks its end.
    is_torn: bool,
}

impl Pending {
    /// Whether there is so much that it should be written.
    pub(super) fn is_full(&self) -> bool {
        self.text.len() >= FULL_OCTETS
    }

    /// What to say of lines that were not taken, now that more are written.
    pub(super) fn complaint(&self) -> Option<String> {
        let Failure { lines, reason, .. } = self.failure.as_ref()?;
        Some(format!("log: {lines} lines lost, they could not be written: {reason}"))
    }

    /// Writes the lines. Returns the octets that were taken, and the number of lines that were not.
    ///
    /// `complaint` is [`Pending::complaint`] with its prefix and line end. It comes first, so that the lines that are
    /// missing are told at their place. If it cannot be written, neither can the rest.
    pub(super) fn write(&mut self, target: &mut impl Write, complaint: Option<&str>) -> (u64, u64) {
        let former = complaint.and_then(|complaint| Some((self.failure.take()?, complaint)));
        let mut taken = 0;
        if let Some((former, complaint)) = former {
            let line_end = if former.is_torn { "\n" } else { "" };
            let told = [line_end, complaint].concat();
            let (octets, reason) = write_all(target, told.as_bytes());
            if let Some(reason) = reason {
                let is_torn = if octets == 0 {
                    former.is_torn
                } else {
                    octets < told.len()
                };
                let lines = line_ends(self.text.as_bytes());
                self.failure = Some(Failure {
                    lines: former.lines + lines,
                    reason,
                    is_torn,
                });
                self.clear();
                return (octets as u64, lines);
            }
            taken += octets as u64;
        }
        let (octets, reason) = write_all(target, self.text.as_bytes());
        taken += octets as u64;
        let mut lost = 0;
        if let Some(reason) = reason {
            let (written, rest) = self.text.as_bytes().split_at_checked(octets).unwrap_or_default();
            lost = line_ends(rest);
            self.failure = Some(Failure {
                lines: lost,
                reason,
                is_torn: written.last().is_some_and(|octet| *octet != b'\n'),
            });
        }
        self.clear();
        (taken, lost)
    }

    fn clear(&mut self) {
        self.text.clear();
        self.text.shrink_to(2 * FULL_OCTETS);
    }
}

fn line_ends(octets: &[u8]) -> u64 {
    octets.split(|octet| *octet == b'\n').skip(1).count() as u64
}

/// Writes as much as the target takes. Returns the number of octets, and why it did not take the rest.
fn write_all(target: &mut impl Write, octets: &[u8]) -> (usize, Option<io::Error>) {
    let mut written = 0;
    while let Some(rest) = octets.get(written..).filter(|rest| !rest.is_empty()) {
        match target.write(rest) {
            Ok(0) => return (written, Some(ErrorKind::WriteZero.into())),
            Ok(more) => written += more,
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            Err(error) => return (written, Some(error)),
        }
    }
    (written, None)
}

/// Octets that are written with one call.
const FULL_OCTETS: usize = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;

    /// A disk with room for so many octets.
    struct Disk {
        room: usize,
        text: Vec<u8>,
    }

    impl Write for Disk {
        fn write(&mut self, octets: &[u8]) -> io::Result<usize> {
            if self.room == 0 {
                return Err(ErrorKind::StorageFull.into());
            }
            let fitting = octets.len().min(self.room);
            self.room -= fitting;
            self.text.extend(&octets[..fitting]);
            Ok(fitting)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn write(pending: &mut Pending, disk: &mut Disk, lines: &str) -> (u64, u64) {
        pending.text.push_str(lines);
        let complaint = pending.complaint().map(|text| format!("{text}\n"));
        pending.write(disk, complaint.as_deref())
    }

    #[test]
    fn lines_that_a_full_disk_does_not_take_are_told_at_their_place() {
        let (mut pending, mut disk) = (
            Pending::default(),
            Disk {
                room: 6,
                text: Vec::new(),
            },
        );
        assert_eq!(write(&mut pending, &mut disk, "one\ntwo\nthree\n"), (6, 2));
        assert_eq!(write(&mut pending, &mut disk, "four\n"), (0, 1));
        disk.room = 1000;
        let (octets, lost) = write(&mut pending, &mut disk, "five\n");
        assert_eq!(lost, 0);
        write(&mut pending, &mut disk, "six\n");
        let text = String::from_utf8(disk.text).unwrap();
        let complaint = "log: 3 lines lost, they could not be written: no storage space";
        assert_eq!(text, format!("one\ntw\n{complaint}\nfive\nsix\n"));
        assert_eq!(octets, (text.len() - "one\ntw".len() - "six\n".len()) as u64);
    }

    #[test]
    fn a_complaint_that_is_torn_is_made_again() {
        let (mut pending, mut disk) = (
            Pending::default(),
            Disk {
                room: 0,
                text: Vec::new(),
            },
        );
        assert_eq!(write(&mut pending, &mut disk, "one\n"), (0, 1));
        disk.room = 3;
        assert_eq!(write(&mut pending, &mut disk, "two\n"), (3, 1));
        disk.room = 1000;
        write(&mut pending, &mut disk, "three\n");
        let text = String::from_utf8(disk.text).unwrap();
        assert!(text.starts_with("log\nlog: 2 lines lost, "), "{text}");
        assert!(text.ends_with("\nthree\n"), "{text}");
    }
}
