//! Unpredictable bytes and identifiers; repeatable ones for tests.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use uuid::{Builder, Uuid};

/// The source of randomness. All clones draw from the same source.
#[derive(Debug, Clone)]
pub struct Randomness(Source);

#[derive(Debug, Clone)]
enum Source {
    System,
    Seeded(Arc<AtomicU64>),
}

/// The operating system gave no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the operating system's source of random bytes failed: {0}")]
pub struct RandomnessError(#[from] getrandom::Error);

impl Randomness {
    /// The operating system's cryptographic source. It is suitable for salts, generated passwords and identifiers.
    pub fn system() -> Self {
        Self(Source::System)
    }

    /// A repeatable sequence for tests and generated data. It is predictable: never use it for a secret.
    pub fn seeded(seed: u64) -> Self {
        Self(Source::Seeded(Arc::new(AtomicU64::new(seed))))
    }

    /// Fills `buffer` with random bytes.
    ///
    /// # Errors
    /// [`RandomnessError`] when the operating system refuses. Linux does not refuse once it has booted. There is no
    /// weaker source: the caller must refuse its request.
    pub fn fill(&self, buffer: &mut [u8]) -> Result<(), RandomnessError> {
        match &self.0 {
            Source::System => getrandom::fill(buffer)?,
            Source::Seeded(state) => {
                for chunk in buffer.chunks_mut(8) {
                    for (byte, random) in chunk.iter_mut().zip(next_seeded(state).to_le_bytes()) {
                        *byte = random;
                    }
                }
            }
        }
        Ok(())
    }

    /// A random array, such as a salt.
    pub fn bytes<const N: usize>(&self) -> Result<[u8; N], RandomnessError> {
        let mut bytes = [0; N];
        self.fill(&mut bytes)?;
        Ok(bytes)
    }

    /// A random UUID (RFC 9562 §5.4, version 4).
    pub fn uuid_v4(&self) -> Result<Uuid, RandomnessError> {
        Ok(Builder::from_random_bytes(self.bytes()?).into_uuid())
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): a counter and a mixing function. Threads may share it without a lock.
fn next_seeded(state: &AtomicU64) -> u64 {
    let counter = state
        .fetch_add(GOLDEN_GAMMA, Ordering::Relaxed)
        .wrapping_add(GOLDEN_GAMMA);
    let mixed = (counter ^ (counter >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

const GOLDEN_GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn a_seed_repeats_its_sequence() {
        let draw = |seed| Randomness::seeded(seed).bytes::<20>().unwrap();
        assert_eq!(draw(1), draw(1));
        assert_ne!(draw(1), draw(2));
        let source = Randomness::seeded(1);
        let copy = source.clone();
        assert_ne!(source.bytes::<8>(), copy.bytes::<8>());
    }

    #[test]
    fn splitmix_gives_its_published_sequence() {
        let source = Randomness::seeded(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| u64::from_le_bytes(source.bytes().unwrap())).collect();
        assert_eq!(
            drawn,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn system_bytes_do_not_repeat() {
        let source = Randomness::system();
        let drawn: HashSet<[u8; 16]> = (0..100).map(|_| source.bytes().unwrap()).collect();
        assert_eq!(drawn.len(), 100);
    }

    #[test]
    fn uuids_have_version_and_variant() {
        let source = Randomness::seeded(0);
        let random = source.uuid_v4().unwrap().hyphenated().to_string();
        assert_eq!((random.len(), &random[14..15]), (36, "4"));
        assert!("89ab".contains(&random[19..20]));
    }
}
