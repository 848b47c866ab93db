//! The syntaxes of a schema: built-in rows and those that `ldapsyntax` adds.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::SyntaxRow;
use crate::syntax::{self, InvalidValue, Syntax};

/// The built-in rows.
pub(super) fn built_in() -> Vec<SyntaxRow> {
    syntax::all()
        .map(|syntax| {
            let definition: Box<str> = syntax::definition(syntax).into();
            SyntaxRow {
                syntax,
                unexpanded_definition: definition.clone(),
                definition,
                built_in: true,
                hidden: syntax.hidden,
            }
        })
        .collect()
}

/// A syntax whose values are validated and matched as those of `substitute` (`X-SUBST`). Without one, no value conforms
/// to it, as in slapd.
///
/// Rows are referred to as `&'static`, so each different definition is kept for the life of the process. A repeated
/// definition (the schema is rebuilt) gets its former row.
pub(super) fn defined(
    oid: &str,
    description: &str,
    substitute: Option<&'static Syntax>,
    human_readable: bool,
) -> &'static Syntax {
    type Rows = BTreeMap<(String, String, Option<&'static str>, bool), &'static Syntax>;
    static ROWS: Mutex<Rows> = Mutex::new(BTreeMap::new());
    let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (
        oid.to_owned(),
        description.to_owned(),
        substitute.map(|syntax| syntax.oid),
        human_readable,
    );
    rows.entry(key).or_insert_with(|| {
        let oid: &'static str = String::from(oid).leak();
        let alone = Syntax::text(oid, "", |_, _| Err(InvalidValue));
        let like = substitute.unwrap_or(&alone);
        Box::leak(Box::new(Syntax {
            oid,
            description: String::from(description).leak(),
            binary_transfer: like.binary_transfer,
            human_readable,
            validate: like.validate,
            validated_as: like.validated_as,
            hidden: false,
            superiors: like.superiors,
            name_form: like.name_form,
        }))
    })
}
