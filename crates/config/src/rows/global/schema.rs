//! Schema definitions, and the old index tuning that belonged to them.

use crate::{
    class::ConfigClass,
    schema_statement::SchemaKind,
    setting::{Form, Handler, Setting, SettingLevel::Global},
};

const KEYS_REASON: &str = "index keys have no length to tune";

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Global, &["objectidentifier"], &["olcObjectIdentifier"])
        .olc("0.33", Form::Definitions)
        .allowed_by(&[ConfigClass::Global.at(800), ConfigClass::Schema.at(10)])
        .takes("<name> <oid>|<name>[:<suffix>]", "")
        .does("Gives an OID a name that later definitions may use, alone or with `:suffix`.")
        .like(&["exampleRoot 1.3.6.1.4.1.32473"])
        .obeyed(Handler::Schema(SchemaKind::ObjectIdentifier)),
    Setting::new(Global, &["ldapsyntax"], &["olcLdapSyntaxes"])
        .olc("0.85", Form::Definitions)
        .allowed_by(&[ConfigClass::Global.at(840), ConfigClass::Schema.at(20)])
        .takes("( <oid> [DESC <text>] [X-SUBST <oid>] )", "")
        .does(
            "Defines a syntax (RFC 4512 §4.1.5). Its values are checked as those of the syntax in X-SUBST; without \
             that, it can have none.",
        )
        .since("2.4")
        .like(&["( 1.3.6.1.4.1.32473.1.0 DESC 'Phone book key' X-SUBST '1.3.6.1.4.1.1466.115.121.1.15' )"])
        .obeyed(Handler::Schema(SchemaKind::LdapSyntax)),
    Setting::new(Global, &["attributeoptions"], &["olcAttributeOptions"])
        .olc("0.5", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(50)])
        .shown()
        .takes("[<option>|<prefix>-] ...", "lang-")
        .does(
            "Lists the tagging options that attribute descriptions may have. A name that ends in `-` allows all \
             options that begin with it. The list replaces the predefined `lang-`. `range=`, which slapd wants for \
             `type=dirSync`, is accepted and not needed.",
        )
        .like(&["lang- x-hidden"])
        .obeyed(Handler::Schema(SchemaKind::AttributeOptions)),
    Setting::new(Global, &["attributetype", "attribute*"], &["olcAttributeTypes"])
        .olc("0.4", Form::Definitions)
        .allowed_by(&[ConfigClass::Global.at(810), ConfigClass::Schema.at(30)])
        .takes("( <oid> ... )", "")
        .does("Defines an attribute type (RFC 4512 §4.1.2).")
        .like(&["( 1.3.6.1.4.1.32473.1.1 NAME 'shoeSize' SYNTAX 1.3.6.1.4.1.1466.115.121.1.27 SINGLE-VALUE )"])
        .obeyed(Handler::Schema(SchemaKind::AttributeType)),
    Setting::new(Global, &["objectclass"], &["olcObjectClasses"])
        .olc("0.32", Form::Definitions)
        .allowed_by(&[ConfigClass::Global.at(820), ConfigClass::Schema.at(40)])
        .takes("( <oid> ... )", "")
        .does("Defines an object class (RFC 4512 §4.1.1).")
        .like(&["( 1.3.6.1.4.1.32473.1.2 NAME 'walker' SUP top AUXILIARY MAY description )"])
        .obeyed(Handler::Schema(SchemaKind::ObjectClass)),
    Setting::new(Global, &["ditcontentrule"], &["olcDitContentRules"])
        .olc("0.16", Form::Definitions)
        .allowed_by(&[ConfigClass::Global.at(830), ConfigClass::Schema.at(50)])
        .takes("( <oid> ... )", "")
        .does("Defines a DIT content rule (RFC 4512 §4.1.6).")
        .like(&["( 2.5.6.6 NAME 'personRule' NOT description )"])
        .obeyed(Handler::Schema(SchemaKind::DitContentRule)),
    Setting::new(Global, &["index_hash64"], &["olcIndexHash64"])
        .olc("0.94", Form::Boolean)
        .allowed_by(&[ConfigClass::Global.at(190)])
        .shown()
        .takes("on|off", "FALSE")
        .does("Chooses between 32-bit and 64-bit hashes in indexes.")
        .since("2.5")
        .meaningless("index entries are checked against the stored values, so hashes cannot mislead"),
    Setting::new(Global, &["index_intlen"], &["olcIndexIntLen"])
        .olc("0.84", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(200)])
        .shown()
        .takes("<bytes>", "4")
        .does("Sets the key length of integer indexes.")
        .since("2.4")
        .meaningless("integers are indexed in full"),
    Setting::new(Global, &["index_substr_if_minlen"], &["olcIndexSubstrIfMinLen"])
        .olc("0.20", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(160)])
        .shown()
        .takes("<characters>", "2")
        .does("Sets the shortest key of subinitial and subfinal indexes.")
        .meaningless(KEYS_REASON),
    Setting::new(Global, &["index_substr_if_maxlen"], &["olcIndexSubstrIfMaxLen"])
        .olc("0.21", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(150)])
        .shown()
        .takes("<characters>", "4")
        .does("Sets the longest key of subinitial and subfinal indexes.")
        .meaningless(KEYS_REASON),
    Setting::new(Global, &["index_substr_any_len"], &["olcIndexSubstrAnyLen"])
        .olc("0.22", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(170)])
        .shown()
        .takes("<characters>", "4")
        .does("Sets the key length of subany indexes.")
        .meaningless(KEYS_REASON),
    Setting::new(Global, &["index_substr_any_step"], &["olcIndexSubstrAnyStep"])
        .olc("0.23", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(180)])
        .shown()
        .takes("<characters>", "2")
        .does("Sets the distance of the keys that a subany lookup uses.")
        .meaningless(KEYS_REASON),
];
