//! The part of fuzzing that tests run: a target's seed corpus and mutations of it. They are the same on every machine.

use std::fs;

use crate::{TestkitError, repository_root};

/// Runs a fuzz target on its seeds and on a few thousand mutations of them. The bytes of `tokens`, which have a meaning
/// for the target, are put into the mutations. A panic of the target reaches the caller.
///
/// # Errors
/// The corpus cannot be read.
pub fn smoke(target: &str, tokens: &[u8], run: fn(&[u8])) -> Result<(), TestkitError> {
    smoke_of(MUTATIONS, target, tokens, run)
}

/// The same with another number of mutations, for targets whose cases take long.
///
/// # Errors
/// As [`smoke`].
pub fn smoke_of(mutations: usize, target: &str, tokens: &[u8], run: fn(&[u8])) -> Result<(), TestkitError> {
    let corpus = corpus(target)?;
    for seed in &corpus {
        run(seed);
    }
    let mut random = Random(0x1bad_5eed);
    for _ in 0..mutations {
        let mut input = random.pick(&corpus).cloned().unwrap_or_default();
        for _ in 0..=random.below(6) {
            mutate(&mut input, &corpus, tokens, &mut random);
        }
        run(&input);
    }
    Ok(())
}

/// The seeds of a target, in the order of their names; there is at least one.
///
/// # Errors
/// The folder or a file in it cannot be read, or the folder is empty.
pub fn corpus(target: &str) -> Result<Vec<Vec<u8>>, TestkitError> {
    let folder = repository_root().join("fuzz/corpus").join(target);
    let failed = || TestkitError::io(format!("reading {}", folder.display()));
    let mut paths = fs::read_dir(&folder)
        .map_err(failed())?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<Vec<_>, _>>()
        .map_err(failed())?;
    paths.sort();
    if paths.is_empty() {
        return Err(failed()(std::io::ErrorKind::NotFound.into()));
    }
    paths.iter().map(|path| fs::read(path).map_err(failed())).collect()
}

/// Changes, cuts or extends `input` at one place.
fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], tokens: &[u8], random: &mut Random) {
    let at = random.below(input.len() + 1);
    let kind = random.below(6);
    match (kind, input.get_mut(at)) {
        (0, Some(byte)) => *byte = random.byte(),
        (1, Some(byte)) => *byte ^= 1 << random.below(8),
        (2, _) => input.truncate(at),
        (3, _) => input.insert(at, random.byte()),
        (4, Some(byte)) => *byte = random.pick(tokens).copied().unwrap_or_default(),
        _ => {
            let other = random.pick(corpus).map_or(&[][..], Vec::as_slice);
            let start = random.below(other.len() + 1);
            let end = start + random.below(other.len() - start + 1);
            let piece = other.get(start..end).unwrap_or_default();
            input.splice(at..at, piece.iter().copied());
        }
    }
}

const MUTATIONS: usize = 4000;

/// xorshift64*. It gives the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[0]
    }

    /// A number below `limit`, which is not 0.
    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap_or(0) % limit.max(1)
    }

    fn pick<'t, T>(&mut self, from: &'t [T]) -> Option<&'t T> {
        from.get(self.below(from.len()))
    }
}

#[cfg(test)]
mod tests {
    use std::{cell::RefCell, collections::BTreeSet};

    use super::*;

    /// Smoke runs and long runs cover the same targets.
    #[test]
    fn every_corpus_has_a_target_and_every_target_a_corpus() {
        let names = |folder: &str| -> BTreeSet<String> {
            let entries = fs::read_dir(repository_root().join(folder)).unwrap();
            let stem = |path: std::path::PathBuf| path.file_stem().unwrap().to_str().unwrap().to_owned();
            entries.map(|entry| stem(entry.unwrap().path())).collect()
        };
        assert_eq!(names("fuzz/corpus"), names("fuzz/src/bin"));
    }

    #[test]
    fn a_run_sees_seeds_and_many_different_mutations() {
        thread_local! {
            static SEEN: RefCell<BTreeSet<Vec<u8>>> = RefCell::default();
        }
        let note = |data: &[u8]| {
            SEEN.with_borrow_mut(|seen| seen.insert(data.to_vec()));
        };
        smoke("dn", b",=", note).unwrap();
        let first = SEEN.take();
        assert!(corpus("dn").unwrap().iter().all(|seed| first.contains(seed)));
        assert!(first.len() > MUTATIONS / 2);
        smoke("dn", b",=", note).unwrap();
        assert_eq!(SEEN.take(), first, "the same inputs each time");
        assert!(corpus("no such target").is_err());
    }
}
