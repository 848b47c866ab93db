//! The schema of cn=config as definitions on top of the system schema.

use std::sync::{Arc, LazyLock};

use ironbark_model::{
    Schema,
    schema::{SchemaBuilder, SchemaErrors, Source},
};

use super::{
    attributes::{self, AttributeRow},
    classes::{self, ClassRow},
};

static BASE: LazyLock<Arc<Schema>> = LazyLock::new(|| {
    let built = try_build();
    // A test holds that the tables are right; should they not be, cn=config alone cannot be served.
    debug_assert!(built.is_ok(), "{built:?}");
    built.unwrap_or_else(|_| Schema::system())
});

/// What is built in: the system schema and that of cn=config. Every schema of a configuration begins with it, so that
/// numbers of its elements are the same in all.
pub fn base_schema() -> &'static Arc<Schema> {
    &BASE
}

fn try_build() -> Result<Arc<Schema>, SchemaErrors> {
    let source = Source {
        file: "built-in".into(),
        line: 0,
    };
    let mut builder = SchemaBuilder::new().built_in();
    for row in attributes::ROWS {
        builder.attributetype(&attribute_type(row), &source)?;
    }
    for row in classes::ROWS {
        builder.objectclass(&object_class(row), &source)?;
    }
    builder.build()
}

fn attribute_type(row: &AttributeRow) -> String {
    format!(
        "( {} NAME {} {} )",
        row.full_oid(),
        names(row.names),
        row.form.definition()
    )
}

fn object_class(row: &ClassRow) -> String {
    let list = |keyword: &str, names: &[&str]| match names {
        [] => String::new(),
        [one] => format!(" {keyword} {one}"),
        all => format!(" {keyword} ( {} )", all.join(" $ ")),
    };
    format!(
        "( {}{} NAME {} {}{}{} )",
        classes::ARC,
        row.oid,
        names(row.names),
        row.kind,
        list("MUST", row.must),
        list("MAY", row.may)
    )
}

fn names(names: &[&str]) -> String {
    match names {
        [one] => format!("'{one}'"),
        all => format!("( '{}' )", all.join("' '")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::{Level, settings};

    #[test]
    fn the_tables_make_a_schema() {
        let built = try_build().unwrap();
        let access = built.find_attribute_type(b"olcAccess").unwrap();
        assert_eq!(access.oid.as_ref(), "1.3.6.1.4.1.4203.1.12.2.3.0.1");
        assert_eq!(access.extension("X-ORDERED"), Some("VALUES"));
    }

    #[test]
    fn every_setting_of_cn_config_has_an_attribute_type_and_a_class_that_allows_it() {
        let known: BTreeSet<_> = attributes::ROWS.iter().flat_map(|row| row.names).copied().collect();
        let allowed: BTreeSet<_> = classes::ROWS
            .iter()
            .flat_map(|row| row.must.iter().chain(row.may))
            .copied()
            .collect();
        for attribute in settings().flat_map(|row| row.attributes) {
            assert!(known.contains(attribute), "{attribute}");
        }
        let mut settings_of = settings().filter(|row| !matches!(row.level, Level::Backend(_)));
        assert!(settings_of.all(|row| {
            row.attributes.is_empty() || row.attributes.iter().any(|name| allowed.contains(name)) || {
                // Names that other rows have, and those that 2.4 alone knew.
                panic!("{:?} is in no class", row.attributes)
            }
        }));
        for name in allowed.iter().filter(|name| **name != "cn") {
            assert!(known.contains(name), "{name}");
        }
    }
}
