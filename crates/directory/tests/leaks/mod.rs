//! Data that a subject may not read have no effect on any answer that it gets.
//!
//! There is a directory, and a copy without everything on which the rules give the subject no privilege. Both get the
//! same random questions under the same random rules: every octet of the answers must be the same, except for the
//! superior that noSuchObject names. A third directory, with indexes, is compared too.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::unwrap_used,
    reason = "a panic fails the test"
)]

mod content;
mod questions;
mod rules;

use content::{Content, SCHEMA};
use ironbark_harness::Site;
use questions::Question;
use rules::Rules;

/// Rounds of random content and rules; `IRONBARK_LEAK_ROUNDS` sets another number.
const ROUNDS: u64 = 150;
/// Questions that each subject asks in a round.
const QUESTIONS: usize = 60;

#[test]
fn what_may_not_be_read_changes_no_answer() {
    let rounds = std::env::var("IRONBARK_LEAK_ROUNDS").map_or(ROUNDS, |text| text.parse().expect("a number"));
    let first = std::env::var("IRONBARK_LEAK_FIRST").map_or(0, |text| text.parse().expect("a number"));
    for round in first..first + rounds {
        let mut random = Random(0x5eed_0001 + round * 7919);
        let content = Content::random(&mut random);
        let rules = Rules::random(&mut random);
        let subject = *random.of(&content::SUBJECTS);
        let left = content.without_what_is_hidden(&rules, subject);
        let indexes = if random.one_in(2) { content::INDEXES } else { "" };
        let sites = [
            site(&rules, "", &content),
            site(&rules, content::INDEXES, &content),
            site(&rules, indexes, &left),
        ];
        // New connections, which have no state from the loading of the content.
        let mut clients = sites.each_ref().map(Site::connect);
        for client in &mut clients {
            client.become_(subject);
        }
        for number in 0..QUESTIONS {
            let question = Question::random(&mut random, &left);
            let answers = clients.each_mut().map(|client| question.ask(client));
            let say = |what: &str, a: &[u8], b: &[u8]| {
                panic!(
                    "round {round}, question {number}: {what}\nas {subject:?}\n{question:?}\n{}\n{}\nhidden:\n{}\n\n{}\n\n{}",
                    rules.text(),
                    content.text(),
                    content.difference(&left),
                    a.escape_ascii(),
                    b.escape_ascii(),
                )
            };
            if answers[0] != answers[2] {
                say("the answer tells of what is hidden", &answers[0], &answers[2]);
            }
            if answers[0] != answers[1] {
                say("an index changes the answer", &answers[0], &answers[1]);
            }
        }
    }
}

fn site(rules: &Rules, indexes: &str, content: &Content) -> Site {
    let mut site = Site::open_with_views(SCHEMA, &format!("dbnosync\n{}\n{indexes}", rules.text()));
    content.load(&mut site);
    site
}

/// Numbers that are the same in every run (splitmix64).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound as u64).expect("fits")
    }

    pub(crate) fn one_in(&mut self, chance: usize) -> bool {
        self.below(chance) == 0
    }

    pub(crate) fn word(&mut self, all: &[&'static str]) -> &'static str {
        all[self.below(all.len())]
    }

    pub(crate) fn of<'a, T>(&mut self, all: &'a [T]) -> &'a T {
        &all[self.below(all.len())]
    }
}
