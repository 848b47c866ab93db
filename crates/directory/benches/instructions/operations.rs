//! Whole operations, from the request's bytes to the response's.

use ironbark_directory::{Progress, Started};
use ironbark_harness::Site;
use ironbark_ldap_proto::{
    Authentication, BindRequest, DecodeLimits, Request, Response, ResponseMessage, ResultCode, frame,
};

use crate::{
    accounts::{Account, Accounts, SIX_RULES},
    count, protocol,
};

/// Counts operations as a connection asks for them.
pub fn count_all(accounts: &mut Accounts) {
    let all = &accounts.all;
    let requests = |make: &dyn Fn(&Account) -> Vec<u8>| all.iter().map(make).collect::<Vec<_>>();
    let equality = requests(&|account| protocol::search(&protocol::equality(account)));
    let conjunction = requests(&|account| protocol::search(&protocol::conjunction(account)));
    let substring = requests(&|account| protocol::search(&protocol::substring(account)));
    let base = requests(&protocol::base);
    let compare = requests(&protocol::compare);
    let bind = requests(&bind);
    let user = all[0].dn.clone();
    let every = protocol::search("(objectClass=zimbraAccount)");
    let site = &mut accounts.site;
    site.become_("cn=root,dc=ex");
    answer(site, "search-equality", &equality, ResultCode::SUCCESS);
    answer(site, "search-and", &conjunction, ResultCode::SUCCESS);
    answer(site, "search-substring", &substring, ResultCode::SUCCESS);
    answer(site, "search-base", &base, ResultCode::SUCCESS);
    answer(site, "search-every-account", &[every], ResultCode::SUCCESS);
    site.become_(&user);
    answer(site, "search-equality-under-rules", &equality, ResultCode::SUCCESS);
    answer(site, "compare-under-rules", &compare, ResultCode::COMPARE_TRUE);
    answer(site, "bind-ssha", &bind, ResultCode::SUCCESS);
    accounts.rule(SIX_RULES);
    search_as(accounts, &user, "search-equality-six-rules", &equality);
    // An expression that no part of the name rules out.
    accounts.rule(&SIX_RULES.replace("^ou", "^(.+,)?ou").replace("$1", "$2"));
    search_as(accounts, &user, "search-equality-open-expression", &equality);
}

fn search_as(accounts: &mut Accounts, user: &str, name: &str, pdus: &[Vec<u8>]) {
    let site = &mut accounts.site;
    site.become_(user);
    answer(site, name, pdus, ResultCode::SUCCESS);
}

/// The password of an account is its uid.
fn bind(account: &Account) -> Vec<u8> {
    protocol::encoded(&Request::Bind(BindRequest {
        version: 3,
        name: account.dn.as_bytes(),
        authentication: Authentication::Simple(account.uid.as_bytes()),
    }))
}

fn answer(site: &mut Site, name: &str, pdus: &[Vec<u8>], result: ResultCode) {
    let mut out = Vec::with_capacity(1 << 20);
    let (worker, session) = site.parts();
    count(name, pdus.len(), &mut |number| {
        out.clear();
        match worker.start(session, &pdus[number], &mut out) {
            Started::Answered => {}
            Started::Search(mut run) => while worker.step(session, &mut run, &mut out) == Progress::More {},
            Started::Submitted(_) | Started::StartTls | Started::Held(..) | Started::Disconnect(_) => {
                panic!("{name} is not answered at once")
            }
        }
    });
    check(name, &out, result);
}

/// The last answer is the one that was meant: a search finds something, a name without rights would not.
fn check(name: &str, mut out: &[u8], result: ResultCode) {
    let (mut entries, mut code) = (0, None);
    while let Some(length) = frame(out, 1 << 24).expect("frames") {
        let (pdu, rest) = out.split_at(length);
        out = rest;
        let message = ResponseMessage::decode(pdu, &DecodeLimits::default()).expect("decodes");
        match message.operation {
            Response::SearchEntry(entry) => {
                assert!(entry.attributes.len() >= 40, "{name}: a whole account");
                entries += 1;
            }
            Response::Done(_, done) => code = Some(done.code),
            Response::Bind(response) => code = Some(response.result.code),
            other => panic!("{name}: {other:?}"),
        }
    }
    assert_eq!(code, Some(result), "{name}");
    assert_eq!(entries > 0, name.starts_with("search"), "{name}: {entries} entries");
}
