//! The place in its file where an audit log is, and the text behind it. Others may append to the same file: what they
//! have written is never cut off.

use std::{
    fs::{File, Metadata, OpenOptions},
    io::{self, Read, Seek, SeekFrom, Write},
    os::unix::fs::MetadataExt,
    path::Path,
};

/// The end of a file at some time. Nothing but zeros: there was none, or it is a pipe.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Place {
    device: u64,
    inode: u64,
    length: u64,
}

/// The end of each record: no record has an empty line in it.
const END: &[u8] = b"\n\n";
/// Octets that are read behind a place at most: many times the size of a pending commit.
const MOST: u64 = 256 << 20;

impl Place {
    pub(super) fn of(found: &Metadata) -> Self {
        if !found.is_file() {
            return Self::default();
        }
        Self {
            device: found.dev(),
            inode: found.ino(),
            length: found.len(),
        }
    }

    /// Three numbers of 8 bytes, big-endian.
    pub(super) fn notes(self) -> Vec<u8> {
        [self.device, self.inode, self.length]
            .into_iter()
            .flat_map(u64::to_be_bytes)
            .collect()
    }

    pub(super) fn from_notes(notes: &[u8]) -> Self {
        let (numbers, _) = notes.as_chunks();
        let mut numbers = numbers.iter().map(|bytes| u64::from_be_bytes(*bytes));
        let mut next = || numbers.next().unwrap_or_default();
        Self {
            device: next(),
            inode: next(),
            length: next(),
        }
    }
}

/// Appends a text to a file that was opened for that. If only a part of it could be written, that part is cut off: the
/// text is written again in full.
pub(super) fn append(mut file: &File, text: &[u8]) -> io::Result<Place> {
    let mut rest = text;
    while !rest.is_empty() {
        match file.write(rest) {
            Ok(0) => return Err(undone(file, text.len() - rest.len(), io::ErrorKind::WriteZero.into())),
            Ok(written) => rest = rest.get(written..).unwrap_or_default(),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(undone(file, text.len() - rest.len(), error)),
        }
    }
    Ok(Place::of(&file.metadata()?))
}

/// Cuts off what was just written, unless somebody has appended to it since.
fn undone(mut file: &File, written: usize, error: io::Error) -> io::Error {
    // Behind an append, this is its end.
    let end = file.stream_position().unwrap_or_default();
    let is_last = file.metadata().is_ok_and(|found| found.is_file() && found.len() == end);
    if written > 0
        && is_last
        && let Err(failed) = file.set_len(end.saturating_sub(written as u64))
    {
        return failed;
    }
    error
}

/// How many of the texts, from the first on, stand in the file behind a place, in their order; other texts may stand
/// between them. An incomplete part of the next text is cut off.
pub(super) fn taken(path: &Path, place: Place, texts: impl Iterator<Item = Vec<u8>>) -> io::Result<usize> {
    let file = match OpenOptions::new().read(true).write(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(0),
        opened => opened?,
    };
    let found = Place::of(&file.metadata()?);
    if found == Place::default() {
        return Ok(0);
    }
    // The file was replaced or truncated since: it may have everything that is missing.
    let is_same = (found.device, found.inode) == (place.device, place.inode) && found.length >= place.length;
    let from = if is_same { place.length } else { 0 };
    let tail = read(&file, from)?;
    let (mut count, mut rest) = (0, tail.as_slice());
    for text in texts {
        let Some(at) = find(rest, &text) else {
            let torn = torn(rest, &text);
            if torn > 0 && file.metadata()?.len() == from + tail.len() as u64 {
                file.set_len(from + (tail.len() - torn) as u64)?;
            }
            break;
        };
        rest = rest.get(at + text.len()..).unwrap_or_default();
        count += 1;
    }
    Ok(count)
}

fn read(mut file: &File, from: u64) -> io::Result<Vec<u8>> {
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(from))?;
    file.take(MOST).read_to_end(&mut tail)?;
    Ok(tail)
}

/// Where a text begins; an empty text is everywhere.
fn find(rest: &[u8], text: &[u8]) -> Option<usize> {
    if text.is_empty() {
        return Some(0);
    }
    // Each record begins with a comment of its own, at the beginning or behind an empty line.
    let mut at = 0;
    loop {
        if rest.get(at..)?.starts_with(text) {
            return Some(at);
        }
        at += next_record(rest.get(at..)?)?;
    }
}

/// The place of the record behind the first one.
fn next_record(rest: &[u8]) -> Option<usize> {
    let end = rest.windows(END.len()).position(|window| window == END)?;
    Some(end + END.len())
}

/// Octets at the end that are the beginning of a text.
fn torn(rest: &[u8], text: &[u8]) -> usize {
    let mut left = rest;
    while !left.is_empty() && !text.starts_with(left) {
        match next_record(left).and_then(|at| left.get(at..)) {
            Some(behind) => left = behind,
            None => return 0,
        }
    }
    left.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file_of(content: &str) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("log");
        std::fs::write(&path, content).unwrap();
        (folder, path)
    }

    fn behind(path: &Path, length: u64) -> Place {
        Place {
            length,
            ..Place::of(&std::fs::metadata(path).unwrap())
        }
    }

    fn texts(names: &[&str]) -> impl Iterator<Item = Vec<u8>> {
        let texts: Vec<_> = names.iter().map(|name| text(name).into_bytes()).collect();
        texts.into_iter()
    }

    fn text(name: &str) -> String {
        format!("# delete {name}\ndn: {name}\n# end\n\n")
    }

    #[test]
    fn notes_come_back() {
        let place = Place {
            device: 1,
            inode: u64::MAX,
            length: 77,
        };
        assert_eq!(Place::from_notes(&place.notes()), place);
        assert_eq!(Place::from_notes(b""), Place::default());
    }

    #[test]
    fn what_stands_behind_a_place_is_found_whatever_others_have_written_between() {
        let content = ["a", "b", "of another", "c"].map(text).concat();
        let (_folder, path) = file_of(&content);
        let place = behind(&path, text("a").len() as u64);
        assert_eq!(taken(&path, place, texts(&["b", "c", "d"])).unwrap(), 2);
        assert_eq!(taken(&path, place, texts(&["a"])).unwrap(), 0);
        assert_eq!(taken(&path, behind(&path, 0), texts(&["a", "b", "c"])).unwrap(), 3);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), content);
    }

    #[test]
    fn a_beginning_is_cut_off_and_nothing_else_is() {
        let whole = text("a");
        for cut in 1..text("b").len() {
            let (_folder, path) = file_of(&format!("{whole}{}", &text("b")[..cut]));
            let place = behind(&path, 0);
            assert_eq!(taken(&path, place, texts(&["a", "b"])).unwrap(), 1);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "{cut}");
        }
        // A change of two records.
        let both = [text("b"), text("c")].concat();
        for cut in 1..both.len() {
            let (_folder, path) = file_of(&format!("{whole}{}", &both[..cut]));
            let change = [text("a"), both.clone()].map(String::into_bytes);
            assert_eq!(taken(&path, behind(&path, 0), change.into_iter()).unwrap(), 1);
            assert_eq!(std::fs::read_to_string(&path).unwrap(), whole, "{cut}");
        }
        let foreign = format!("{whole}# written by hand");
        let (_folder, path) = file_of(&foreign);
        assert_eq!(taken(&path, behind(&path, 0), texts(&["a", "b"])).unwrap(), 1);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), foreign);
    }

    #[test]
    fn a_file_that_was_begun_since_is_looked_through() {
        let (_folder, path) = file_of(&text("b"));
        let former = Place {
            inode: 1,
            ..behind(&path, 4_711)
        };
        assert_eq!(taken(&path, former, texts(&["b", "c"])).unwrap(), 1);
        std::fs::remove_file(&path).unwrap();
        assert_eq!(taken(&path, former, texts(&["b"])).unwrap(), 0);
    }

    #[test]
    fn what_could_not_be_written_whole_is_cut_off_and_never_what_others_have_written() {
        let (_folder, path) = file_of(&text("of another"));
        let open = || OpenOptions::new().append(true).open(&path).unwrap();
        let full = || io::Error::from(io::ErrorKind::StorageFull);
        let file = open();
        (&file).write_all(b"# half a rec").unwrap();
        assert_eq!(undone(&file, 12, full()).kind(), io::ErrorKind::StorageFull);
        assert_eq!(std::fs::read_to_string(&path).unwrap(), text("of another"));

        (&file).write_all(b"# half a rec").unwrap();
        open().write_all(text("of a third").as_bytes()).unwrap();
        let before = std::fs::read_to_string(&path).unwrap();
        undone(&file, 12, full());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before);

        let end = append(&file, text("a").as_bytes()).unwrap();
        assert_eq!(end, Place::of(&file.metadata().unwrap()));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), before + &text("a"));
    }
}
