//! Schema definitions that entries use cannot be removed.

use ironbark_model::{
    AttributeDescription, CompiledFilter, Filter, Schema,
    filter::Assertion,
    schema::{ClassNumber, ObjectClass},
};
use ironbark_store::{Database, DitScope, LostAttribute, Record, StoreError};

/// Finds something that an entry of a database uses and `schema` would remove. Returns a sentence for the
/// administrator. `None`: there is nothing, and the attributes that entries had once can be
/// [retired](Database::retire).
pub(crate) fn find(database: &Database, schema: &Schema, lost: &[LostAttribute]) -> Result<Option<String>, StoreError> {
    for attribute in lost {
        if has_attribute(database, &attribute.description)? {
            let name = &attribute.name;
            return Ok(Some(if attribute.is_defined {
                format!("attribute type \"{name}\": entries have it, so that its equality rule cannot change")
            } else {
                format!("attribute type \"{name}\": entries have it")
            }));
        }
    }
    let former = database.schema();
    // One of the class's names is enough: entries keep the name that was used when they were added.
    let is_lost = |class: &&ObjectClass| {
        let mut names = class.names.iter().chain(std::iter::once(&class.oid));
        names.any(|name| schema.find_object_class(name.as_bytes()).is_none())
    };
    for class in former.object_classes().iter().filter(is_lost) {
        if has_class(database, &former, schema, class)? {
            return Ok(Some(format!("object class \"{}\": entries are of it", class.name())));
        }
    }
    Ok(None)
}

fn has_attribute(database: &Database, description: &AttributeDescription) -> Result<bool, StoreError> {
    let name = database.schema().description_text(description);
    let filter = Filter::Present(name.as_bytes().into());
    any(database, &filter, |record| record.values(description).is_some())
}

/// Whether an entry names the class itself. If it names a subclass, it needs only the subclass.
fn has_class(database: &Database, former: &Schema, schema: &Schema, class: &ObjectClass) -> Result<bool, StoreError> {
    let filter = Filter::Equality(Assertion {
        attribute: b"objectClass".as_slice().into(),
        value: class.oid.as_bytes().into(),
    });
    let Some(object_class) = former.find_attribute_type(b"2.5.4.0") else {
        return Ok(false);
    };
    let description = AttributeDescription::plain(object_class.number);
    any(database, &filter, |record| {
        let Some(values) = record.values(&description) else {
            return false;
        };
        let mut found = false;
        let read = values.for_each(&mut |value| {
            found |= is_class(former, value, class.number) && schema.find_object_class(value).is_none();
            std::ops::ControlFlow::Continue(())
        });
        read.is_ok() && found
    })
}

fn is_class(schema: &Schema, name: &[u8], wanted: ClassNumber) -> bool {
    schema
        .find_object_class(name)
        .is_some_and(|class| class.number == wanted)
}

/// Whether some candidate of a filter passes `is_it`.
fn any(database: &Database, filter: &Filter<'_>, is_it: impl Fn(&Record<'_>) -> bool) -> Result<bool, StoreError> {
    let snapshot = database.snapshot()?;
    let view = snapshot.view();
    let mut compiled = CompiledFilter::default();
    compiled.compile(view.schema(), filter);
    let plan = view.plan(0, DitScope::Subtree, &compiled)?;
    let mut candidates = view.candidates(&plan, 0)?;
    while let Some(record) = candidates.next_record()? {
        if is_it(&record) {
            return Ok(true);
        }
    }
    Ok(false)
}
