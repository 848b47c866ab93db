//! The rules of RFC 4515 and RFC 4511 §4.5.1.7, and what slapd 2.5 logs for the same filters.

mod undefined;

use proptest::prelude::*;

use super::*;
use crate::{Dn, Entry, entry::EntrySource, test_schema::schema};

fn parse(text: &str) -> Filter<'_> {
    Filter::parse(text.as_bytes(), 100).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn rfc_4515_examples_survive_a_round_trip() {
    for text in [
        "(cn=Babs Jensen)",
        "(!(cn=Tim Howes))",
        "(&(objectClass=Person)(|(sn=Jensen)(cn=Babs J*)))",
        "(o=univ*of*mich*)",
        "(seeAlso=)",
        "(cn:caseExactMatch:=Fred Flintstone)",
        "(cn:=Betty Rubble)",
        "(sn:dn:2.4.6.8.10:=Barney Rubble)",
        "(o:dn:=Ace Industry)",
        "(:1.2.3:=Wilma Flintstone)",
        "(:dn:2.4.6.8.10:=Dino)",
        "(o=Parens R Us \\28for all your parenthetical needs\\29)",
        "(cn=*\\2A*)",
        "(filename=C:\\5CMyFile)",
        "(bin=\\00\\00\\00\\04)",
        "(sn=Lu\\C4\\8Di\\C4\\87)",
        "(cn=*)",
        "(cn~=x)",
        "(cn>=x)",
        "(cn<=x)",
        "(&)",
        "(|)",
        "(cn;lang-en;x-y=a)",
        "(2.5.4.3=a)",
    ] {
        assert_eq!(parse(text).to_string(), text);
    }
}

#[test]
fn leniencies_of_ldap_utils() {
    assert_eq!(parse("cn=x").to_string(), "(cn=x)");
    assert_eq!(parse(" ( & (cn=a) ( |(cn=b) ) ) ").to_string(), "(&(cn=a)(|(cn=b)))");
    assert_eq!(parse("(cn=a\\)b\\*c\\(\\\\)").to_string(), "(cn=a\\29b\\2Ac\\28\\5C)");
    assert_eq!(parse("(cn= a )").to_string(), "(cn= a )");
    assert_eq!(parse("(CN:DN:=x)").to_string(), "(CN:dn:=x)");
}

#[test]
fn escapes_are_undone_only_where_needed() {
    let filter = parse("(cn=plain)");
    let Filter::Equality(Assertion { value, .. }) = &filter else {
        panic!()
    };
    assert!(matches!(value, Cow::Borrowed(b"plain")));
    let filter = parse("(cn=a\\2a*b*c)");
    let Filter::Substrings {
        initial, any, r#final, ..
    } = &filter
    else {
        panic!()
    };
    assert_eq!(
        (initial.as_deref(), any[0].as_ref(), r#final.as_deref()),
        (Some(&b"a*"[..]), &b"b"[..], Some(&b"c"[..]))
    );
}

#[test]
fn malformed_filters_are_refused_with_their_place() {
    use FilterErrorKind as Kind;
    for (text, offset, kind) in [
        ("", 0, Kind::BadDescription),
        ("(cn=a", 5, Kind::Unbalanced),
        ("(&(cn=a)", 8, Kind::Unbalanced),
        ("(cn=a)(sn=b)", 6, Kind::Unexpected),
        ("((cn=a))", 1, Kind::BadValue),
        ("(cn=a(b)", 5, Kind::BadValue),
        ("(&cn=a)", 2, Kind::Unexpected),
        ("(!)", 1, Kind::NotOperands),
        ("(!(cn=a)(cn=b))", 1, Kind::NotOperands),
        ("(cn=a**b)", 6, Kind::EmptySubstring),
        ("(cn=**)", 5, Kind::EmptySubstring),
        ("(cn=\\zz)", 4, Kind::BadValue),
        ("(cn=\\4)", 4, Kind::BadValue),
        ("(cn>=a*)", 5 + 1, Kind::BadValue),
        ("(bad attr=x)", 1, Kind::BadDescription),
        ("(c_n=x)", 1, Kind::BadDescription),
        ("(=x)", 1, Kind::BadDescription),
        ("(cn;=x)", 1, Kind::BadDescription),
        ("(:=x)", 1, Kind::BadDescription),
        ("(:dn:=x)", 1, Kind::BadDescription),
        ("(cn:dn:a:b:=x)", 1, Kind::BadDescription),
        ("(cn)", 1, Kind::BadDescription),
        (")", 0, Kind::BadDescription),
    ] {
        let result = Filter::parse(text.as_bytes(), 100);
        let error = result.map(|f| f.to_string()).unwrap_err();
        assert_eq!(error.kind, kind, "{text}");
        assert!(error.offset.abs_diff(offset) <= 2, "{text}: {}", error.offset);
    }
}

#[test]
fn depth_is_limited_and_costs_no_stack() {
    let nested = |depth: usize| format!("{}(cn=a){}", "(!".repeat(depth), ")".repeat(depth));
    assert_eq!(
        Filter::parse(nested(3).as_bytes(), 2).unwrap_err().kind,
        FilterErrorKind::TooDeep
    );
    assert!(Filter::parse(nested(2).as_bytes(), 2).is_ok());
    let text = nested(MAX_DEPTH);
    let filter = Filter::parse(text.as_bytes(), usize::MAX).unwrap();
    assert_eq!(filter.to_string(), text);
    assert_eq!(evaluate(&text, &entry()), Truth::False);
    assert_eq!(evaluate(&nested(MAX_DEPTH - 1), &entry()), Truth::True);
    assert_eq!(
        Filter::parse(nested(MAX_DEPTH + 1).as_bytes(), usize::MAX)
            .unwrap_err()
            .kind,
        FilterErrorKind::TooDeep
    );
}

/// Filters, and what slapd 2.5 prints for them in `SRCH base=... filter="..."`.
const LOGGED: &[(&str, &str)] = &[
    ("(&(objectClass=*)(cn=a\\2Ab))", "(&(objectClass=*)(cn=a\\2Ab))"),
    ("(foo=bar)", "(?foo=bar)"),
    ("(CN=A  B)", "(cn=a b)"),
    ("(2.5.4.3=x)", "(cn=x)"),
    ("(&)", "(?=true)"),
    ("(|)", "(?=false)"),
    ("(!(foo=*))", "(!(?foo=*))"),
    ("(foo=a*)", "(?foo=a*)"),
    ("(uidNumber>=abc)", "(?uidNumber>=abc)"),
    ("(uidNumber=007)", "(?uidNumber=007)"),
    ("(uidNumber=7)", "(uidNumber=7)"),
    ("(cn:dn:=x)", "(cn:dn:=x)"),
    ("(cn:dn:2.5.13.2:=X)", "(cn:dn:2.5.13.2:=x)"),
    ("(:caseIgnoreMatch:=X)", "(:caseIgnoreMatch:=x)"),
    ("(:badrule:=X)", "(?=undefined)"),
    ("(cn:badrule:=X)", "(?=undefined)"),
    ("(cn:integerMatch:=X)", "(?=undefined)"),
    ("(jpegPhoto=x)", "(?jpegPhoto=x)"),
    ("(cn=\\c3\\a4)", "(cn=\\C3\\A4)"),
    ("(cn=\\28\\29\\5cx)", "(cn=\\28\\29\\5Cx)"),
    ("(objectClass=person)", "(objectClass=person)"),
    ("(objectClass=2.5.6.6)", "(objectClass=person)"),
    ("(objectClass=nosuch)", "(?objectClass=nosuch)"),
    ("(objectClass=top*)", "(?objectClass=top*)"),
    ("(cn~=X)", "(cn~=x)"),
    ("(cn<=a)", "(?cn<=a)"),
    ("(seeAlso=CN=A, DC=b)", "(seeAlso=cn=a,dc=b)"),
    ("(seeAlso=foo)", "(?seeAlso=foo)"),
    ("(cn;lang-en=x)", "(cn;lang-en=x)"),
    ("(cn=)", "(?cn=)"),
    ("(cn=*a)", "(cn=*a)"),
    ("(cn=A B*)", "(cn=a b*)"),
    ("(uidNumber=1*)", "(?uidNumber=1*)"),
    (
        "(createTimestamp>=20200101000000Z)",
        "(createTimestamp>=20200101000000Z)",
    ),
    (
        "(entryUUID=550E8400-e29b-41d4-a716-446655440000)",
        "(entryUUID=550e8400-e29b-41d4-a716-446655440000)",
    ),
    (
        "(uidNumber:1.2.840.113556.1.4.803:=1)",
        "(uidNumber:1.2.840.113556.1.4.803:=1)",
    ),
    (
        "(entryDN:dnSubtreeMatch:=dc=Example,dc=com)",
        "(entryDN:dnSubtreeMatch:=dc=example,dc=com)",
    ),
    ("(telephoneNumber=+1 23)", "(telephoneNumber=+123)"),
    ("(mail=A@b)", "(mail=a@b)"),
    ("(hasSubordinates=TRUE)", "(hasSubordinates=TRUE)"),
    ("(&(cn=a)(foo=b))", "(&(cn=a)(?foo=b))"),
];

#[test]
fn the_log_prints_filters_as_slapd() {
    let schema = schema();
    for (text, logged) in LOGGED {
        assert_eq!(
            log::LogFilter::new(&schema, &parse(text)).to_string(),
            *logged,
            "{text}"
        );
    }
}

#[test]
fn what_filters_assert_of_passwords_is_not_logged() {
    let schema = schema();
    for (text, logged) in [
        ("(userPassword=x)", "(userPassword=***)"),
        ("(USERPASSWORD;lang-en=x)", "(userPassword;lang-en=***)"),
        ("(2.5.4.35:=x)", "(userPassword=***)"),
        ("(userPassword=x*y)", "(?userPassword=***)"),
        ("(sambaNTPassword>=x)", "(?sambaNTPassword=***)"),
        ("(&(cn=a)(!(userPassword=x)))", "(&(cn=a)(!(userPassword=***)))"),
        ("(userPassword=*)", "(userPassword=*)"),
    ] {
        assert_eq!(log::LogFilter::new(&schema, &parse(text)).to_string(), logged, "{text}");
    }
}

#[test]
fn what_is_logged_of_a_filter_takes_little() {
    let schema = schema();
    let logged = |text: &str| log::LogFilter::new(&schema, &parse(text)).to_string();
    let phrases = format!("(|(cn=a)(cn={})(cn=b))", "\u{fdfa}".repeat(10_000));
    assert_eq!(logged(&phrases), "(|(cn=a)...");
    let many = format!("(|{})", "(cn=a)".repeat(100_000));
    assert!(logged(&many).len() < 20_000);
    let long = format!("(cn={})", "a".repeat(50_000));
    assert_eq!(logged(&long), long);
}

fn entry() -> Entry {
    let schema = schema();
    let mut entry = Entry::new(Dn::parse(&schema, b"cn=Babs Jensen,ou=Product Development,dc=example").unwrap());
    for (name, value) in [
        ("objectClass", "inetOrgPerson"),
        ("cn", "Babs Jensen"),
        ("cn;lang-en", "Barbara"),
        ("sn", "Jensen"),
        ("uidNumber", "5"),
        ("level", "-3"),
        ("level", "12"),
        ("seeAlso", "cn=Boss,dc=Example"),
        ("mail", "babs@example.com"),
        ("telephoneNumber", "+1 408 555"),
    ] {
        let description = schema.attribute_description(name.as_bytes()).unwrap();
        assert!(entry.add_value(&schema, &description, value.as_bytes()));
    }
    entry
}

fn evaluate(text: &str, entry: &Entry) -> Truth {
    let schema = schema();
    let mut filter = CompiledFilter::default();
    filter.compile(&schema, &Filter::parse(text.as_bytes(), 10_000).unwrap());
    let source = EntrySource::new(&schema, &filter, entry);
    filter.evaluate(&schema, &source, &mut Vec::new())
}

#[test]
fn items_hold_by_their_rules() {
    use Truth::{False, True, Undefined};
    let entry = entry();
    for (text, truth) in [
        ("(cn=BABS  jensen)", True),
        ("(cn=barbara)", True),
        ("(cn;lang-en=barbara)", True),
        ("(cn;lang-de=barbara)", False),
        ("(name=jensen)", True),
        ("(objectClass=*)", True),
        ("(objectClass=person)", True),
        ("(objectClass=2.5.6.7)", True),
        ("(objectClass=top)", True),
        ("(objectClass=groupOfNames)", False),
        ("(objectClass=nosuch)", Undefined),
        ("(description=*)", False),
        ("(description=x)", False),
        ("(!(description=x))", True),
        ("(entryDN=*)", True),
        ("(entryDN=CN=babs jensen,ou=product development,dc=Example)", True),
        ("(!(entryDN=cn=other,dc=example))", True),
        ("(entryDN:dnSubtreeMatch:=dc=example)", True),
        (
            "(entryDN:dnSubordinateMatch:=cn=Babs Jensen,ou=Product Development,dc=example)",
            False,
        ),
        ("(entryDN;lang-en=*)", False),
        ("(nosuch=*)", Undefined),
        ("(!(nosuch=x))", Undefined),
        ("(cn=b*s*sen)", True),
        ("(cn=*bs j*)", True),
        ("(cn=jensen*)", False),
        ("(cn=b*j*j*)", False),
        ("(cn=* )", True),
        ("(cn=babs* )", True),
        ("(cn=*s *n )", True),
        ("(cn=jensen* )", False),
        ("(description=* )", False),
        ("(mail=*@EXAMPLE.com)", True),
        ("(telephoneNumber=+1408*)", True),
        ("(uidNumber>=5)", True),
        ("(uidNumber>=6)", False),
        ("(uidNumber<=10)", True),
        ("(level<=-3)", True),
        ("(level>=13)", False),
        ("(level=-4)", False),
        ("(cn>=a)", Undefined),
        ("(uidNumber=x)", Undefined),
        ("(seeAlso=CN=boss, dc=example)", True),
        ("(cn:caseExactMatch:=Babs Jensen)", True),
        ("(cn:caseExactMatch:=babs jensen)", False),
        ("(ou=product development)", False),
        ("(ou:dn:=product development)", True),
        ("(:dn:caseIgnoreMatch:=product development)", True),
        ("(:caseIgnoreMatch:=JENSEN)", True),
        ("(:caseIgnoreMatch:=product development)", False),
        ("(uidNumber:1.2.840.113556.1.4.803:=5)", True),
        ("(uidNumber:1.2.840.113556.1.4.803:=3)", False),
        ("(uidNumber:1.2.840.113556.1.4.804:=3)", True),
        ("(level:integerOrderingMatch:=12)", True),
        ("(level:integerOrderingMatch:=-3)", False),
        ("(seeAlso:1.2.840.113556.1.4.1941:=cn=boss,dc=example)", True),
        ("(cn:1.2.840.113556.1.4.1941:=cn=boss,dc=example)", Undefined),
        ("(cn~=Babs)", True),
        ("(cn~=Smith)", False),
        ("(&)", True),
        ("(|)", False),
        ("(!(&))", False),
    ] {
        assert_eq!(evaluate(text, &entry), truth, "{text}");
    }
}

#[test]
fn equality_with_an_ordered_value_need_not_name_its_place() {
    let schema = schema();
    let mut entry = entry();
    let description = schema.attribute_description(b"orderedValue").unwrap();
    assert!(entry.add_value(&schema, &description, b"{3}Some Value"));
    for (text, is_true) in [
        ("(orderedValue=some value)", true),
        ("(orderedValue={3}some value)", true),
        ("(orderedValue={2}some value)", false),
        ("(orderedValue={3})", false),
        ("(|(orderedValue=x)(orderedValue=some value)(orderedValue=y))", true),
        ("(|(orderedValue=x)(orderedValue={4}some value))", false),
        ("(orderedValue=some*)", false),
        ("(cn={3}Babs Jensen)", false),
    ] {
        assert_eq!(evaluate(text, &entry) == Truth::True, is_true, "{text}");
    }
}

#[test]
fn connectives_follow_three_valued_logic() {
    use Truth::{False, True, Undefined};
    let entry = entry();
    let item = |truth: Truth| match truth {
        True => "(cn=*)",
        False => "(description=*)",
        Undefined => "(nosuch=*)",
    };
    for (a, b, and, or) in [
        (True, True, True, True),
        (True, False, False, True),
        (True, Undefined, Undefined, True),
        (False, False, False, False),
        (False, Undefined, False, Undefined),
        (Undefined, Undefined, Undefined, Undefined),
    ] {
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!(evaluate(&format!("(&{}{})", item(a), item(b)), &entry), and);
            assert_eq!(evaluate(&format!("(|{}{})", item(a), item(b)), &entry), or);
        }
        assert_eq!(evaluate(&format!("(!{})", item(a)), &entry), !a);
    }
}

#[test]
fn many_equalities_on_one_attribute_become_one_node() {
    let schema = schema();
    let items: Vec<_> = (0..1000).map(|n| format!("(uidNumber={n})")).collect();
    let items = items.concat();
    let text = format!("(|(sn=x)(uidNumber=3){items}(&(cn=a)(|(cn=b)(!(sn=c)))))");
    let mut filter = CompiledFilter::default();
    filter.compile(&schema, &parse(&text));
    assert_eq!(filter.nodes.len(), 9);
    let FilterNode::AnyOf { values, .. } = &filter.nodes[2] else {
        panic!("{:?}", filter.nodes[2])
    };
    assert_eq!(values.len(), 1000);
    let ends = filter.nodes.iter().filter_map(|node| match node {
        FilterNode::And { end } | FilterNode::Or { end } | FilterNode::Not { end } => Some(*end),
        _ => None,
    });
    let ends: Vec<_> = ends.collect();
    assert_eq!(ends, [9, 9, 9, 9]);
    assert_eq!(evaluate(&text, &entry()), Truth::True);
}

#[test]
fn a_class_is_asked_for_with_its_subclasses() {
    let schema = schema();
    let compiled = |text: &str| {
        let mut filter = CompiledFilter::default();
        filter.compile(&schema, &parse(text));
        filter
    };
    for attribute in ["objectClass", "structuralObjectClass"] {
        let filter = compiled(&format!("({attribute}=person)"));
        let [FilterNode::AnyOf { values, .. }] = &filter.nodes[..] else {
            panic!("{:?}", filter.nodes)
        };
        let person = schema.find_object_class(b"person").unwrap().number;
        assert_eq!(values.len(), schema.subclasses(person).len());
        assert!(filter.part_values(values).is_sorted());
        for unknown in ["nosuch", "2.5.6.9999", "cn"] {
            let filter = compiled(&format!("({attribute}={unknown})"));
            assert!(
                matches!(filter.nodes[..], [FilterNode::Constant(Truth::Undefined)]),
                "{unknown}"
            );
        }
    }
    assert!(matches!(
        compiled("(objectClass=top)").nodes[..],
        [FilterNode::Present(_)]
    ));
    // By the rule's name it is plain equality, and with `:dn:` the rule's own decision.
    let mut entry = Entry::new(Dn::root());
    let description = schema.attribute_description(b"objectClass").unwrap();
    entry.add_value(&schema, &description, b"inetOrgPerson");
    assert_eq!(evaluate("(objectClass=person)", &entry), Truth::True);
    assert_eq!(evaluate("(objectClass:dn:=person)", &entry), Truth::True);
    assert_eq!(
        evaluate("(objectClass:objectIdentifierMatch:=person)", &entry),
        Truth::False
    );
}

#[test]
fn compiling_again_forgets_the_filter_before() {
    let schema = schema();
    let mut filter = CompiledFilter::default();
    filter.compile(&schema, &parse("(&(cn=a)(sn=b*c*d))"));
    filter.compile(&schema, &parse("(uid=x)"));
    assert_eq!((filter.nodes.len(), filter.slots.len(), filter.parts.len()), (1, 1, 0));
    assert_eq!(filter.bytes, b"x");
}

/// RFC 3876 §2.
#[test]
fn matched_values_are_those_that_some_item_holds_for() {
    let schema = schema();
    let matching = |text: &str| -> Vec<String> {
        let mut filter = CompiledFilter::default();
        filter.compile(&schema, &parse(text));
        let mut scratch = Vec::new();
        let entry = entry();
        let mut values = Vec::new();
        for attribute in &entry.attributes {
            for value in &attribute.values {
                if filter.matches_value(&schema, &attribute.description, value, None, &mut scratch) {
                    values.push(String::from_utf8_lossy(value).into_owned());
                }
            }
        }
        values
    };
    assert_eq!(matching("(level>=0)"), ["12"]);
    assert_eq!(matching("(|(cn=b*)(uidNumber=*))"), ["Babs Jensen", "Barbara", "5"]);
    assert_eq!(matching("(name=jensen)"), ["Jensen"]);
    assert_eq!(matching("(nosuch=*)"), Vec::<String>::new());
}

/// The definition of RFC 4511, word for word and slowly.
fn naive(filter: &Filter<'_>, entry: &Entry) -> Truth {
    match filter {
        Filter::And(filters) => {
            let truths: Vec<_> = filters.iter().map(|f| naive(f, entry)).collect();
            if truths.contains(&Truth::False) {
                Truth::False
            } else if truths.contains(&Truth::Undefined) {
                Truth::Undefined
            } else {
                Truth::True
            }
        }
        Filter::Or(filters) => {
            let truths: Vec<_> = filters.iter().map(|f| naive(f, entry)).collect();
            if truths.contains(&Truth::True) {
                Truth::True
            } else if truths.contains(&Truth::Undefined) {
                Truth::Undefined
            } else {
                Truth::False
            }
        }
        Filter::Not(filter) => !naive(filter, entry),
        item => evaluate(&item.to_string(), entry),
    }
}

fn arbitrary_filter() -> impl Strategy<Value = Filter<'static>> {
    let item = prop_oneof![
        Just("(cn=babs jensen)"),
        Just("(uidNumber=5)"),
        Just("(uidNumber=6)"),
        Just("(uidNumber=7)"),
        Just("(sn=x)"),
        Just("(nosuch=x)"),
        Just("(description=*)"),
        Just("(cn=b*)"),
    ]
    .prop_map(parse);
    item.prop_recursive(5, 60, 8, |inner| {
        let list = proptest::collection::vec(inner.clone(), 0..8);
        prop_oneof![
            list.clone().prop_map(Filter::And),
            list.prop_map(Filter::Or),
            inner.prop_map(|f| Filter::Not(Box::new(f))),
        ]
    })
}

proptest! {
    #[test]
    fn evaluation_equals_the_definition(filter in arbitrary_filter()) {
        let entry = entry();
        prop_assert_eq!(evaluate(&filter.to_string(), &entry), naive(&filter, &entry));
    }

    #[test]
    fn what_is_printed_parses_to_the_same_filter(filter in arbitrary_filter(), value in any::<Vec<u8>>()) {
        let assertion = Assertion { attribute: Cow::Borrowed(&b"cn"[..]), value: Cow::Owned(value) };
        let filter = Filter::And(vec![filter, Filter::Equality(assertion)]);
        let text = filter.to_string();
        prop_assert_eq!(Filter::parse(text.as_bytes(), 100), Ok(filter));
    }

    #[test]
    fn any_text_is_answered(text in "(\\(|\\)|&|\\||!|cn|=|:|dn|\\*|\\\\|2a|~|>|<| |;|1\\.2){0,24}") {
        if let Ok(filter) = Filter::parse(text.as_bytes(), 5) {
            let printed = filter.to_string();
            prop_assert_eq!(Filter::parse(printed.as_bytes(), 5), Ok(filter));
        }
    }

    #[test]
    fn random_bytes_never_panic(bytes in any::<Vec<u8>>()) {
        if let Ok(filter) = Filter::parse(&bytes, 10) {
            CompiledFilter::default().compile(&schema(), &filter);
        }
    }
}
