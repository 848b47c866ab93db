//! The fuzz targets' entry points on the seed corpus and on mutations of it from a fixed seed: what CI runs of fuzzing.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, clippy::panic, reason = "tests may")]

use std::{fs, path::PathBuf};

/// A target: the folder of its corpus and the function it calls.
type Target = (&'static str, fn(&[u8]));

const TARGETS: &[Target] = &[("ldif", ironbark_ldif::fuzz::ldif)];

const MUTATIONS: usize = 4000;

#[test]
fn corpus_and_mutations_of_it_never_panic() {
    for (name, run) in TARGETS {
        let corpus = corpus(name);
        for input in &corpus {
            run(input);
        }
        let mut random = Random(0x1bad_5eed);
        for _ in 0..MUTATIONS {
            let mut input = corpus[random.below(corpus.len())].clone();
            for _ in 0..=random.below(6) {
                mutate(&mut input, &corpus, &mut random);
            }
            run(&input);
        }
    }
}

fn corpus(name: &str) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../fuzz/corpus")
        .join(name);
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .collect();
    paths.sort();
    assert!(!paths.is_empty(), "{} is empty", folder.display());
    paths.iter().map(|path| fs::read(path).unwrap()).collect()
}

fn mutate(input: &mut Vec<u8>, corpus: &[Vec<u8>], random: &mut Random) {
    let at = random.below(input.len() + 1);
    match random.below(6) {
        0 if at < input.len() => input[at] = random.next().to_le_bytes()[0],
        1 if at < input.len() => input[at] ^= 1 << random.below(8),
        2 => input.truncate(at),
        3 => input.insert(at, random.next().to_le_bytes()[0]),
        4 if at < input.len() => input[at] = [b'\n', b':', b' ', b'-', b'#', b'<', b'\r', b'='][random.below(8)],
        _ => {
            let other = &corpus[random.below(corpus.len())];
            let start = random.below(other.len() + 1);
            let end = start + random.below(other.len() - start + 1);
            input.splice(at..at, other[start..end].iter().copied());
        }
    }
}

/// xorshift64*: the same numbers on every machine.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() >> 33).unwrap() % limit
    }
}
