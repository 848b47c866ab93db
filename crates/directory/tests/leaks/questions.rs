//! Random questions: searches, compares, and changes whose result depends only on an assertion control.

use std::fmt::Write as _;

use ironbark_ldap_proto::{
    CompareRequest, DerefAliases, EncodeControl, ModifyChange, ModifyOperation, ModifyRequest, Request, ResultCode,
    Scope, SearchRequest,
    controls::{
        AssertionControl, Control, DereferenceRequest, DereferenceSpecification, ListTarget, ManageDsaIt,
        MatchedValues, PagedResults, SortKey, SortKeys, VirtualListView,
    },
};
use ironbark_model::Filter;

use crate::leaks::{
    Random,
    content::{Content, NAMES, PLACES, VALUES, WORDS},
};
use ironbark_harness::{DecodedAnswer, TestClient, read_answer};

/// One request, as text where it can be.
#[derive(Debug)]
pub(crate) struct Question {
    kind: Kind,
    dn: String,
    filter: String,
    assertion: Option<String>,
    manages_references: bool,
}

#[derive(Debug)]
enum Kind {
    Search {
        scope: Scope,
        aliases: DerefAliases,
        names: &'static [&'static str],
        types_only: bool,
        size: u32,
        sort: Option<(&'static str, bool)>,
        page: Option<u32>,
        view: Option<(u32, ListTarget<'static>)>,
        matched: Option<String>,
        dereference: Option<&'static str>,
    },
    Compare(&'static str, &'static str),
    Modify,
}

const NAME_ATTRIBUTES: [&str; 4] = ["member", "seeAlso", "manager", "distinguishedName"];
const SELECTIONS: [&[&str]; 6] = [
    &["*"],
    &["1.1"],
    &["name"],
    &["cn", "sn"],
    &["@person"],
    &["description;lang-de", "member"],
];
const ASKED: [&str; 17] = [
    "name",
    "name",
    "sn",
    "sn;lang-de",
    "sn;lang-en",
    "cn",
    "cn;lang-de",
    "givenName",
    "title",
    "l",
    "uid",
    "description",
    "description;lang-de",
    "userPassword",
    "uidNumber",
    "objectClass",
    "entryDN",
];

impl Question {
    pub(crate) fn random(random: &mut Random, left: &Content) -> Self {
        let dn = match random.below(5) {
            0 => "dc=ex".to_owned(),
            1 => (*random.of(&[
                "ou=a,dc=ex",
                "ou=b,dc=ex",
                "cn=x,ou=a,dc=ex",
                "cn=x,cn=r1,ou=b,dc=ex",
                "",
            ]))
            .to_owned(),
            _ => (*random.of(&PLACES)).to_owned(),
        };
        let kind = match random.below(8) {
            0 | 1 => {
                let attribute = *random.of(&ASKED);
                Kind::Compare(attribute, value_of(random, attribute))
            }
            // A client that may not change a hidden entry learns that it exists, as in slapd.
            2 if left.0.iter().any(|entry| entry.dn == dn) => Kind::Modify,
            _ => Kind::Search {
                scope: *random.of(&[
                    Scope::BaseObject,
                    Scope::SingleLevel,
                    Scope::WholeSubtree,
                    Scope::WholeSubtree,
                ]),
                aliases: *random.of(&[
                    DerefAliases::Never,
                    DerefAliases::Never,
                    DerefAliases::Always,
                    DerefAliases::InSearching,
                ]),
                names: SELECTIONS[random.below(SELECTIONS.len())],
                types_only: random.one_in(8),
                size: if random.one_in(5) { 2 } else { 0 },
                sort: random.one_in(3).then(|| {
                    (
                        *random.of(&["sn", "name", "uid", "uidNumber", "cn;lang-de"]),
                        random.one_in(2),
                    )
                }),
                page: random.one_in(8).then_some(2),
                view: random.one_in(6).then(|| view(random)),
                matched: random.one_in(6).then(|| item(random)),
                dereference: random.one_in(6).then(|| *random.of(&["member", "seeAlso", "manager"])),
            },
        };
        let is_modify = matches!(kind, Kind::Modify);
        Self {
            kind,
            dn: if random.one_in(3) && !is_modify {
                "dc=ex".into()
            } else {
                dn
            },
            filter: filter(random, 0),
            assertion: (is_modify || random.one_in(6)).then(|| filter(random, 0)),
            manages_references: random.one_in(3),
        }
    }

    /// The whole answer, without the superior that noSuchObject names: as in slapd, no superior is named for a hidden
    /// entry.
    pub(crate) fn ask(&self, client: &mut TestClient) -> Vec<u8> {
        let octets = self.answer(client);
        let answer = read_answer(&octets);
        if answer.code != ResultCode::NO_SUCH_OBJECT.0 {
            return octets;
        }
        let matched_dn = String::new();
        format!("{:?}", DecodedAnswer { matched_dn, ..answer }).into_bytes()
    }

    fn answer(&self, client: &mut TestClient) -> Vec<u8> {
        let mut controls: Vec<Box<dyn EncodeControl + '_>> = Vec::new();
        if self.manages_references {
            controls.push(Box::new(Control::critical(ManageDsaIt)));
        }
        if let Some(text) = &self.assertion {
            controls.push(Box::new(Control::critical(AssertionControl(parse(text)))));
        }
        match &self.kind {
            Kind::Compare(attribute, value) => {
                let request = CompareRequest {
                    entry: self.dn.as_bytes(),
                    attribute: attribute.as_bytes(),
                    value: value.as_bytes(),
                };
                send(client, &Request::Compare(request), &controls)
            }
            Kind::Modify => {
                let values = [&b"nobody may write this"[..]];
                let changes = [ModifyChange {
                    operation: ModifyOperation::Add,
                    attribute: b"title",
                    values: values.as_slice().into(),
                }];
                let request = ModifyRequest {
                    object: self.dn.as_bytes(),
                    changes: changes.as_slice().into(),
                };
                send(client, &Request::Modify(request), &controls)
            }
            Kind::Search { .. } => self.search(client, &controls),
        }
    }

    fn search(&self, client: &mut TestClient, given: &[Box<dyn EncodeControl + '_>]) -> Vec<u8> {
        let Kind::Search {
            scope,
            aliases,
            names,
            types_only,
            size,
            sort,
            page,
            view,
            matched,
            dereference,
        } = &self.kind
        else {
            return Vec::new();
        };
        let names: Vec<&[u8]> = names.iter().map(|name| name.as_bytes()).collect();
        let shown: [&[u8]; 2] = [b"sn", b"cn"];
        let keys: Vec<SortKey<'_>> = sort
            .iter()
            .map(|(attribute, reverse)| SortKey {
                attribute: attribute.as_bytes(),
                ordering_rule: (*attribute != "uidNumber").then_some(b"caseIgnoreOrderingMatch"),
                reverse: *reverse,
            })
            .collect();
        let specifications: Vec<DereferenceSpecification<'_>> = dereference
            .iter()
            .map(|attribute| DereferenceSpecification {
                attribute: attribute.as_bytes(),
                attributes: shown.as_slice().into(),
            })
            .collect();
        let sorted = Control::optional(SortKeys(keys.as_slice().into()));
        let dereferenced = Control::critical(DereferenceRequest(specifications.as_slice().into()));
        let paged = page.map(|size| Control::critical(PagedResults { size, cookie: b"" }));
        let view = view.map(|(around, target)| {
            Control::critical(VirtualListView {
                before: around,
                after: around,
                target,
                context_id: None,
            })
        });
        let matched = matched
            .as_ref()
            .map(|text| Control::critical(MatchedValues(vec![parse(text)])));
        let mut controls: Vec<&dyn EncodeControl> = given.iter().map(AsRef::as_ref).collect();
        if !keys.is_empty() {
            controls.push(&sorted);
        }
        if !specifications.is_empty() {
            controls.push(&dereferenced);
        }
        controls.extend(paged.iter().map(|control| control as &dyn EncodeControl));
        controls.extend(view.iter().map(|control| control as &dyn EncodeControl));
        controls.extend(matched.iter().map(|control| control as &dyn EncodeControl));
        let request = SearchRequest {
            base: self.dn.as_bytes(),
            scope: *scope,
            deref_aliases: *aliases,
            size_limit: *size,
            time_limit: 0,
            types_only: *types_only,
            filter: parse(&self.filter),
            attributes: names.as_slice().into(),
        };
        client.send_for_octets(&Request::Search(request), &controls)
    }
}

fn send(client: &mut TestClient, request: &Request<'_>, controls: &[Box<dyn EncodeControl + '_>]) -> Vec<u8> {
    let controls: Vec<&dyn EncodeControl> = controls.iter().map(AsRef::as_ref).collect();
    client.send_for_octets(request, &controls)
}

/// A part of the list, which needs a sort: without one it is refused.
fn view(random: &mut Random) -> (u32, ListTarget<'static>) {
    let target = if random.one_in(2) {
        ListTarget::Value(random.word(&VALUES).as_bytes())
    } else {
        ListTarget::Offset {
            offset: *random.of(&[1, 2, 3, 9]),
            content_count: *random.of(&[0, 3, 10]),
        }
    };
    (*random.of(&[0, 1, 100]), target)
}

fn parse(text: &str) -> Filter<'_> {
    Filter::parse(text.as_bytes(), 20).expect("a filter")
}

fn value_of(random: &mut Random, attribute: &str) -> &'static str {
    match attribute {
        "objectClass" => random.word(&["thing", "organizationalUnit", "referral"]),
        "uidNumber" => random.word(&["1", "2", "30"]),
        "entryDN" => random.word(&PLACES),
        _ if NAMES.contains(&attribute) || attribute == "distinguishedName" => random.word(&PLACES),
        _ => random.word(&VALUES),
    }
}

fn filter(random: &mut Random, depth: usize) -> String {
    if depth > 3 || random.below(5) < 2 {
        return item(random);
    }
    match random.below(4) {
        0 => format!("(!{})", filter(random, depth + 1)),
        1 => format!("(&{}{})", filter(random, depth + 1), filter(random, depth + 1)),
        2 => format!("(|{}{})", filter(random, depth + 1), filter(random, depth + 1)),
        // Many equalities on one attribute are looked up at once.
        _ => {
            let attribute = *random.of(&["name", "sn", "description", "uid"]);
            let mut text = String::from("(|");
            for _ in 0..5 {
                write!(text, "({attribute}={})", random.word(&VALUES)).expect("writes");
            }
            text + &filter(random, depth + 1) + ")"
        }
    }
}

fn item(random: &mut Random) -> String {
    let attribute = *random.of(&ASKED);
    let value = value_of(random, attribute);
    let start = &value[..1];
    match random.below(13) {
        0 | 1 => format!("({attribute}={value})"),
        2 => format!("({attribute}=*)"),
        3 => format!("({attribute}={start}*)"),
        4 => format!("({attribute}=*{}*)", &value[value.len() / 2..]),
        5 => format!("({attribute}>={value})"),
        6 => format!("({attribute}<={value})"),
        7 => format!("({attribute}~={value})"),
        8 => format!("({attribute}:caseExactMatch:={value})"),
        9 => format!("({attribute}:dn:={value})"),
        10 => format!(
            "(:{}:={value})",
            random.word(&["caseExactMatch", "caseIgnoreMatch", "dn:caseIgnoreMatch"])
        ),
        11 => format!(
            "({}:1.2.840.113556.1.4.1941:={})",
            random.word(&NAME_ATTRIBUTES),
            random.word(&PLACES)
        ),
        _ => format!("({}={})", random.word(&NAME_ATTRIBUTES), random.word(&PLACES)),
    }
}

/// There are questions about every attribute of the content.
const _: () = assert!(WORDS.len() < ASKED.len());
