//! The grammar: from the text of an expression to its parts as data, which need not be read again.

use regex_syntax::hir::{Capture, Hir, HirKind, Look, Repetition};

use super::{
    MAX_COMPILED_BYTES, MAX_GROUPS, MAX_LEVELS, RegexError, bracket,
    octets::{self, Case},
};

/// An expression that has been read.
pub(super) struct Expression {
    pub(super) hir: Hir,
    /// The number of groups. Those behind [`MAX_GROUPS`] do not tell what they have matched.
    pub(super) groups: usize,
}

/// Reads an expression.
///
/// # Errors
/// As of [`super::PosixRegex::new`].
pub(super) fn parse(text: &str, case: Case) -> Result<Expression, RegexError> {
    if text.len() > MAX_COMPILED_BYTES {
        return Err(RegexError::TooBig);
    }
    // To glibc the expression would end here. The rest may be what makes it refuse.
    if text.contains('\0') {
        return Err(RegexError::malformed("it has a NUL octet"));
    }
    let mut parser = Parser {
        rest: text.as_bytes(),
        case,
        inner: Branches::default(),
        outer: Vec::new(),
        groups: 0,
    };
    while let Some(octet) = parser.next() {
        parser.one(octet)?;
    }
    if !parser.outer.is_empty() {
        return Err(RegexError::malformed("unmatched ( or \\("));
    }
    Ok(Expression {
        hir: parser.inner.end(parser.groups),
        groups: parser.groups,
    })
}

/// What stands in a group, or in the whole expression.
#[derive(Default)]
struct Branches {
    /// The number of the group.
    number: usize,
    /// The branches before the last `|`.
    ended: Vec<Hir>,
    /// The items since then.
    items: Vec<Hir>,
    /// How deep the last item is nested; `None`: there is nothing that could be repeated.
    last: Option<usize>,
    /// How deep the deepest item is nested.
    deepest: usize,
}

struct Parser<'a> {
    rest: &'a [u8],
    case: Case,
    inner: Branches,
    /// The groups that are still open around it, and the whole expression.
    outer: Vec<Branches>,
    groups: usize,
}

impl Branches {
    fn push(&mut self, item: Hir, levels: usize) -> Result<(), RegexError> {
        self.items.push(item);
        self.last = Some(levels);
        self.deepest = self.deepest.max(levels);
        if levels > MAX_LEVELS {
            return Err(RegexError::TooBig);
        }
        Ok(())
    }

    fn end_branch(&mut self) {
        self.ended.push(Hir::concat(std::mem::take(&mut self.items)));
        self.last = None;
    }

    /// The expression in the group, or the whole. `groups` is how many have begun.
    fn end(mut self, groups: usize) -> Hir {
        self.end_branch();
        // glibc tries an empty first branch after the second one. This decides what groups match.
        if let [first, second, ..] = self.ended.as_mut_slice()
            && matches!(first.kind(), HirKind::Empty)
        {
            std::mem::swap(first, second);
        }
        // Beside a branch that never matches, nothing is taken out of the others.
        if groups > 0 && is_order_lost(&self.ended) {
            self.ended.push(Hir::fail());
        }
        Hir::alternation(self.ended)
    }
}

/// Whether [`Hir::alternation`] mixes up the order of branches: it takes out what all of them begin with. If this can
/// match more or less, all branches are then tried behind the most, before the first one is tried behind less. The
/// match stays the same, but not what its groups match.
fn is_order_lost(branches: &[Hir]) -> bool {
    let Some((first, others)) = branches.split_first().filter(|(_, others)| !others.is_empty()) else {
        return false;
    };
    let is_common = |(at, item): &(usize, &Hir)| others.iter().all(|other| items(other).get(*at) == Some(item));
    let mut common = items(first).iter().enumerate().take_while(is_common);
    common.any(|(_, item)| item.properties().minimum_len() != item.properties().maximum_len())
}

fn items(branch: &Hir) -> &[Hir] {
    match branch.kind() {
        HirKind::Concat(items) => items,
        _ => std::slice::from_ref(branch),
    }
}

impl Parser<'_> {
    fn next(&mut self) -> Option<u8> {
        let (octet, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*octet)
    }

    fn one(&mut self, octet: u8) -> Result<(), RegexError> {
        match octet {
            b'\\' => self.escape(),
            b'[' => {
                let set = bracket::set(&mut self.rest, self.case)?;
                self.item(self.case.one_of(set))
            }
            b'(' => self.open(),
            b')' => match self.outer.pop() {
                Some(outer) => self.close(outer),
                // Outside a group it stands for itself.
                None => self.literal(octet),
            },
            b'|' => {
                self.inner.end_branch();
                Ok(())
            }
            b'^' => self.look(Look::Start),
            b'$' => self.look(Look::End),
            b'*' => self.repeat(0, None),
            b'+' => self.repeat(1, None),
            b'?' => self.repeat(0, Some(1)),
            b'{' => {
                let (least, most) = self.interval()?;
                self.repeat(least, most)
            }
            b'.' => self.item(self.case.one_of(octets::of(&[(0, u8::MAX)]))),
            other => self.literal(self.case.meant(other)),
        }
    }

    fn item(&mut self, item: Hir) -> Result<(), RegexError> {
        self.inner.push(item, 0)
    }

    fn literal(&mut self, octet: u8) -> Result<(), RegexError> {
        self.item(self.case.one_of(octets::one(octet)))
    }

    /// An assertion cannot be repeated.
    fn look(&mut self, look: Look) -> Result<(), RegexError> {
        self.item(Hir::look(look))?;
        self.inner.last = None;
        Ok(())
    }

    fn open(&mut self) -> Result<(), RegexError> {
        if self.outer.len() >= MAX_LEVELS {
            return Err(RegexError::TooBig);
        }
        self.groups += 1;
        let group = Branches {
            number: self.groups,
            ..Branches::default()
        };
        self.outer.push(std::mem::replace(&mut self.inner, group));
        Ok(())
    }

    fn close(&mut self, outer: Branches) -> Result<(), RegexError> {
        let group = std::mem::replace(&mut self.inner, outer);
        let (number, levels) = (group.number, group.deepest + 1);
        let sub = group.end(self.groups);
        let index = u32::try_from(number).ok().filter(|_| number <= MAX_GROUPS);
        let item = match index {
            Some(index) => Hir::capture(Capture {
                index,
                name: None,
                sub: Box::new(sub),
            }),
            None => sub,
        };
        self.inner.push(item, levels)
    }

    fn repeat(&mut self, min: u32, max: Option<u32>) -> Result<(), RegexError> {
        let last = self
            .inner
            .last
            .and_then(|levels| Some((levels, self.inner.items.pop()?)));
        let (levels, sub) = last.ok_or_else(|| RegexError::malformed("invalid preceding regular expression"))?;
        let repetition = Hir::repetition(Repetition {
            min,
            max,
            greedy: true,
            sub: Box::new(sub),
        });
        self.inner.push(repetition, levels + 1)
    }

    fn escape(&mut self) -> Result<(), RegexError> {
        let octet = self.next().ok_or_else(|| RegexError::malformed("trailing backslash"))?;
        let one_of = |set| self.case.one_of(set);
        match octet {
            b'1'..=b'9' => Err(RegexError::BackReference),
            b'w' => self.item(one_of(octets::of(octets::WORD))),
            b'W' => self.item(one_of(octets::except(octets::of(octets::WORD)))),
            b's' => self.item(one_of(octets::of(octets::SPACE))),
            b'S' => self.item(one_of(octets::except(octets::of(octets::SPACE)))),
            b'b' => self.look(Look::WordAscii),
            b'B' => self.look(Look::WordAsciiNegate),
            b'<' => self.look(Look::WordStartAscii),
            b'>' => self.look(Look::WordEndAscii),
            b'`' => self.look(Look::Start),
            b'\'' => self.look(Look::End),
            // glibc does not put this octet in upper case: if case is ignored, `\d` matches nothing.
            other => self.literal(other),
        }
    }

    /// `{1}`, `{1,}`, `{1,3}` or `{,3}` behind its brace: how often at least and at most.
    fn interval(&mut self) -> Result<(u32, Option<u32>), RegexError> {
        let (low, mark) = self.number()?;
        let (least, most) = match (low, mark) {
            (Some(number), Mark::End) => (number, Some(number)),
            (None, Mark::End) => return Err(RegexError::malformed(INTERVAL)),
            (low, Mark::Comma) => match self.number()? {
                (high, Mark::End) => (low.unwrap_or(0), high),
                (_, Mark::Comma) => return Err(RegexError::malformed(INTERVAL)),
            },
        };
        if most.is_some_and(|most| most < least) {
            return Err(RegexError::malformed(INTERVAL));
        }
        if most.unwrap_or(least) > MAX_REPETITIONS {
            return Err(RegexError::TooBig);
        }
        Ok((least, most))
    }

    /// A number of an interval, if there is one, and what ends it.
    fn number(&mut self) -> Result<(Option<u32>, Mark), RegexError> {
        let mut number = None;
        loop {
            let octet = self.next().ok_or_else(|| RegexError::malformed("unmatched {"))?;
            let octet = match octet {
                // To glibc these are the same with a backslash.
                b'\\' => self.next().filter(|octet| matches!(octet, b',' | b'0')),
                other => Some(other),
            };
            match octet {
                Some(b',') => return Ok((number, Mark::Comma)),
                Some(b'}') => return Ok((number, Mark::End)),
                Some(digit @ b'0'..=b'9') => {
                    let digit = u32::from(digit - b'0');
                    number = Some(number.unwrap_or(0_u32).saturating_mul(10).saturating_add(digit));
                }
                _ => return Err(RegexError::malformed(INTERVAL)),
            }
        }
    }
}

/// What ends a number of an interval.
enum Mark {
    Comma,
    End,
}

/// glibc's `RE_DUP_MAX`.
const MAX_REPETITIONS: u32 = 32_767;
const INTERVAL: &str = "invalid content of {}";
