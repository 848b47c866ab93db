//! Compiling and planning a filter, matching it against a stored record, encoding the record.

use std::hint::black_box;

use ironbark_ldap_proto::{MessageId, SearchEntryWriter};
use ironbark_model::{CompiledFilter, Dn, Filter, Truth};
use ironbark_store::{AnswerCache, DitScope, EntryId, Kinds, Location, View};

use crate::{
    accounts::{ACCOUNTS, Account, Accounts},
    count, protocol,
};

/// Counts what the store does for a search.
pub fn count_all(accounts: &Accounts) {
    let configuration = accounts.site.directory.configuration();
    let database = configuration.contexts.iter().find_map(|context| context.database());
    let snapshot = database.expect("a database").snapshot().expect("a snapshot");
    let view = snapshot.view();
    let base = locate(view, "dc=ex");
    let ids: Vec<EntryId> = accounts.all.iter().map(|account| locate(view, &account.dn)).collect();
    for (kind, filter) in KINDS {
        let texts: Vec<String> = accounts.all.iter().map(filter).collect();
        plan_and_match(view, kind, &texts, base, &ids);
    }
    encode(view, accounts, &ids);
}

fn plan_and_match(view: View<'_>, kind: &str, texts: &[String], base: EntryId, ids: &[EntryId]) {
    let parsed: Vec<Filter<'_>> = texts
        .iter()
        .map(|text| Filter::parse(text.as_bytes(), 10).expect("a filter"))
        .collect();
    let mut compiled: Vec<CompiledFilter> = texts.iter().map(|_| CompiledFilter::default()).collect();
    count(&format!("compile-{kind}"), ACCOUNTS, &mut |number| {
        compiled[number].compile(view.schema(), &parsed[number]);
    });
    count(&format!("plan-{kind}"), ACCOUNTS, &mut |number| {
        let plan = view.plan(base, DitScope::Subtree, &compiled[number]).expect("a plan");
        assert!(black_box(plan).indexed);
    });
    let plan = |filter| view.plan(base, DitScope::Subtree, filter).expect("a plan");
    let plans: Vec<_> = compiled.iter().map(plan).collect();
    let mut scratch = Vec::with_capacity(256);
    count(&format!("match-{kind}"), ACCOUNTS, &mut |number| {
        let record = view.record(ids[number]).expect("readable").expect("there");
        let truth = record.evaluate_planned(&plans[number], &compiled[number], &mut scratch);
        assert_eq!(truth, Truth::True);
    });
}

/// The answer of a search for all user attributes that no access rule restricts.
fn encode(view: View<'_>, accounts: &Accounts, ids: &[EntryId]) {
    let records: Vec<_> = ids
        .iter()
        .map(|id| view.record(*id).expect("readable").expect("there"))
        .collect();
    let id = MessageId::new(7).expect("in range");
    let (mut answers, mut out) = (AnswerCache::default(), Vec::with_capacity(1 << 16));
    count("encode-entry", ACCOUNTS, &mut |number| {
        out.clear();
        let mut writer = SearchEntryWriter::begin(&mut out, id, accounts.all[number].dn.as_bytes());
        records[number]
            .append_attributes(writer.attributes(), &mut answers, USER_ATTRIBUTES, |_| false)
            .expect("readable");
        writer.finish(&[]);
        assert!(out.len() > 1_500, "a whole account");
    });
}

fn locate(view: View<'_>, dn: &str) -> EntryId {
    let dn = Dn::parse(view.schema(), dn.as_bytes()).expect("a DN");
    match view.locate(&dn).expect("readable") {
        Location::Entry(id) => id,
        Location::Missing { .. } => panic!("{} is missing", dn.pretty()),
    }
}

type MakeFilter = fn(&Account) -> String;

const KINDS: [(&str, MakeFilter); 3] = [
    ("equality", protocol::equality),
    ("and", protocol::conjunction),
    ("substring", protocol::substring),
];

/// What a search without an attribute list asks for.
const USER_ATTRIBUTES: Kinds = Kinds {
    user: true,
    operational: false,
};
