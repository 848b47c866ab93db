//! `index`.

use ironbark_model::{Schema, schema::AttributeType};

use crate::{
    DatabaseConfig, SettingError,
    class::ConfigClass,
    database::index::{IndexKinds, IndexSetting},
    setting::{Form, Handler, Setting, SettingLevel::DatabaseOf},
    statement::Statement,
};

/// Another spelling that slapd takes.
const SUBSTR: &str = "substr";

pub(crate) const ROWS: &[Setting] = &[Setting::new(DatabaseOf(&["mdb"]), &["index"], &["olcDbIndex"])
    .olc("2.0.2", Form::Texts)
    .allowed_by(&[ConfigClass::Berkeley.at(100), ConfigClass::Mdb.at(40)])
    .takes(
        "<attribute>[,...]|default [pres,eq,approx,sub,subinitial,subany,subfinal,nolang,nosubtypes]",
        "",
    )
    .does(
        "Indexes attributes. If the line names no kinds, those of `index default` hold. A new or changed index is \
         built while the server runs, and used when it is complete; `slapindex` builds it beforehand. objectClass \
         has an eq index in any case, and no other. One index serves all kinds of substrings.",
    )
    .like(&["cn,sn,mail pres,eq,sub", "default eq", "uid eq"])
    .obeyed(Handler::Database { set, get })];

fn set(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let (names, kinds) = match statement.some()? {
        [names] => (names, config.mdb.default_index),
        [names, kinds] => (names, parse_kinds(kinds)?),
        _ => return Err(format!("extra cruft after {}", statement.grammar).into()),
    };
    if kinds == IndexKinds::default() {
        return Err("no indexes selected".into());
    }
    for name in names.split(',').filter(|name| !name.is_empty()) {
        if name.eq_ignore_ascii_case("default") {
            config.mdb.default_index = config.mdb.default_index.with(kinds);
        } else {
            add(config, statement.schema, name, kinds)?;
        }
    }
    Ok(())
}

fn parse_kinds(text: &str) -> Result<IndexKinds, SettingError> {
    let mut kinds = IndexKinds::default();
    for word in text.split(',').filter(|word| !word.is_empty()) {
        let kind = if word.eq_ignore_ascii_case(SUBSTR) {
            Some(IndexKinds::SUBSTRINGS)
        } else {
            IndexKinds::word(word)
        };
        kinds = kinds.with(kind.ok_or_else(|| format!("index type \"{word}\" undefined"))?);
    }
    Ok(kinds)
}

fn add(config: &mut DatabaseConfig, schema: &Schema, name: &str, kinds: IndexKinds) -> Result<(), SettingError> {
    let description = schema
        .attribute_description(name.as_bytes())
        .map_err(|_| format!("index attribute \"{name}\" undefined"))?;
    let attribute_type = schema.attribute_type(description.attribute_type);
    check(attribute_type, name, kinds)?;
    let attribute = schema.description_text(&description);
    if config.mdb.indexes.iter().any(|index| index.attribute == attribute) {
        return Err(format!("duplicate index definition for attr \"{name}\"").into());
    }
    config.mdb.indexes.push(IndexSetting { attribute, kinds });
    Ok(())
}

fn check(attribute_type: &AttributeType, name: &str, kinds: IndexKinds) -> Result<(), SettingError> {
    if kinds.contains(IndexKinds::EQUALITY) && attribute_type.equality.is_none() {
        return Err(format!("equality index of attribute \"{name}\" disallowed").into());
    }
    let any_substrings = kinds.0 & IndexKinds::SUBSTRINGS.0 != 0;
    if any_substrings && attribute_type.substrings.is_none() {
        return Err(format!("substr index of attribute \"{name}\" disallowed").into());
    }
    Ok(())
}

fn get(config: &DatabaseConfig, _: &Schema) -> Vec<String> {
    let mdb = &config.mdb;
    let default = (mdb.default_index != IndexKinds::default()).then(|| format!("default {}", text(mdb.default_index)));
    let indexes = mdb
        .indexes
        .iter()
        .map(|index| format!("{} {}", index.attribute, text(index.kinds)));
    default.into_iter().chain(indexes).collect()
}

fn text(kinds: IndexKinds) -> String {
    kinds.words().join(",")
}
