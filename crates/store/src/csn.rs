//! Change sequence numbers (draft-ietf-ldup-model) as numbers, and the vector with the greatest CSN of each server.

use std::fmt;

use crate::record::packed;

/// A change sequence number. Its order is that of its text, `YYYYmmddHHMMSS.uuuuuuZ#cccccc#sss#mmmmmm`.
///
/// The last part is zero in the CSN of every change. In `entryCSN` it may say that the entry is a *revision* of the
/// version with this CSN: a server has had to give it another place, and nobody has changed it
/// (docs/internals/replica.md). So a revision is greater than its version, and less than any change behind that.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Csn {
    /// Since 0000-03-01 less 400 years.
    micros: u64,
    count: u32,
    server: u16,
    modification: u32,
}

/// Bytes of a CSN without its server ID.
pub(crate) const PACKED: usize = 14;
/// Bytes of a whole CSN: packed, then the server ID.
pub(crate) const OCTETS: usize = 16;

const MICROS: u64 = 1_000_000;
/// Six hexadecimal digits.
const MAX_COUNT: u32 = 0xff_ffff;
/// 1970-01-01, in days since 0000-03-01 less 400 years.
const UNIX_DAYS: i64 = 865_565;

impl Csn {
    /// Reads the text. `None`: it has another form, like the CSNs of slapd before 2.4.
    pub fn parse(text: &[u8]) -> Option<Self> {
        let (seconds, micros, [count, server, modification]) = packed::csn_parts(text)?;
        Some(Self {
            micros: seconds * MICROS + micros,
            count: u32::try_from(count).ok()?,
            server: u16::try_from(server).ok()?,
            modification: u32::try_from(modification).ok()?,
        })
    }

    /// ID of the server that made the change, 0 to 4095.
    pub fn server_id(self) -> u16 {
        self.server
    }

    /// Whether it is that of a revision.
    pub fn is_revision(self) -> bool {
        self.modification != 0
    }

    /// The CSN of the next revision, made by this server (0 to 4095). Of revisions that several servers make at once,
    /// one is the greatest. `None`: there were 4,095.
    #[must_use]
    pub fn revised(self, server: u16) -> Option<Self> {
        let number = (self.modification >> 12) + 1;
        (number <= 0xfff).then_some(Self {
            modification: number << 12 | u32::from(server & 0xfff),
            ..self
        })
    }

    /// ID of the server that made it, if it is that of a revision.
    pub fn reviser(self) -> Option<u16> {
        // The lower 12 bits always fit.
        self.is_revision().then_some((self.modification & 0xfff) as u16)
    }

    /// The CSN of the version that it revises, if it is that of a revision.
    #[must_use]
    pub fn version(self) -> Self {
        Self {
            modification: 0,
            ..self
        }
    }

    /// Its time, in microseconds since 1970.
    pub fn unix_micros(self) -> i64 {
        let micros = i64::try_from(self.micros).unwrap_or(i64::MAX);
        micros.saturating_sub(UNIX_DAYS * 86_400 * MICROS.cast_signed())
    }

    /// The microseconds from another CSN to this one. `None`: they differ in more than their time.
    pub(crate) fn micros_since(self, other: Self) -> Option<i64> {
        let with_its_time = Self {
            micros: self.micros,
            ..other
        };
        (with_its_time == self && other != Self::default())
            .then(|| self.micros.wrapping_sub(other.micros).cast_signed())
    }

    /// The CSN so many microseconds later that differs in nothing else.
    pub(crate) fn after(self, micros: i64) -> Self {
        Self {
            micros: self.micros.wrapping_add_signed(micros),
            ..self
        }
    }

    /// The same, or the CSN of this server with that time (microseconds since 1970) and count, if that is less.
    #[must_use]
    pub fn at_most(self, unix_micros: i64, count: u32) -> Self {
        if (self.unix_micros(), self.count) <= (unix_micros, count) {
            return self;
        }
        let back = unix_micros.saturating_sub(self.unix_micros());
        Self {
            micros: self.micros.saturating_add_signed(back),
            count,
            ..self
        }
    }

    /// The CSN of a further change of the same write, by its number; 0: of the write itself. The server must give no
    /// other change this CSN.
    #[must_use]
    pub fn following(self, number: u32) -> Self {
        Self {
            count: self.count.saturating_add(number).min(MAX_COUNT),
            ..self
        }
    }

    /// Whether it may be that of a further change of the write with this CSN, or is that CSN.
    pub fn is_of_write(self, first: Self) -> bool {
        let with_its_count = Self {
            count: self.count,
            ..first
        };
        with_its_count == self && self.count >= first.count
    }

    /// Tells apart the changes of one microsecond.
    pub fn change_count(self) -> u32 {
        self.count
    }

    /// 8 bytes of microseconds, 3 of the count, 3 of the modification, big-endian. The bytes of one server's CSNs sort
    /// in CSN order.
    pub(crate) fn packed(self) -> [u8; PACKED] {
        let mut bytes = [0; PACKED];
        let [_, count @ ..] = self.count.to_be_bytes();
        let [_, modification @ ..] = self.modification.to_be_bytes();
        let parts = self.micros.to_be_bytes().into_iter().chain(count).chain(modification);
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        bytes
    }

    /// The packed bytes and two of the server ID.
    pub fn octets(self) -> [u8; 16] {
        let mut bytes = [0; 16];
        let parts = self.packed().into_iter().chain(self.server.to_be_bytes());
        bytes.iter_mut().zip(parts).for_each(|(byte, part)| *byte = part);
        bytes
    }

    /// Reads what [`Csn::octets`] wrote.
    pub fn from_octets(bytes: &[u8; 16]) -> Self {
        let number = |from: usize, count: usize| {
            let digits = bytes.iter().skip(from).take(count);
            digits.fold(0, |number: u64, byte| number << 8 | u64::from(*byte))
        };
        // Each part has no more bits than this.
        let short = |from, count| u32::try_from(number(from, count)).unwrap_or_default();
        Self {
            micros: number(0, 8),
            count: short(8, 3),
            modification: short(11, 3),
            server: u16::try_from(number(PACKED, 2)).unwrap_or_default(),
        }
    }

    /// Its text.
    pub fn text(self) -> String {
        // Every CSN was made from a text, or was read from a damaged file.
        self.octets_of_text()
            .map(|text| String::from_utf8_lossy(&text).into_owned())
            .unwrap_or_default()
    }

    /// Its text, as bytes. `None`: a part is too great for its digits.
    pub(crate) fn octets_of_text(self) -> Option<[u8; 40]> {
        let numbers = [
            u64::from(self.count),
            u64::from(self.server),
            u64::from(self.modification),
        ];
        packed::csn_text(self.micros / MICROS, self.micros % MICROS, numbers)
    }
}

impl fmt::Display for Csn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text())
    }
}

/// The greatest CSN of each server that has changed a database: the database's `contextCSN`.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ContextVector(Vec<Csn>);

impl ContextVector {
    /// Takes a CSN in; of a revision that of the version. Returns whether it was the first of its server, or greater
    /// than the one before.
    pub fn merge(&mut self, csn: Csn) -> bool {
        let csn = csn.version();
        match self.0.binary_search_by_key(&csn.server, |known| known.server) {
            Ok(at) => match self.0.get_mut(at) {
                Some(known) if *known < csn => {
                    *known = csn;
                    true
                }
                _ => false,
            },
            Err(at) => {
                self.0.insert(at, csn);
                true
            }
        }
    }

    /// Takes in all CSNs of another vector. Returns whether one of them was greater.
    pub fn merge_all(&mut self, other: &Self) -> bool {
        other.iter().fold(false, |changed, csn| self.merge(csn) | changed)
    }

    /// Whether it has this CSN of its server, or a greater one. Of a revision, whether it has that of the version:
    /// the change that made the revision has a CSN of its own.
    pub fn covers(&self, csn: Csn) -> bool {
        self.of_server(csn.server).is_some_and(|known| known >= csn.version())
    }

    /// The greatest CSN of a server.
    pub fn of_server(&self, server: u16) -> Option<Csn> {
        let at = self.0.binary_search_by_key(&server, |known| known.server).ok()?;
        self.0.get(at).copied()
    }

    /// Its CSNs, in the order of the servers.
    pub fn iter(&self) -> impl Iterator<Item = Csn> {
        self.0.iter().copied()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Drops the CSN of a server.
    pub fn forget(&mut self, server: u16) {
        self.0.retain(|csn| csn.server != server);
    }

    /// The octets of each CSN, one after the other.
    pub(crate) fn encode(&self) -> Vec<u8> {
        self.0.iter().flat_map(|csn| csn.octets()).collect()
    }

    /// `None`: damaged.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Self> {
        let (chunks, rest) = bytes.as_chunks();
        let csns: Vec<Csn> = chunks.iter().map(Csn::from_octets).collect();
        let sound = rest.is_empty() && csns.is_sorted_by(|a, b| a.server < b.server);
        sound.then_some(Self(csns))
    }
}

impl FromIterator<Csn> for ContextVector {
    fn from_iter<T: IntoIterator<Item = Csn>>(csns: T) -> Self {
        let mut vector = Self::default();
        for csn in csns {
            vector.merge(csn);
        }
        vector
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "20261121214300.123456Z#0000ab#00f#000001";

    #[test]
    fn texts_come_back_and_keep_their_order() {
        let csn = Csn::parse(TEXT.as_bytes()).unwrap();
        assert_eq!(csn.text(), TEXT);
        assert_eq!(Csn::from_octets(&csn.octets()), csn);
        assert_eq!((csn.server_id(), csn.change_count()), (15, 0xab));
        let epoch = Csn::parse(b"19700101000001.000002Z#000000#000#000000").unwrap();
        assert_eq!(epoch.unix_micros(), 1_000_002);
        let texts = [
            "00000101000000.000000Z#000000#000#000000",
            "20261121214300.123456Z#0000ab#00e#ffffff",
            TEXT,
            "20261121214300.123456Z#0000ac#000#000000",
            "20261121214300.123457Z#000000#000#000000",
            "99991231235959.999999Z#ffffff#fff#ffffff",
        ];
        let csns: Vec<Csn> = texts.iter().map(|text| Csn::parse(text.as_bytes()).unwrap()).collect();
        assert!(csns.is_sorted_by(|a, b| a < b));
        assert!(Csn::parse(b"20060101000000Z#000000#00#000000").is_none());
    }

    #[test]
    fn a_revision_is_behind_its_version_and_before_every_change() {
        let version = Csn::parse(TEXT.replace("000001", "000000").as_bytes()).unwrap();
        let later = Csn::parse(TEXT.replace("0000ab#00f#000001", "0000ac#000#000000").as_bytes()).unwrap();
        let [by_two, by_three] = [2, 3].map(|server| version.revised(server).unwrap());
        let again = by_three.revised(2).unwrap();
        assert!([version, by_two, by_three, again, later].is_sorted_by(|a, b| a < b));
        assert!(by_two.is_revision() && !version.is_revision());
        assert_eq!((again.version(), again.server_id()), (version, 15));
        assert!(again.text().ends_with("#00f#002002"));
        assert_eq!(
            (1..0xfff)
                .try_fold(by_two, |csn, _| csn.revised(2))
                .and_then(|csn| csn.revised(2)),
            None
        );
        let vector: ContextVector = std::iter::once(by_two).collect();
        assert_eq!(vector.of_server(15), Some(version));
        assert!(vector.covers(again) && vector.covers(version) && !vector.covers(later));
    }

    #[test]
    fn a_vector_has_the_greatest_of_each_server() {
        let csn = |text: &str| Csn::parse(format!("{text}.000000Z#000000#{}", "00a#000000").as_bytes()).unwrap();
        let mut vector = ContextVector::default();
        assert!(vector.merge(csn("20200101000000")));
        assert!(!vector.merge(csn("20190101000000")));
        assert!(vector.merge(csn("20210101000000")));
        assert!(vector.merge(Csn::parse(TEXT.replace("00f", "001").as_bytes()).unwrap()));
        let servers: Vec<u16> = vector.iter().map(Csn::server_id).collect();
        assert_eq!(servers, [1, 10]);
        assert_eq!(ContextVector::decode(&vector.encode()), Some(vector.clone()));
        assert_eq!(ContextVector::decode(&vector.encode()[..31]), None);
        let covered = |text: &str| vector.covers(csn(text));
        assert!(covered("20210101000000") && covered("20200101000000") && !covered("20210101000001"));
        assert!(!vector.covers(Csn::parse(TEXT.replace("00f", "002").as_bytes()).unwrap()));
        vector.forget(1);
        assert_eq!(vector.iter().count(), 1);
    }
}
