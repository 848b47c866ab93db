//! Reading, resolving, refusing and publishing definitions.

use std::sync::Arc;

use proptest::prelude::*;

use super::*;

fn built(text: &str) -> Result<Arc<Schema>, SchemaErrors> {
    let mut builder = SchemaBuilder::new();
    file::read(&mut builder, text, &"test.schema".into())?;
    builder.build()
}

fn refused(text: &str) -> String {
    match built(text) {
        Ok(_) => panic!("accepted: {text}"),
        Err(errors) => errors.to_string(),
    }
}

#[test]
fn the_system_schema_is_whole() {
    let schema = Schema::system();
    for name in [
        "objectClass",
        "cn",
        "commonName",
        "name",
        "uid",
        "userPassword",
        "entryUUID",
        "entryCSN",
        "contextCSN",
        "entryDN",
        "ref",
        "memberOf",
        "pwdChangedTime",
        "monitorOpInitiated",
        "olmMDBPagesUsed",
        "authzTo",
        "saslAuthzFrom",
        "superiorUUID",
        "collectiveExclusions",
        "2.5.4.3",
    ] {
        assert!(schema.find_attribute_type(name.as_bytes()).is_some(), "{name}");
    }
    for name in [
        "top",
        "extensibleObject",
        "alias",
        "referral",
        "LDAProotDSE",
        "subentry",
        "subschema",
        "collectiveAttributeSubentry",
        "dynamicObject",
        "glue",
        "syncProviderSubentry",
        "monitorServer",
        "olmMDBDatabase",
        "pwdPolicy",
    ] {
        assert!(schema.find_object_class(name.as_bytes()).is_some(), "{name}");
    }
    assert!(schema.find_attribute_type(b"mail").is_none());
    for (position, found) in schema.attribute_types().iter().enumerate() {
        assert_eq!(found.number.0 as usize, position);
        assert!(found.built_in);
    }
}

#[test]
fn everything_published_prints_as_it_reads() {
    let schema = Schema::system();
    let mut count = 0;
    for text in schema.attribute_type_definitions() {
        let parsed = AttributeTypeDefinition::parse(text).expect(text);
        assert_eq!(parsed.print(&str::to_owned), text);
        count += 1;
    }
    assert!(count > 40);
    for text in schema.object_class_definitions() {
        assert_eq!(
            ObjectClassDefinition::parse(text).expect(text).print(&str::to_owned),
            text
        );
    }
    for text in schema.syntax_definitions() {
        assert_eq!(SyntaxDefinition::parse(text).expect(text).print(&str::to_owned), text);
    }
    for text in schema.matching_rule_definitions() {
        let parsed = OtherDefinition::parse(&text, OtherKind::MatchingRule).expect(&text);
        assert_eq!(parsed.print(&str::to_owned), text);
    }
    for text in schema.matching_rule_use_definitions() {
        let parsed = OtherDefinition::parse(&text, OtherKind::MatchingRuleUse).expect(&text);
        assert_eq!(parsed.print(&str::to_owned), text);
    }
}

#[test]
fn publication_has_slapds_form() {
    let schema = Schema::system();
    let types: Vec<&str> = schema.attribute_type_definitions().collect();
    assert!(types.contains(&"( 2.5.4.3 NAME ( 'cn' 'commonName' ) DESC 'RFC 4519: common name' SUP name )"));
    assert!(
        types.iter().all(|text| !text.contains("'namingCSN'")),
        "internal types are hidden"
    );
    let classes: Vec<&str> = schema.object_class_definitions().collect();
    assert!(classes.contains(
        &"( 2.5.17.0 NAME 'subentry' DESC 'RFC 3672: administrative information' SUP top STRUCTURAL MUST ( cn $ subtreeSpecification ) )"
    ));
    let syntaxes: Vec<&str> = schema.syntax_definitions().collect();
    assert!(syntaxes.contains(
        &"( 1.3.6.1.4.1.1466.115.121.1.8 DESC 'Certificate' X-BINARY-TRANSFER-REQUIRED 'TRUE' X-NOT-HUMAN-READABLE 'TRUE' )"
    ));
    assert!(syntaxes.contains(&"( 1.2.840.113549.1.8.1.1 DESC 'PKCS#8 PrivateKeyInfo' )"));
    let rules: Vec<String> = schema.matching_rule_definitions().collect();
    assert!(rules.contains(&"( 2.5.13.2 NAME 'caseIgnoreMatch' SYNTAX 1.3.6.1.4.1.1466.115.121.1.15 )".to_owned()));
    let uses: Vec<String> = schema.matching_rule_use_definitions().collect();
    assert!(uses.contains(&"( 1.3.6.1.4.1.1466.109.114.2 NAME 'caseIgnoreIA5Match' APPLIES altServer )".to_owned()));
}

const SAMPLE: &str = "\
# A comment
  that goes on
OBJECTIDENTIFIER exampleAttribute example:1
objectIdentifier example 1.3.6.1.4.1.99999
objectclass ( example:2.1 NAME 'examplePerson'
\tSUP exampleBase STRUCTURAL
    MUST exampleName MAY ( exampleNick $ description ) )
objectclass ( example:2.2 NAME 'exampleBase' SUP top ABSTRACT MUST cn )

attributetype ( exampleAttribute:2 NAME ( 'exampleNick' 'nick' )
  SUP exampleName X-ORIGIN ( 'here' 'there' ) X-ORDERED 'VALUES' )
AttributeType ( exampleAttribute:1 NAME exampleName DESC 'it\\27s a name'
  EQUALITY caseIgnoreMatch SUBSTR caseIgnoreSubstringsMatch
  SYNTAX '1.3.6.1.4.1.1466.115.121.1.15{64}' )
ldapsyntax ( example:3.1 DESC 'Odd strings' X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )
attributetype ( exampleAttribute:3 NAME 'odd' EQUALITY caseExactMatch SYNTAX example:3.1 SINGLE-VALUE )
ditcontentrule ( example:2.1 NAME 'examplePersonRule' AUX exampleExtra MAY odd NOT seeAlso )
objectclass ( example:2.3 NAME 'exampleExtra' AUXILIARY MAY seeAlso )
";

#[test]
fn the_next_word_may_follow_a_syntax_without_a_blank() {
    // As slapd reads it.
    let text = |syntax: &str| {
        format!("attributetype ( 1.3.6.1.4.1.99999.1 NAME 'x' SYNTAX 1.3.6.1.4.1.1466.115.121.1.{syntax} )")
    };
    for (syntax, bound) in [
        ("15SINGLE-VALUE", None),
        ("15{}SINGLE-VALUE", None),
        ("15{32}SINGLE-VALUE", Some(32)),
        ("15 {32}SINGLE-VALUE", Some(32)),
        ("15{99999999999}SINGLE-VALUE", Some(u32::MAX)),
    ] {
        let schema = built(&text(syntax)).expect(syntax);
        let found = schema.find_attribute_type(b"x").expect("defined");
        assert_eq!(
            (found.minimum_upper_bound, found.single_value),
            (bound, true),
            "{syntax}"
        );
    }
    for wrong in ["15{32", "15{x}", "15{-1}", "15{3 2}", "15{32}{33}", "15{32}'x'", "15}"] {
        assert!(built(&text(wrong)).is_err(), "{wrong}");
    }
}

#[test]
fn a_batch_may_refer_forward() {
    let schema = built(SAMPLE).expect("valid");
    let nick = schema.find_attribute_type(b"NICK").expect("defined");
    assert_eq!(&*nick.oid, "1.3.6.1.4.1.99999.1.2");
    assert_eq!(nick.name(), "exampleNick");
    assert_eq!(nick.equality.map(|rule| rule.name), Some("caseIgnoreMatch"));
    assert_eq!(nick.substrings.map(|rule| rule.name), Some("caseIgnoreSubstringsMatch"));
    assert_eq!(nick.minimum_upper_bound, Some(64));
    assert_eq!(nick.extension("X-ORDERED"), Some("VALUES"));
    assert_eq!(
        &*nick.definition,
        "( 1.3.6.1.4.1.99999.1.2 NAME ( 'exampleNick' 'nick' ) SUP exampleName X-ORIGIN ( 'here' 'there' ) X-ORDERED 'VALUES' )"
    );
    assert!(nick.unexpanded_definition.starts_with("( exampleAttribute:2 NAME"));
    let name = schema.find_attribute_type(b"exampleName").expect("defined");
    assert_eq!(
        &*name.definition,
        "( 1.3.6.1.4.1.99999.1.1 NAME 'exampleName' DESC 'it\\27s a name' EQUALITY caseIgnoreMatch \
         SUBSTR caseIgnoreSubstringsMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.15{64} )"
    );
    assert!(schema.is_subtype(nick.number, name.number));
    assert!(!schema.is_subtype(name.number, nick.number));
    assert_eq!(schema.subtypes(name.number), [name.number, nick.number]);
    let odd = schema.find_attribute_type(b"odd").expect("defined");
    assert_eq!(odd.syntax.oid, "1.3.6.1.4.1.99999.3.1");
    assert!((odd.syntax.validate)(&schema, b"x").is_ok());
    assert!((odd.syntax.validate)(&schema, b"").is_err());
    let person = schema.find_object_class(b"examplePerson").expect("defined");
    let above: Vec<&str> = schema
        .superclasses(person.number)
        .iter()
        .map(|number| schema.object_class(*number).name())
        .collect();
    assert_eq!(above, ["examplePerson", "exampleBase", "top"]);
    let required: Vec<&str> = schema
        .required_types(person.number)
        .iter()
        .map(|number| schema.attribute_type(*number).name())
        .collect();
    assert_eq!(required, ["objectClass", "cn", "exampleName"]);
    assert_eq!(
        schema.dit_content_rule_definitions().collect::<Vec<_>>(),
        ["( 1.3.6.1.4.1.99999.2.1 NAME 'examplePersonRule' AUX exampleExtra MAY odd NOT seeAlso )"]
    );
}

#[test]
fn numbers_of_the_base_stay_valid() {
    let base = Schema::system();
    let schema = built(SAMPLE).expect("valid");
    for found in base.attribute_types() {
        assert_eq!(schema.attribute_type(found.number).oid, found.oid);
    }
    let again = SchemaBuilder::from_schema(&schema);
    let again = again.build().expect("nothing added");
    assert_eq!(again.attribute_types().len(), schema.attribute_types().len());
}

#[test]
fn identical_duplicates_are_ignored() {
    let twice = format!("{SAMPLE}{SAMPLE}");
    let (once, twice) = (built(SAMPLE).expect("valid"), built(&twice).expect("valid"));
    assert_eq!(once.attribute_types().len(), twice.attribute_types().len());
    let mut builder = SchemaBuilder::from_schema(&once);
    file::read(&mut builder, SAMPLE, &"again.schema".into()).expect("reads");
    let again = builder.build().expect("repeats itself");
    assert_eq!(again.object_classes().len(), once.object_classes().len());
    assert_eq!(again.content_rules().len(), 1);
}

#[test]
fn repeating_the_built_in_schema_is_ignored() {
    let before = Schema::system();
    let schema = built(
        "attributetype ( 2.5.4.3 NAME ( 'cn' 'commonName' ) DESC 'other words' SUP name )\n\
         attributetype ( 1.3.6.1.4.1.42.2.27.8.1.2 NAME 'pwdMinAge' EQUALITY integerMatch \
         SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )\n\
         objectclass ( 1.3.6.1.4.1.42.2.27.8.2.1 NAME 'pwdPolicy' SUP top AUXILIARY MUST ( pwdAttribute ) \
         MAY ( pwdMinAge $ pwdMaxAge ) )\n",
    )
    .expect("an old ppolicy.schema");
    assert_eq!(schema.attribute_types().len(), before.attribute_types().len());
    assert!(refused("attributetype ( 2.5.4.3 NAME 'cn' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 )").contains("(built in)"));
}

const REFUSED: &[(&str, &str)] = &[
    (
        "attributetype ( 1.2.3 NAME 'a' SUP nosuch )",
        "test.schema: line 1: attribute type a: AttributeType not found: \"nosuch\"",
    ),
    (
        "\n\nattributetype ( 1.2.3 NAME 'a' )",
        "test.schema: line 3: attribute type a: AttributeType SYNTAX or SUPerior required",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SYNTAX 1.2.9 )",
        "Syntax not found: \"1.2.9\"",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SYNTAX OMsyn:15 EQUALITY foo )",
        "MatchingRule not found: \"foo\"",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SYNTAX OMsyn:26 EQUALITY caseIgnoreMatch )",
        "inappropriate matching rule: \"caseIgnoreMatch\"",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SYNTAX OMsyn:15 EQUALITY caseIgnoreOrderingMatch )",
        "inappropriate matching rule",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SYNTAX OMsyn:15 ORDERING caseIgnoreOrderingMatch )",
        "inappropriate matching rule",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SUP c )\nattributetype ( 1.2.4 NAME 'c' SUP name COLLECTIVE )",
        "COLLECTIVE",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SUP name USAGE dSAOperation )",
        "inappropriate USAGE",
    ),
    (
        "attributetype ( nomacro:3 NAME 'a' SUP name )",
        "OID could not be expanded: \"nomacro:3\"",
    ),
    (
        "attributetype ( 1.2.3 NAME 'cn' SUP name )",
        "name \"cn\" is taken by the attribute type with OID 2.5.4.3",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SUP b )\nattributetype ( 1.2.4 NAME 'b' SUP a )",
        "line 2: attribute type b: superior \"a\"",
    ),
    (
        "attributetype ( 1.2.3 NAME 'a' SUP name )\n\nattributetype ( 1.2.3 NAME 'a' SUP name SINGLE-VALUE )",
        "test.schema: line 3: attribute type a: inconsistent duplicate of attribute type a (test.schema: line 1)",
    ),
    (
        "objectclass ( 1.2.3 NAME 'a' SUP nosuch )",
        "line 1: object class a: ObjectClass not found: \"nosuch\"",
    ),
    (
        "objectclass ( 1.2.3 NAME 'a' MUST nosuch )",
        "object class a: AttributeType not found: \"nosuch\"",
    ),
    (
        "objectclass ( 1.2.3 NAME 'a' SUP alias AUXILIARY )",
        "inappropriate SUPerior: \"alias\"",
    ),
    ("objectclass ( 1.2.3 NAME 'a' SUP a )", "superclass of itself"),
    ("objectclass ( 1.2.3 NAME 'top' )", "name \"top\" is taken"),
    ("objectclass ( 1.2.3 NAME 'a' SUP ( top alias ) )", "unexpected token"),
    ("objectclass ( 1.2.3 NAME 'a_b' )", "invalid name"),
    ("objectclass ( 1.2.3 NAME 'a", "missing closing quote"),
    ("objectclass ( 1.2.3 NAME 'a' NAME 'b' )", "NAME is given twice"),
    ("ditcontentrule ( 2.5.6.0 )", "inappropriate ObjectClass: \"2.5.6.0\""),
    (
        "ditcontentrule ( 2.5.6.1 MAY nosuch )",
        "DIT content rule 2.5.6.1: AttributeType not found",
    ),
    (
        "ldapsyntax ( 1.2.3 DESC 'x' X-SUBST '1.2.4' )",
        "substitute syntax not found",
    ),
    ("objectidentifier a b:1", "OID could not be expanded: \"b:1\""),
    (
        "objectidentifier a 1.2\nobjectidentifier a 1.3",
        "line 2: object identifier a: already stands for 1.2",
    ),
    ("objectidentifier a", "a name and an OID expected"),
    ("nameform ( 1.2.3 OC top MUST cn )", "not enforced"),
    ("database mdb", "database: not a schema directive"),
];

#[test]
fn a_numeric_oid_ends_with_its_digits() {
    let definition = AttributeTypeDefinition::parse("( 1.2.3NAME 'glued' SUP name )").unwrap();
    assert_eq!(&*definition.common.oid, "1.2.3");
    assert_eq!(definition.common.names.len(), 1);
    assert!(AttributeTypeDefinition::parse("( 1.2.3x NAME 'glued' SUP name )").is_err());
}

#[test]
fn a_definition_has_a_limited_number_of_elements() {
    let definition = |extensions: usize| {
        let extensions: Vec<_> = (0..extensions).map(|n| format!("X-A{n} 'x'")).collect();
        SyntaxDefinition::parse(&format!("( 1.2.3 {} )", extensions.join(" ")))
    };
    assert!(definition(256).is_ok());
    let error = definition(257).expect_err("too many");
    assert!(error.reason.contains("too many elements"), "{error}");
}

#[test]
fn hidden_types_are_published_once_somebody_asks() {
    let published = |schema: &Schema| {
        schema
            .attribute_type_definitions()
            .any(|text| text.contains("'pwdMinAge'"))
    };
    assert!(!published(&Schema::system()));
    let repeated = "attributetype ( 1.3.6.1.4.1.42.2.27.8.1.2 NAME 'pwdMinAge' EQUALITY integerMatch SYNTAX OMsInteger SINGLE-VALUE )";
    assert!(published(&built(repeated).expect("valid")));
    assert!(!published(&Schema::system().revealing(&["memberof", "nosuch"], &[])));
    let system = Schema::system();
    let schema = system.revealing(&["ppolicy"], &[]);
    assert!(published(&schema));
    let types = schema.attribute_type_definitions();
    assert_eq!(types.filter(|text| text.contains("'pwd")).count(), 37);
    let mut classes = schema.object_class_definitions();
    assert!(classes.any(|text| text.contains("'pwdPolicy'")));
}

#[test]
fn a_published_class_names_published_types() {
    let policy = "objectclass ( 1.3.6.1.4.1.42.2.27.8.2.1 NAME 'pwdPolicy' SUP top AUXILIARY MUST pwdAttribute )";
    let schemas = [
        built(policy).expect("valid"),
        Schema::system().revealing(&["ppolicy"], &[]).into_owned().into(),
    ];
    for schema in schemas {
        let published: Vec<_> = schema.object_classes().iter().filter(|class| !class.hidden).collect();
        assert!(published.iter().any(|class| class.name() == "pwdPolicy"));
        for class in published.iter().filter(|class| class.name().starts_with("pwd")) {
            for number in class.must.iter().chain(&class.may) {
                let named = schema.attribute_type(*number);
                assert!(!named.hidden, "{} names {}", class.name(), named.name());
            }
        }
    }
}

#[test]
fn refusals_name_file_line_element_and_reason() {
    for &(text, expected) in REFUSED {
        let error = refused(text);
        assert!(
            error.contains(expected),
            "{text}\n  {error}\n  should hold\n  {expected}"
        );
        assert!(error.starts_with("test.schema: line "), "{error}");
    }
}

#[test]
fn all_that_is_wrong_is_reported() {
    let error = refused("attributetype ( 1.2.3 NAME 'a' SUP x )\nobjectclass ( 1.2.4 NAME 'b' MUST ( y $ z ) )");
    assert_eq!(error.lines().count(), 3, "{error}");
}

#[test]
fn values_of_cn_schema_entries() {
    let mut builder = SchemaBuilder::new();
    let source = Source {
        file: "cn={4}test,cn=schema,cn=config".into(),
        line: 0,
    };
    let mut add = |attribute: &str, value: &str| file::add_value(&mut builder, attribute, value, &source);
    assert_eq!(add("olcAttributeTypes", "{0}( 1.2.3 NAME 'a' SUP name )"), Ok(true));
    assert_eq!(add("OLCOBJECTCLASSES", "{12} ( 1.2.4 NAME 'b' MAY a )"), Ok(true));
    assert_eq!(add("attributeTypes", "( 1.2.5 NAME 'c' SUP name )"), Ok(true));
    assert_eq!(add("cn", "{4}test"), Ok(false));
    let error = add("olcAttributeTypes", "{1}( 1.2.3 NAME )").expect_err("no name");
    assert!(
        error
            .to_string()
            .starts_with("cn={4}test,cn=schema,cn=config: attribute type \"( 1.2.3 NAME )\": "),
        "{error}"
    );
    let schema = builder.build().expect("valid");
    assert!(schema.find_object_class(b"b").is_some());
}

#[test]
fn attributeoptions_of_a_file_are_in_force() {
    let schema = built("attributeoptions x- lang-").expect("valid");
    assert!(schema.attribute_description(b"cn;x-foo").is_ok());
    assert!(refused("attributeoptions binary").contains("attributeoptions"));
}

proptest! {
    #[test]
    fn reading_never_panics(text in "[( )$'A-Za-z0-9.:{}-]{0,60}") {
        let _ = AttributeTypeDefinition::parse(&text);
        let _ = ObjectClassDefinition::parse(&format!("( 1.2 {text}"));
        let _ = ContentRuleDefinition::parse(&format!("( 1.2 AUX {text} )"));
    }

    #[test]
    fn classes_print_as_they_read(
        names in prop::collection::vec("[a-z][a-z0-9-]{0,8}", 0..3),
        may in prop::collection::vec("[a-z]{1,4}", 0..4),
        origin in prop::option::of("[ -&(-~]{0,12}"),
    ) {
        let names = match names.as_slice() {
            [] => String::new(),
            [name] => format!(" NAME '{name}'"),
            _ => format!(" NAME ( '{}' )", names.join("' '")),
        };
        let may = match may.as_slice() {
            [] => String::new(),
            [name] => format!(" MAY {name}"),
            _ => format!(" MAY ( {} )", may.join(" $ ")),
        };
        let origin = origin.map_or_else(String::new, |origin| format!(" X-ORIGIN '{origin}'"));
        let text = format!("( 1.2.3{names} AUXILIARY{may}{origin} )");
        let parsed = ObjectClassDefinition::parse(&text).expect("valid");
        prop_assert_eq!(parsed.print(&str::to_owned), text);
    }
}

#[test]
fn forms_that_public_schema_files_have_and_slapd_takes_are_taken() {
    for (text, name, oid) in [
        // FusionDirectory
        (
            "attributetype ( 1.2.3.1 NAME 'a' SUP name ) X-ORIGIN 'behind'",
            "a",
            "1.2.3.1",
        ),
        ("attributetype ( 1.2.3.1 NAME 'a' SUP name ))", "a", "1.2.3.1"),
        // GOsa and others
        ("attributetype ( 9.1.2 NAME 'a' SUP name )", "a", "9.1.2"),
        ("attributetype ( 1.2.03.00 NAME 'a' SUP name )", "a", "1.2.03.00"),
        ("attributetype ( 1234 NAME 'a' SUP name )", "a", "1234"),
        // YaST
        (
            "objectidentifier SUSE 1.3.9\nobjectidentifier SUSE.YaST_x SUSE:10\n\
             attributetype ( SUSE.YaST_x:01 NAME 'a' SUP name )",
            "a",
            "1.3.9.10.01",
        ),
        (
            "objectidentifier root 1.3.9\nattributetype ( root:first NAME 'a' SUP name )",
            "a",
            "1.3.9.first",
        ),
        (
            "attributetype ( 1.2.3.1 NAME 'a' SUP name X-A 'b' X-A 'c' )",
            "a",
            "1.2.3.1",
        ),
        ("attributetype (1.2.3.1 NAME'a'DESC'b'SUP(name))", "a", "1.2.3.1"),
        ("attributetype \"( 1.2.3.1 NAME 'a' SUP name )\"", "a", "1.2.3.1"),
    ] {
        let schema = built(text).unwrap_or_else(|errors| panic!("{text}: {errors}"));
        let found = schema.find_attribute_type(name.as_bytes()).unwrap();
        assert_eq!(&*found.oid, oid, "{text}");
        let by_oid = schema.find_attribute_type(oid.as_bytes()).unwrap();
        assert_eq!(by_oid.number, found.number);
    }
    let class = built("objectclass ( 3.1 NAME 'c' SUP(top) AUXILIARY MAY(cn$name) )").unwrap();
    assert_eq!(class.find_object_class(b"c").unwrap().may.len(), 2);
}

#[test]
fn an_oid_that_slapd_refuses_is_refused() {
    for (text, why) in [
        ("attributetype ( 1.2. NAME 'a' SUP name )", "neither an OID nor a macro"),
        ("attributetype ( 1..2 NAME 'a' SUP name )", "neither an OID nor a macro"),
        ("attributetype ( .1.2 NAME 'a' SUP name )", "neither an OID nor a macro"),
        (
            "attributetype ( 1.2:3 NAME 'a' SUP name )",
            "neither an OID nor a macro",
        ),
        ("objectidentifier 9my 1.2.3", "a macro name begins with no digit"),
        (
            "objectidentifier My 1.2.3\nattributetype ( my:1 NAME 'a' SUP name )",
            "OID could not be expanded",
        ),
    ] {
        let reason = refused(text);
        assert!(reason.contains(why), "{text}: {reason}");
    }
}

#[test]
fn a_definition_with_another_oid_stands_for_a_built_in_one_that_is_not_in_use() {
    let mut builder = SchemaBuilder::new().built_in();
    builder.hide();
    let own = "attributetype ( 1.2.3.4 NAME 'ours' EQUALITY integerMatch SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 \
               SINGLE-VALUE NO-USER-MODIFICATION USAGE dSAOperation )";
    file::read(&mut builder, own, &"built-in".into()).unwrap();
    let base = builder.build().unwrap();
    let with = |text: &str| {
        let mut builder = SchemaBuilder::from_schema(&base);
        file::read(&mut builder, text, &"389.schema".into())?;
        builder.build()
    };
    let plain = "attributetype ( 1.2.9 NAME 'ours' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )";
    let schema = with(plain).unwrap();
    let number = |name: &str| schema.find_attribute_type(name.as_bytes()).unwrap().number;
    assert_eq!(number("1.2.9"), number("1.2.3.4"));
    assert!(!schema.find_attribute_type(b"ours").unwrap().hidden);
    let contradiction = with(&plain.replace("1.27", "1.15")).unwrap_err().to_string();
    assert!(
        contradiction.contains("is taken by the attribute type with OID 1.2.3.4"),
        "{contradiction}"
    );
}

#[test]
fn a_syntax_without_a_substitute_has_no_values_and_is_not_published() {
    let text = "ldapsyntax ( 1.2.3.1 DESC 'x' )\nattributetype ( 1.2.3.2 NAME 'a' SYNTAX 1.2.3.1 )";
    let schema = built(text).unwrap();
    let syntax = schema.find_attribute_type(b"a").unwrap().syntax;
    assert_eq!((syntax.oid, syntax.validated_as), ("1.2.3.1", "1.2.3.1"));
    for value in [&b""[..], b"x"] {
        assert!((syntax.validate)(&schema, value).is_err());
    }
    assert!(!schema.syntax_definitions().any(|text| text.contains("1.2.3.1")));
}

#[test]
fn text_behind_a_definition_is_told_from_the_definition() {
    for (text, is_there) in [
        ("( 1.2.3 NAME 'a' SUP ( name ) )", false),
        ("( 1.2.3 NAME 'a' DESC ') x' )  ", false),
        ("\"( 1.2.3 NAME 'a' )\"", false),
        ("( 1.2.3 NAME 'a' ) X-ORIGIN 'b'", true),
        ("( 1.2.3 NAME 'a' ))", true),
        ("( 1.2.3 NAME 'a' )b'", true),
        ("( 1.2.3 NAME 'a", false),
    ] {
        assert_eq!(has_text_behind(text), is_there, "{text}");
    }
}

#[test]
fn the_form_of_slapd_is_told_from_what_is_read_as_well() {
    for (text, is_class) in [
        ("( 1.2.3 NAME 'a' DESC 'b' SUP name )", false),
        ("( 1.2.3NAME ( 'a' 'b' ) SYNTAX '1.2{64}' X-A ( 'b' 'c' ) )", false),
        ("( 1.2.3 SUP ( top $ person ) MUST cn MAY ( cn$sn ) )", true),
        ("( 1.2.3 SUP 'top' )", true),
        ("( 1.2.3 SUP ( 'top' $ person ) )", true),
        ("( 1.2.3 NAME ( ) MAY ( ) ) X-A b", true),
        ("( 1.2.3 usage userApplications )", false),
    ] {
        check_form(text, is_class).unwrap_or_else(|error| panic!("{text}: {error}"));
    }
    for (text, is_class) in [
        ("( '1.2.3' NAME 'a' )", false),
        ("( 1.2.3 NAME a )", false),
        ("( 1.2.3 NAME ( 'a' b ) )", false),
        ("( 1.2.3 DESC a )", false),
        ("( 1.2.3 SUP 'name' )", false),
        ("( 1.2.3 SUP ( name ) )", false),
        ("( 1.2.3 EQUALITY 'caseIgnoreMatch' )", false),
        ("( 1.2.3 USAGE 'userApplications' )", false),
        ("( 1.2.3 SYNTAX 1.2 {64} )", false),
        ("( 1.2.3 MAY 'cn' )", true),
        ("( 1.2.3 MAY ( 'cn' ) )", true),
        ("( 1.2.3 X-A b )", false),
        ("( 1.2.3 x-a 'b' )", false),
    ] {
        assert!(check_form(text, is_class).is_err(), "{text}");
    }
}
