//! Advice as text: the indexes that would pay and why, the lines to configure them in both forms, and the unused
//! indexes.

use std::fmt::Write as _;

use ironbark_advisor::index::{self, DatabaseStatistics, Proposal, words};

/// The most filters that are named for one proposal.
const MOST_FILTERS: usize = 3;

/// The whole text. Writing to a string cannot fail.
pub(super) fn text(databases: &[DatabaseStatistics], advice: &[Vec<Proposal>]) -> String {
    let mut text = String::new();
    for (database, proposals) in databases.iter().zip(advice) {
        let searches: u64 = database.searches.iter().map(|asked| asked.searches).sum();
        let _ = writeln!(
            text,
            "{}: {} entries, {searches} searches remembered since the server started",
            database.suffix, database.entries
        );
        if proposals.is_empty() {
            text.push_str("  no further index would pay\n");
        }
        for proposal in proposals {
            explain(&mut text, proposal);
        }
        if !proposals.is_empty() {
            lines(&mut text, database, proposals);
        }
        unused(&mut text, database);
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

fn explain(text: &mut String, proposal: &Proposal) {
    let names: Vec<_> = proposal
        .indexes
        .iter()
        .map(|term| format!("{} {}", term.attribute, term.kind.word()))
        .collect();
    let searches = proposal.searches.max(1);
    let _ = writeln!(
        text,
        "  index {}: {} searches looked at {} entries each and returned {}; up to {} need not be looked at ({} in all)",
        names.join(" together with "),
        proposal.searches,
        proposal.candidates / searches,
        proposal.entries / searches,
        proposal.gain() / searches,
        proposal.gain()
    );
    for filter in proposal.filters.iter().take(MOST_FILTERS) {
        let _ = writeln!(text, "    {filter}");
    }
    if let Some(more @ 1..) = proposal.filters.len().checked_sub(MOST_FILTERS) {
        let _ = writeln!(text, "    and {more} more");
    }
}

/// The lines for slapd.conf and for ldapmodify.
fn lines(text: &mut String, database: &DatabaseStatistics, proposals: &[Proposal]) {
    let wanted = index::lines(database, proposals);
    text.push_str("  in slapd.conf:\n");
    for line in &wanted {
        if !line.before.is_empty() {
            let _ = writeln!(text, "    # in place of {} {}", line.attribute, words(&line.before));
        }
        let _ = writeln!(text, "    index {}", line.text());
    }
    let _ = writeln!(
        text,
        "  for ldapmodify:\n    dn: olcDatabase={{{}}}mdb,cn=config\n    changetype: modify",
        database.number
    );
    for line in wanted.iter().filter(|line| !line.before.is_empty()) {
        let (attribute, before) = (&line.attribute, words(&line.before));
        let _ = writeln!(
            text,
            "    delete: olcDbIndex\n    olcDbIndex: {attribute} {before}\n    -"
        );
    }
    text.push_str("    add: olcDbIndex\n");
    for line in &wanted {
        let _ = writeln!(text, "    olcDbIndex: {}", line.text());
    }
}

/// Indexes that cost writes and that no search uses. objectClass is always indexed.
fn unused(text: &mut String, database: &DatabaseStatistics) {
    let is_unused =
        |index: &&index::Index| index.uses == 0 && !index.term.attribute.eq_ignore_ascii_case("objectClass");
    let names: Vec<_> = database
        .indexes
        .iter()
        .filter(is_unused)
        .map(|index| format!("{} {}", index.term.attribute, index.term.kind.word()))
        .collect();
    if !names.is_empty() {
        let _ = writeln!(text, "  no search has used: {}", names.join(", "));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ironbark_advisor::index::{Index, IndexType, SearchStatistics, Term, advise};

    #[test]
    fn advice_has_both_forms_of_configuration() {
        let term = |attribute: &str, kind| Term {
            attribute: attribute.to_owned(),
            kind,
        };
        let database = DatabaseStatistics {
            suffix: "dc=example,dc=com".to_owned(),
            number: "2".to_owned(),
            entries: 1_000,
            indexes: ["objectClass eq 0", "sn pres 0", "uid eq 12", "cn sub 0"]
                .iter()
                .filter_map(|text| Index::parse(text))
                .collect(),
            searches: vec![SearchStatistics {
                filter: "(|(sn=?)(mail=*?*))".to_owned(),
                terms: vec![
                    (term("sn", IndexType::Equality), false),
                    (term("mail", IndexType::Substring), false),
                ],
                searches: 4,
                candidates: Some(4_000),
                entries: 8,
            }],
        };
        let databases = [database];
        assert_eq!(
            text(&databases, &advise(&databases, 100)),
            "dc=example,dc=com: 1000 entries, 4 searches remembered since the server started\n\
             \x20 index mail sub together with sn eq: 4 searches looked at 1000 entries each and returned 2; up to 998 need not \
             be looked at (3992 in all)\n\
             \x20   (|(sn=?)(mail=*?*))\n\
             \x20 in slapd.conf:\n\
             \x20   index mail sub\n\
             \x20   # in place of sn pres\n\
             \x20   index sn eq,pres\n\
             \x20 for ldapmodify:\n\
             \x20   dn: olcDatabase={2}mdb,cn=config\n\
             \x20   changetype: modify\n\
             \x20   delete: olcDbIndex\n\
             \x20   olcDbIndex: sn pres\n\
             \x20   -\n\
             \x20   add: olcDbIndex\n\
             \x20   olcDbIndex: mail sub\n\
             \x20   olcDbIndex: sn eq,pres\n\
             \x20 no search has used: sn pres, cn sub\n"
        );
    }
}
