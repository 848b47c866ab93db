//! Random expressions, and texts that they may match.

use super::oracle::Case;

/// Numbers that a seed decides.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The numbers of splitmix64.
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.next() % u64::try_from(limit).unwrap()).unwrap()
    }

    fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len())]
    }

    /// A case of any kind.
    pub(super) fn case(&mut self) -> Case {
        let kind = self.below(10);
        let expression = match kind {
            0..3 => self.branches(3),
            3 => self.name_pattern(),
            4 => self.bracket(),
            5 => self.held_bracket(),
            6 => self.groups(),
            7 => self.soup(),
            _ => self.ambiguous(2),
        };
        let texts = match kind {
            4 => (0..16).map(|_| vec![self.octet()]).collect(),
            8.. => (0..4).map(|_| self.text(b"aab")).collect(),
            _ => (0..4).map(|_| self.text_like(&expression)).collect(),
        };
        Case {
            is_case_ignored: self.below(2) == 0,
            expression,
            texts,
        }
    }

    fn branches(&mut self, depth: usize) -> String {
        let count = self.one_of(&[1, 1, 1, 2, 3]);
        let branches: Vec<_> = (0..count).map(|_| self.branch(depth)).collect();
        branches.join("|")
    }

    fn branch(&mut self, depth: usize) -> String {
        let count = self.below(4);
        (0..count).map(|_| self.item(depth) + &self.repetition()).collect()
    }

    fn item(&mut self, depth: usize) -> String {
        match self.below(16) {
            0..6 => self.one_of(LITERALS).to_owned(),
            6 | 7 => self.bracket(),
            8..11 if depth > 0 => format!("({})", self.branches(depth - 1)),
            8 => self.one_of(ASSERTIONS).to_owned(),
            11 => self.one_of(&["^", "$"]).to_owned(),
            12 => format!("\\{}", self.one_of(ESCAPED)),
            _ => self.one_of(&["a", "b", "c"]).to_owned(),
        }
    }

    fn repetition(&mut self) -> String {
        match self.below(12) {
            0 => "*".to_owned(),
            1 => "+".to_owned(),
            2 => "?".to_owned(),
            3 => self.interval(),
            4 if self.below(3) == 0 => self.repetition() + &self.repetition(),
            _ => String::new(),
        }
    }

    fn interval(&mut self) -> String {
        let [low, high] = [(); 2].map(|()| self.one_of(&["", "0", "1", "2", "3", "02"]));
        match self.below(5) {
            0 | 1 => format!("{{{low}}}"),
            2 | 3 => format!("{{{low},{high}}}"),
            _ => self.one_of(INTERVALS).to_owned(),
        }
    }

    fn bracket(&mut self) -> String {
        let mut text = String::from(self.one_of(&["[", "[", "[^"])) + self.one_of(&["", "", "", "]", "-", "^"]);
        for _ in 0..=self.below(3) {
            text += &self.element();
        }
        text + self.one_of(&["", "", "", "-", "--"]) + self.one_of(&["]", "]", "]", "]", "]", "]", "]", ""])
    }

    fn element(&mut self) -> String {
        match self.below(8) {
            0..3 => self.one_of(ENDS).to_owned(),
            3..6 => format!("{}-{}", self.one_of(ENDS), self.one_of(ENDS)),
            6 => format!("[:{}:]", self.one_of(CLASSES)),
            _ => self.one_of(ELEMENTS).to_owned(),
        }
    }

    /// A bracket expression with something around it.
    fn held_bracket(&mut self) -> String {
        let (before, after) = (
            self.one_of(&["", "^", "^", "x"]),
            self.one_of(&["", "$", "*$", "+", "{2}"]),
        );
        format!("{before}{}{after}", self.bracket())
    }

    /// As settings have them.
    fn name_pattern(&mut self) -> String {
        let mut text = String::from(self.one_of(&["", "^", "^"]));
        for _ in 0..=self.below(3) {
            text += self.one_of(PARTS_OF_NAMES);
        }
        text + self.one_of(&["", "$", "$"])
    }

    /// Three groups of branches.
    fn groups(&mut self) -> String {
        let mut text = String::from("^");
        for _ in 0..3 {
            let mut branches: Vec<String> = Vec::new();
            for _ in 0..=self.below(3) {
                let length = 1 + self.below(3);
                branches.push((0..length).map(|_| self.one_of(&["a", "b", "c", "."])).collect());
            }
            text = text + "(" + &branches.join("|") + ")" + self.one_of(&["", "?", ""]);
        }
        text + self.one_of(&["$", "$", ""])
    }

    /// There are many ways to match a text of two letters with it.
    fn ambiguous(&mut self, depth: usize) -> String {
        let mut branches = Vec::new();
        for _ in 0..=self.below(3) {
            let mut branch = String::new();
            for _ in 0..=self.below(3) {
                let item = match self.below(3) {
                    0 if depth > 0 => format!("({})", self.ambiguous(depth - 1)),
                    _ => self.one_of(&["a", "b", "ab", "ba", "."]).to_owned(),
                };
                branch += &item;
                branch += self.one_of(&["", "", "", "*", "+", "?", "{2}", "{1,2}", "{,3}", "{2,}"]);
            }
            branches.push(branch);
        }
        let text = branches.join("|");
        if depth == 2 && self.below(2) == 0 {
            format!("^({text})$")
        } else {
            text
        }
    }

    /// Without a grammar.
    fn soup(&mut self) -> String {
        let length = self.below(12);
        (0..length).map(|_| self.one_of(SOUP)).collect()
    }

    fn octet(&mut self) -> u8 {
        u8::try_from(1 + self.below(255)).unwrap()
    }

    fn text(&mut self, octets: &[u8]) -> Vec<u8> {
        let length = self.below(10);
        (0..length).map(|_| self.one_of(octets)).collect()
    }

    /// A text of the octets that the expression has, and of others.
    fn text_like(&mut self, expression: &str) -> Vec<u8> {
        let length = self.below(9);
        let octets = (0..length).map(|_| match self.below(7) {
            0 | 1 if !expression.is_empty() => self.one_of(expression.as_bytes()),
            2 | 3 => self.one_of(b"abc"),
            4 => self.octet(),
            _ => self.one_of(OCTETS),
        });
        octets.collect()
    }
}

const LITERALS: &[&str] = &["a", "b", "c", "B", "-", "_", ".", ",", "é", "]", "}", " "];
const ASSERTIONS: &[&str] = &["^", "$", "\\b", "\\B", "\\<", "\\>", "\\`", "\\'"];
const OCTETS: &[u8] = b"abcABz_-+,./9%&~=^]\\\n\t \x01\x7f\xc3\xa9\xff";
#[rustfmt::skip]
const ESCAPED: &[&str] = &[
    "w", "W", "s", "S", "b", "B", "<", ">", "`", "'", "d", "D", "n", "t", "x41", "pL", "Qa", "E", "A", "z", "0", "1",
    "(", ")", "[", "]", "{", "}", "*", "+", "?", "|", "^", "$", ".", "\\", "-", ",", "/", "&", "~", "é", " ",
];
#[rustfmt::skip]
const INTERVALS: &[&str] = &[
    "{", "{1", "{1,", "{,", "{x}", "{1,2,3}", "{-1}", "{1}{2}", "{32768}", "{1\\,2}", "{,}", "{ 1}", "{2,1}", "{1,2",
    "{99999999999}", "{\\0}", "{1\\}", "{40000,1}", "{1,\\2}",
];
#[rustfmt::skip]
const ENDS: &[&str] = &[
    "a", "b", "c", "z", "A", "Z", "+", "-", "/", "%", "0", "9", "&", "~", "_", "^", "\\", "[", "!", ",", ".", "é", "`",
    "\u{7f}", "[.-.]", "[.a.]", "[.].]", "[=b=]", "[:alpha:]",
];
#[rustfmt::skip]
const CLASSES: &[&str] = &[
    "alnum", "alpha", "blank", "cntrl", "digit", "graph", "lower", "print", "punct", "space", "upper", "xdigit", "foo",
    "ALPHA", "",
];
#[rustfmt::skip]
const ELEMENTS: &[&str] = &[
    "&&", "~~", "--", "---", "+--", "a&&b", "[.hyphen.]", "[=ab=]", "[.", "[:alpha", "\\]", "\\d", "[[", "a-c-e",
];
#[rustfmt::skip]
const PARTS_OF_NAMES: &[&str] = &[
    "(.+,)?", "(.*)", "uid=([^,]+)", "(cn|ou)=a", "a=([a-c]*),", "([^,]+),", "c=b", ",", "(a|ab)", "(b=|b=a)",
];
#[rustfmt::skip]
const SOUP: &[&str] = &[
    "(", ")", "[", "]", "{", "}", "*", "+", "?", "|", "^", "$", ".", "\\", ",", "-", ":", "=", "a", "b", "A", "1", "2",
    "é", "\n", "\u{1}", "&", "~", "w", "<",
];
