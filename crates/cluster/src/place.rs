//! The value of `/tail`.

use ironbark_store::{ClusterLogPlace, change::Position};

use crate::etcd::Failure;

/// The same place; a database without a log gets the random number of a new one.
pub(crate) fn with_generation(mut place: ClusterLogPlace) -> Result<ClusterLogPlace, Failure> {
    if place.position.generation == 0 {
        let mut octets = [0; 8];
        getrandom::fill(&mut octets).map_err(|error| Failure {
            was_sent: false,
            why: error.to_string(),
        })?;
        place.position.generation = u64::from_be_bytes(octets).max(1);
    }
    Ok(place)
}

/// A place as text: three words in hexadecimal.
pub fn text(place: &ClusterLogPlace) -> String {
    let position = place.position;
    let chain = chain_text(place);
    format!("{:016x} {:016x} {chain}", position.generation, position.sequence)
}

/// The chain of a place in hexadecimal. Servers that have the same one have had the same changes.
pub fn chain_text(place: &ClusterLogPlace) -> String {
    format!("{:032x}", u128::from_be_bytes(place.chain))
}

/// Reads it. `None`: malformed.
pub fn read(text: &[u8]) -> Option<ClusterLogPlace> {
    let text = std::str::from_utf8(text).ok()?;
    let mut words = text.split(' ');
    let generation = u64::from_str_radix(words.next()?, 16).ok()?;
    let sequence = u64::from_str_radix(words.next()?, 16).ok()?;
    let chain = u128::from_str_radix(words.next()?, 16).ok()?.to_be_bytes();
    let is_place = words.next().is_none() && sequence <= Position::MOST;
    is_place.then_some(ClusterLogPlace {
        position: Position { generation, sequence },
        chain,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_comes_back_from_its_text() {
        let place = ClusterLogPlace {
            position: Position {
                generation: u64::MAX,
                sequence: 12,
            },
            chain: [7; 16],
        };
        assert_eq!(read(text(&place).as_bytes()), Some(place));
        // Behind the last number there is no other one.
        for wrong in ["", "1 2", "1 2 3 4", "x 1 2", "1 2 \u{e4}", "1 ffffffffffffffff 2"] {
            assert_eq!(read(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
