//! slapo-cloak(5): attributes that a search sends only to who asks for them by name.

use std::sync::Arc;

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor, OverlaySettings},
    overlay_handler,
};
use ironbark_directory::{
    OperationError,
    overlay::{ArrangedEntry, Arrangement, BeginningSearch, Overlay, SearchHooks},
};
use ironbark_model::{AttributeDescription, Schema, schema::ClassNumber};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "cloak",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcCloakConfig"],
            oid: "4.4.1",
        }),
        settings: ROWS,
        controls: &[],
        fresh: AnySettings::of::<CloakConfig>,
        schema: "",
        introduction: "The overlay leaves attributes out of the entries of a search that has no list of attributes: \
            big values that few clients want. It protects nothing: who names the attribute, or `*`, gets it, and \
            filters see it. The control manageDSAit switches it off.",
    },
    make: |config, schema| make(config.settings()?, schema),
};

const ROWS: &[Setting] = &[
    Setting::new(SettingLevel::Overlay("cloak"), &["cloak-attr"], &["olcCloakAttribute"])
        .olc("4.4.1", Form::Ordered)
        .takes("<attribute> [<object class>]", "")
        .does("Leaves the attribute out; with an object class, only of entries of this class or a subclass of it.")
        .since("2.4")
        .like(&["jpegPhoto", "description person"])
        .obeyed(overlay_handler!(CloakConfig, add, |settings, _| {
            settings.rules.iter().map(RuleSetting::text).collect()
        })),
];

#[derive(Clone, PartialEq, Debug, Default)]
struct CloakConfig {
    rules: Vec<RuleSetting>,
}

/// One `cloak-attr`.
#[derive(Clone, PartialEq, Debug)]
struct RuleSetting {
    attribute: String,
    class: Option<String>,
}

impl OverlaySettings for CloakConfig {}

impl RuleSetting {
    fn text(&self) -> String {
        let class = self.class.iter().map(|class| format!(" {class}"));
        self.attribute.clone() + &class.collect::<String>()
    }
}

fn add(settings: &mut CloakConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let (name, class) = match statement.arguments {
        [name] => (name, None),
        [name, class] => (name, Some(class)),
        _ => return Err(format!("{} expected", statement.grammar).into()),
    };
    let schema = statement.schema;
    let description = schema.attribute_description(name.as_bytes());
    let description =
        description.map_err(|error| format!("unable to find AttributeDescription \"{name}\": {error}"))?;
    if let Some(class) = class
        && schema.find_object_class(class.as_bytes()).is_none()
    {
        return Err(format!("unable to find ObjectClass \"{class}\"").into());
    }
    settings.rules.push(RuleSetting {
        attribute: schema.description_text(&description),
        class: class.cloned(),
    });
    Ok(())
}

/// The overlay.
struct Cloak {
    schema: Arc<Schema>,
    rules: Vec<(AttributeDescription, Option<ClassNumber>)>,
    attributes: Vec<AttributeDescription>,
    object_class: AttributeDescription,
}

fn make(settings: &CloakConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let described = |name: &str| {
        let description = schema.attribute_description(name.as_bytes());
        description.map_err(|error| format!("attribute \"{name}\": {error}"))
    };
    let mut rules = Vec::new();
    for rule in &settings.rules {
        let class = rule.class.as_ref().map(|class| {
            let found = schema.find_object_class(class.as_bytes());
            found
                .map(|class| class.number)
                .ok_or_else(|| format!("object class \"{class}\" is not defined"))
        });
        rules.push((described(&rule.attribute)?, class.transpose()?));
    }
    let cloak = Cloak {
        schema: Arc::clone(schema),
        attributes: rules.iter().map(|(attribute, _)| attribute.clone()).collect(),
        rules,
        object_class: described("objectClass")?,
    };
    Ok(Overlay {
        searches: Some(Arc::new(Searches(Arc::new(cloak)))),
        ..Overlay::new("cloak")
    })
}

struct Searches(Arc<Cloak>);

impl SearchHooks for Searches {
    fn begin(&self, search: &BeginningSearch<'_>) -> Result<Option<Box<dyn Arrangement>>, OperationError> {
        let (request, controls) = (search.request, search.controls);
        let is_named = !request.attributes.is_empty() || request.types_only;
        if is_named || controls.manage_dsa_it.is_some() {
            return Ok(None);
        }
        Ok(Some(Box::new(Cloaked(Arc::clone(&self.0)))))
    }
}

struct Cloaked(Arc<Cloak>);

impl Cloak {
    fn is_of_class(&self, held: &[Vec<u8>], class: ClassNumber) -> bool {
        held.iter().any(|name| {
            let held = self.schema.find_object_class(name);
            held.is_some_and(|held| self.schema.is_subclass(held.number, class))
        })
    }
}

impl Arrangement for Cloaked {
    fn attributes(&self) -> &[AttributeDescription] {
        &self.0.attributes
    }

    fn arrange(
        &self,
        entry: &ArrangedEntry<'_>,
        attribute: &AttributeDescription,
        values: Vec<Vec<u8>>,
    ) -> Vec<Vec<u8>> {
        // Damage shows when the entry itself is read.
        let classes = || entry.values(&self.0.object_class).unwrap_or_default();
        let about = self.0.rules.iter().filter(|(about, _)| about == attribute);
        let mut classes_asked = about.map(|(_, class)| class);
        let is_cloaked = classes_asked.any(|class| match class {
            None => true,
            Some(class) => self.0.is_of_class(&classes(), *class),
        });
        if is_cloaked { Vec::new() } else { values }
    }
}
