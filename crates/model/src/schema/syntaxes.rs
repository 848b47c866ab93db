//! The syntaxes of a schema: built-in rows and those that `ldapsyntax` adds.

use std::{
    collections::BTreeMap,
    sync::{Mutex, PoisonError},
};

use super::SyntaxRow;
use crate::syntax::{self, Syntax};

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

/// A syntax whose values are validated and matched as those of `substitute` (`X-SUBST`).
///
/// Rows are referred to as `&'static`, so each different definition is kept for the life of the process. A repeated
/// definition (the schema is rebuilt) gets its former row.
pub(super) fn substituted(
    oid: &str,
    description: &str,
    substitute: &'static Syntax,
    human_readable: bool,
) -> &'static Syntax {
    type Rows = BTreeMap<(String, String, &'static str, bool), &'static Syntax>;
    static ROWS: Mutex<Rows> = Mutex::new(BTreeMap::new());
    let mut rows = ROWS.lock().unwrap_or_else(PoisonError::into_inner);
    let key = (oid.to_owned(), description.to_owned(), substitute.oid, human_readable);
    rows.entry(key).or_insert_with(|| {
        Box::leak(Box::new(Syntax {
            oid: String::from(oid).leak(),
            description: String::from(description).leak(),
            binary_transfer: substitute.binary_transfer,
            human_readable,
            validate: substitute.validate,
            validated_as: substitute.validated_as,
            hidden: false,
            superiors: substitute.superiors,
            name_form: substitute.name_form,
        }))
    })
}
