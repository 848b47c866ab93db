//! The bytes of a record (ARCHITECTURE.md, "Record").
//!
//! ```text
//! varint    parent ID, 0 for a topmost entry
//! byte      flags: 1 alias, 2 referral, 4 subentry, 8 placeholder, 16 some set is external, 32 the last four bytes are a checksum,
//!           64 glue
//! varint    length of the pretty RDN (topmost entries: of the whole DN), then its bytes
//! blocks, in the order in which the attributes were added:
//!   varint  attribute number
//!   varint  head = value * 8 + form
//!   form 0  inline: value = number of bytes; the concatenated `04 len value` TLVs of the set
//!   form 1  shared, up to format 5: value = key of the set in `sets`; nothing follows
//!   form 2  external: value = number of bytes: varint count, varint total length of the values, varint next sequence,
//!           and from format 2 on eight bytes: the sum of the hashes of the values
//!   form 3  UUID, 4 CSN, 5 time, 6 decimal, 7 hexadecimal: value = number of bytes: one packed value (`packed.rs`)
//!   form 3  with a value below that of a UUID: shared: byte check, then the position of the set in `sets`: one byte
//!           (value = 2), or two with the lower one first (value = 3); of the first 12 sets none, if the number of the
//!           attribute takes one byte: they have the values from 4 on. Value 0: the only value is what follows the first
//!           `=` of the RDN; nothing follows
//! 4 bytes   from format 2 on: checksum of all that precedes it, with the entry ID as seed
//! ```

use ironbark_ber::Writer;

use super::packed::Packing;
use crate::{
    EntryId,
    hash::{self, CHECKSUM},
    sets::SetNumber,
    varint,
};

/// objectClass contains alias.
pub(crate) const FLAG_ALIAS: u8 = 1;
/// objectClass contains referral.
pub(crate) const FLAG_REFERRAL: u8 = 2;
/// objectClass contains subentry.
pub(crate) const FLAG_SUBENTRY: u8 = 4;
/// No entry yet: keeps the place of a superior that an unordered load has not read yet.
pub(crate) const FLAG_PLACEHOLDER: u8 = 8;

/// Some value set lies in `values`. Without this flag no reader looks for one.
pub(crate) const FLAG_EXTERNAL: u8 = 16;

/// objectClass contains glue.
pub(crate) const FLAG_GLUE: u8 = 64;

/// The last four bytes are a checksum. Not among the flags of a [`Header`].
const FLAG_SEALED: u8 = 32;

/// How a value set is kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Form<'t> {
    /// TLVs in place.
    Inline(&'t [u8]),
    /// A shared set.
    Shared(SetNumber),
    /// In `values`.
    External(External),
    /// One packed value.
    Packed(Packing, &'t [u8]),
    /// The value that the record's name has: [`rdn_value`].
    Rdn(&'t [u8]),
}

/// What the record keeps of an external set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) struct External {
    /// Number of values.
    pub(crate) count: u64,
    /// Sum of their lengths.
    pub(crate) total: u64,
    /// Sequence number of the next value.
    pub(crate) next: u64,
    /// Sum of the values' hashes ([`hash::member`]); `None` before format 2.
    pub(crate) digest: Option<u64>,
}

impl External {
    /// An empty set.
    pub(crate) fn new(sealed: bool) -> Self {
        Self {
            digest: sealed.then_some(0),
            ..Self::default()
        }
    }
    /// Counts a value that entry `id` gets.
    pub(crate) fn take_in(&mut self, id: EntryId, value: &[u8]) {
        self.next += 1;
        self.count += 1;
        self.total += value.len() as u64;
        self.digest = self.digest.map(|sum| sum.wrapping_add(hash::member(id, value)));
    }
    /// Counts a value that it loses.
    pub(crate) fn let_go(&mut self, id: EntryId, value: &[u8]) {
        self.count = self.count.saturating_sub(1);
        self.total = self.total.saturating_sub(value.len() as u64);
        self.digest = self.digest.map(|sum| sum.wrapping_sub(hash::member(id, value)));
    }
    #[inline(never)]
    fn read(mut bytes: &[u8]) -> Option<Self> {
        Some(Self {
            count: varint::take(&mut bytes)?,
            total: varint::take(&mut bytes)?,
            next: varint::take(&mut bytes)?,
            digest: bytes.first_chunk().map(|sum| u64::from_be_bytes(*sum)),
        })
    }
}

/// The header of a record.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Header<'t> {
    /// Parent entry.
    pub(crate) parent: EntryId,
    /// `FLAG_*`.
    pub(crate) flags: u8,
    /// Pretty RDN.
    pub(crate) rdn: &'t str,
}

impl<'t> Header<'t> {
    /// [`rdn_value`] of the RDN. Not inlined, so that the loop over the blocks keeps its registers.
    #[inline(never)]
    fn rdn_value(&self) -> Option<&'t [u8]> {
        rdn_value(self.rdn.as_bytes())
    }
}

/// Appends a header.
pub(crate) fn put_header(header: &Header<'_>, out: &mut Vec<u8>) {
    varint::put(out, header.parent);
    out.push(header.flags);
    varint::put(out, header.rdn.len() as u64);
    out.extend_from_slice(header.rdn.as_bytes());
}

/// Appends the checksum of the record of entry `id`, which begins at `start`, and marks it as one that has a checksum.
pub(crate) fn seal(id: EntryId, start: usize, out: &mut Vec<u8>) {
    let flags = out.get(start..).and_then(|bytes| {
        let mut rest = bytes;
        varint::take(&mut rest)?;
        Some(start + bytes.len() - rest.len())
    });
    if let Some(flags) = flags.and_then(|at| out.get_mut(at)) {
        *flags |= FLAG_SEALED;
    }
    let checksum = hash::checksum(id, out.get(start..).unwrap_or_default());
    out.extend_from_slice(&checksum);
}

/// Whether a record claims to have a checksum.
fn is_sealed(mut bytes: &[u8]) -> bool {
    varint::take(&mut bytes).is_some() && bytes.first().is_some_and(|flags| flags & FLAG_SEALED != 0)
}

/// Whether the record of entry `id` is what was written, by its checksum. `sealed`: it must have a checksum; otherwise
/// it has none.
pub(crate) fn is_sound(id: EntryId, sealed: bool, bytes: &[u8]) -> bool {
    let content = bytes.split_last_chunk();
    let is_same = || content.is_some_and(|(content, checksum)| *checksum == hash::checksum(id, content));
    is_sealed(bytes) == sealed && (!sealed || is_same())
}

/// Reads the header and moves `input` to the first block. `None`: damaged.
#[inline]
pub(crate) fn take_header<'t>(input: &mut &'t [u8]) -> Option<Header<'t>> {
    let parent = varint::take(input)?;
    let (&flags, rest) = input.split_first()?;
    *input = rest;
    if flags & FLAG_SEALED != 0 {
        *input = rest.get(..rest.len().checked_sub(CHECKSUM)?)?;
    }
    let length = usize::try_from(varint::take(input)?).ok()?;
    let (rdn, rest) = input.split_at_checked(length)?;
    *input = rest;
    let rdn = std::str::from_utf8(rdn).ok()?;
    Some(Header {
        parent,
        flags: flags & !FLAG_SEALED,
        rdn,
    })
}

/// The octets behind the first `=` of a record's RDN: the value, if there is one and it needs no escape.
#[inline]
pub(crate) fn rdn_value(rdn: &[u8]) -> Option<&[u8]> {
    let at = rdn.iter().position(|octet| *octet == b'=')?;
    rdn.get(at + 1..)
}

/// The parent alone: the cheapest read of a record.
#[inline]
pub(crate) fn parent(mut input: &[u8]) -> Option<EntryId> {
    varint::take(&mut input)
}

const INLINE: u8 = 0;
const SHARED: u8 = 1;
const EXTERNAL: u8 = 2;
const UUID: u8 = 3;
const CSN: u8 = 4;
const TIME: u8 = 5;
const DECIMAL: u8 = 6;
const HEX: u8 = 7;
const UUID_LENGTH: usize = 16;
/// The value of a head that refers to the first set by its position, if the number of the attribute takes one byte.
const FIRST_SET: u8 = 4;
/// The value behind the last one that does. Such references are the head and the check.
const END_OF_SETS: u8 = 16;

/// Appends a block.
pub(crate) fn put_block(attribute: u16, form: Form<'_>, out: &mut Vec<u8>) {
    varint::put(out, u64::from(attribute));
    let mut put = |form: u8, bytes: &[u8]| {
        varint::put(out, ((bytes.len() as u64) << 3) | u64::from(form));
        out.extend_from_slice(bytes);
    };
    match form {
        Form::Inline(bytes) => put(INLINE, bytes),
        Form::Packed(Packing::Uuid, bytes) => put(UUID, bytes),
        Form::Packed(Packing::Csn, bytes) => put(CSN, bytes),
        Form::Packed(Packing::Time, bytes) => put(TIME, bytes),
        Form::Packed(Packing::Decimal, bytes) => put(DECIMAL, bytes),
        Form::Packed(Packing::Hex, bytes) => put(HEX, bytes),
        Form::Rdn(_) => put(UUID, &[]),
        Form::Shared(number) => match number.octets() {
            Some([check, position, 0]) if attribute < 0x80 && position < END_OF_SETS - FIRST_SET => {
                out.extend_from_slice(&[(FIRST_SET + position) << 3 | UUID, check]);
            }
            Some([octets @ .., 0]) => put(UUID, &octets),
            Some(octets) => put(UUID, &octets),
            None => varint::put(out, (number.key() << 3) | u64::from(SHARED)),
        },
        Form::External(external) => {
            let mut bytes = Vec::with_capacity(3 * varint::MAX_LENGTH + 8);
            varint::put(&mut bytes, external.count);
            varint::put(&mut bytes, external.total);
            varint::put(&mut bytes, external.next);
            bytes.extend(external.digest.into_iter().flat_map(u64::to_be_bytes));
            put(EXTERNAL, &bytes);
        }
    }
}

/// The head of a block. It is enough to skip a block of any form.
#[derive(Clone, Copy)]
struct Head {
    attribute: u16,
    form: u8,
    value: u64,
}

impl Head {
    #[inline]
    fn new(attribute: u16, head: u64) -> Self {
        Self {
            attribute,
            form: (head & 7) as u8,
            value: head >> 3,
        }
    }
    /// Moves `input` behind what follows the head.
    #[inline]
    fn skip(self, input: &[u8]) -> Option<&[u8]> {
        let length = match self.form {
            SHARED => 0,
            UUID if self.first_set().is_some() => 1,
            _ => usize::try_from(self.value).ok()?,
        };
        input.get(length..)
    }
    /// The value, if it tells the position of a set.
    #[inline]
    fn first_set(self) -> Option<u8> {
        let value = u8::try_from(self.value).ok()?;
        (FIRST_SET..END_OF_SETS).contains(&value).then_some(value)
    }
}

/// Reads what a head of one byte refers to with this value: a shared set that has a check, or the RDN. `None`: damaged.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the innermost loop of every answer")]
fn reference_of<'t>(value: u8, input: &'t [u8], header: &Header<'t>) -> Option<(Form<'t>, &'t [u8])> {
    let (octets, rest) = match (value, input) {
        (FIRST_SET.., [check, rest @ ..]) => ([*check, value - FIRST_SET, 0], rest),
        (2, [check, position, rest @ ..]) => ([*check, *position, 0], rest),
        (3, [check, low, high, rest @ ..]) => ([*check, *low, *high], rest),
        (0, rest) => return Some((Form::Rdn(header.rdn_value()?), rest)),
        _ => return None,
    };
    Some((Form::Shared(SetNumber::from_octets(octets)), rest))
}

/// Reads a head. `None`: the end, or damaged. Input is handed on by value, so that it stays in registers.
#[inline(always)]
#[allow(clippy::inline_always, reason = "part of the innermost loop of every answer")]
fn head_of(input: &[u8]) -> Option<(Head, &[u8])> {
    // Nearly all attribute numbers take one byte, and heads one or two.
    match *input {
        [attribute @ ..0x80, head @ ..0x80, ref rest @ ..] => Some((Head::new(attribute.into(), head.into()), rest)),
        [attribute @ ..0x80, high @ 0x80..0xc0, low, ref rest @ ..] if high > 0x80 || low >= 0x80 => {
            let head = u16::from_be_bytes([high & 0x3f, low]);
            Some((Head::new(attribute.into(), head.into()), rest))
        }
        _ => long_head_of(input),
    }
}

/// Reads a head with a number of several bytes.
#[inline(never)]
fn long_head_of(mut input: &[u8]) -> Option<(Head, &[u8])> {
    let attribute = u16::try_from(varint::take(&mut input)?).ok()?;
    let head = Head::new(attribute, varint::take(&mut input)?);
    Some((head, input))
}

/// Reads what follows a head. `None`: damaged.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the parts of a form stay in registers")]
fn form_of<'t>(head: Head, input: &'t [u8], header: &Header<'t>) -> Option<(Form<'t>, &'t [u8])> {
    let split = || input.split_at_checked(usize::try_from(head.value).ok()?);
    // Most of those that are no reference: found before the others, for which a table is asked.
    if head.form == INLINE {
        let (bytes, rest) = split()?;
        return Some((Form::Inline(bytes), rest));
    }
    if head.form == SHARED {
        return Some((Form::Shared(SetNumber::from_key(head.value)?), input));
    }
    let (bytes, rest) = split()?;
    let form = match head.form {
        EXTERNAL => Form::External(External::read(bytes)?),
        UUID => match *bytes {
            [check, position] => Form::Shared(SetNumber::from_octets([check, position, 0])),
            [check, low, high] => Form::Shared(SetNumber::from_octets([check, low, high])),
            [] => Form::Rdn(header.rdn_value()?),
            _ if bytes.len() == UUID_LENGTH => Form::Packed(Packing::Uuid, bytes),
            _ => return None,
        },
        CSN => Form::Packed(Packing::Csn, bytes),
        TIME => Form::Packed(Packing::Time, bytes),
        DECIMAL => Form::Packed(Packing::Decimal, bytes),
        _ => Form::Packed(Packing::Hex, bytes),
    };
    Some((form, rest))
}

/// Reads one block of a record with this header, and moves `input` behind it. `None`: the end, or damaged.
#[inline(always)]
#[allow(clippy::inline_always, reason = "the innermost loop of every answer")]
pub(crate) fn take_block<'t>(input: &mut &'t [u8], header: &Header<'t>) -> Option<(u16, Form<'t>)> {
    // References to shared sets: most attributes of most entries. The head of a UUID is longer.
    let (attribute, form, rest) = match **input {
        [attribute @ ..0x80, head @ ..0x80, ref rest @ ..] if head & 7 == UUID => {
            let (form, rest) = reference_of(head >> 3, rest, header)?;
            (u16::from(attribute), form, rest)
        }
        _ => {
            let (head, rest) = head_of(input)?;
            let (form, rest) = form_of(head, rest, header)?;
            (head.attribute, form, rest)
        }
    };
    *input = rest;
    Some((attribute, form))
}

/// As [`take_block`] for the next block of a wanted attribute. `None`: there is none, or damage.
#[inline]
pub(crate) fn take_wanted<'t>(
    input: &mut &'t [u8],
    header: &Header<'t>,
    wanted: impl Fn(u16) -> bool,
) -> Option<(u16, Form<'t>)> {
    let mut left = *input;
    loop {
        let (head, rest) = head_of(left)?;
        if wanted(head.attribute) {
            let (form, rest) = match head.first_set() {
                Some(value) if head.form == UUID => reference_of(value, rest, header)?,
                _ => form_of(head, rest, header)?,
            };
            *input = rest;
            return Some((head.attribute, form));
        }
        left = head.skip(rest)?;
    }
}

/// Appends `04 len value`.
pub(crate) fn put_value(value: &[u8], out: &mut Vec<u8>) {
    Writer::new(out).octet_string(value);
}

/// Octets that [`put_value`] appends.
pub(crate) fn value_length(value: &[u8]) -> usize {
    let length = value.len();
    let bits = usize::BITS - length.leading_zeros();
    let digits = if length < 0x80 { 0 } else { bits.div_ceil(8) };
    2 + digits as usize + length
}

/// Reads one `04 len value` and moves `input` behind it. `None`: the end, or damaged.
#[inline]
pub(crate) fn take_value<'t>(input: &mut &'t [u8]) -> Option<&'t [u8]> {
    let (&tag, rest) = input.split_first()?;
    let (&first, rest) = rest.split_first()?;
    if tag != 0x04 {
        return None;
    }
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
        if digits.len() > 8 {
            return None;
        }
        let length = digits.iter().fold(0u64, |value, &b| (value << 8) | u64::from(b));
        (usize::try_from(length).ok()?, rest)
    };
    let (value, rest) = rest.split_at_checked(length)?;
    *input = rest;
    Some(value)
}

/// The values of concatenated TLVs.
pub(crate) fn values(mut tlvs: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || take_value(&mut tlvs))
}

#[cfg(test)]
mod tests;
