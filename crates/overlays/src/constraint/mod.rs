//! slapo-constraint(5): conditions that the values of attributes must meet.
//!
//! The overlay checks the entry as it will be after the write, in the transaction of the database's one writer. The
//! cost for one operation is bounded.

mod check;
mod rows;
mod settings;

use std::sync::Arc;

use ironbark_config::{
    SettingError,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor},
};
use ironbark_directory::{
    Modification, OperationError, SetExpression,
    overlay::{ContentHooks, Execution, Overlay},
};
use ironbark_model::{
    AttributeDescription, CompiledFilter, Dn, Filter, PosixRegex, ResultCode, Schema, filter::MAX_DEPTH,
    ldap_url::UrlScope,
};
use ironbark_store::DitScope;

use self::settings::{Condition, ConstraintConfig, ConstraintSetting, EntryUrl};
use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "constraint",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcConstraintConfig"],
            oid: "3.13.1",
        }),
        settings: rows::ROWS,
        controls: &[],
        fresh: AnySettings::of::<ConstraintConfig>,
        schema: "",
        introduction: "",
    },
    make: |config, schema| make(config.settings()?, schema),
};

/// The overlay.
struct Constraints {
    schema: Arc<Schema>,
    /// In the configured order.
    all: Vec<Constraint>,
    allow_empty: bool,
}

struct Constraint {
    attributes: Vec<AttributeDescription>,
    test: Test,
    restrict: Option<Entries>,
}

enum Test {
    Count(u64),
    Size(u64),
    Regex {
        regex: PosixRegex,
        negated: bool,
    },
    Found {
        among: Box<Entries>,
        attributes: Vec<String>,
        negated: bool,
    },
    Set {
        set: SetExpression,
        negated: bool,
    },
}

/// Entries that a URL describes.
struct Entries {
    base: Option<Dn>,
    scope: DitScope,
    /// Text and compiled form.
    filter: Option<(String, CompiledFilter)>,
}

fn make(settings: &ConstraintConfig, schema: &Arc<Schema>) -> Result<Overlay, SettingError> {
    let all = settings.constraints.iter().map(|one| Constraint::new(one, schema));
    let constraints = Arc::new(Constraints {
        schema: Arc::clone(schema),
        all: all.collect::<Result<_, _>>()?,
        allow_empty: settings.allow_empty,
    });
    Ok(Overlay {
        content: Some(Arc::clone(&constraints) as _),
        outcomes: Some(constraints),
        ..Overlay::new("constraint")
    })
}

impl Constraint {
    fn new(setting: &ConstraintSetting, schema: &Schema) -> Result<Self, SettingError> {
        let attribute = |name: &String| {
            let description = schema.attribute_description(name.as_bytes());
            description.map_err(|error| format!("attribute \"{name}\": {error}"))
        };
        let test = match &setting.condition {
            Condition::Count(most) => Test::Count(*most),
            Condition::Size(most) => Test::Size(*most),
            Condition::Regex { regex, negated } => Test::Regex {
                regex: regex.clone(),
                negated: *negated,
            },
            Condition::Uri { url, negated } => Test::Found {
                among: Box::new(Entries::new(url, schema)?),
                attributes: url.attributes.clone(),
                negated: *negated,
            },
            Condition::Set { text, negated } => Test::Set {
                set: SetExpression::new(text),
                negated: *negated,
            },
        };
        Ok(Self {
            attributes: setting.attributes.iter().map(attribute).collect::<Result<_, _>>()?,
            test,
            restrict: setting
                .restrict
                .as_ref()
                .map(|url| Entries::new(url, schema))
                .transpose()?,
        })
    }
}

impl Entries {
    fn new(url: &EntryUrl, schema: &Schema) -> Result<Self, SettingError> {
        let filter = match &url.filter {
            None => None,
            Some(text) => {
                let filter = Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|_| format!("bad filter {text}"))?;
                let mut compiled = CompiledFilter::default();
                compiled.compile(schema, &filter);
                Some((text.clone(), compiled))
            }
        };
        Ok(Self {
            base: url.base.clone(),
            scope: match url.scope {
                UrlScope::Base => DitScope::Base,
                UrlScope::OneLevel => DitScope::OneLevel,
                UrlScope::Subtree => DitScope::Subtree,
                UrlScope::Children => DitScope::Children,
            },
            filter,
        })
    }

    /// Whether an entry of this name is in the scope; without a base every entry is.
    fn reaches(&self, dn: &Dn) -> bool {
        let Some(base) = &self.base else { return true };
        match self.scope {
            DitScope::Base => dn == base,
            DitScope::Subtree => dn.is_within(base),
            DitScope::OneLevel => dn.is_within(base) && dn.depth() == base.depth() + 1,
            DitScope::Children => dn.is_within(base) && dn.depth() > base.depth(),
        }
    }
}

impl ContentHooks for Constraints {
    fn before_modify(
        &self,
        _: &mut Execution<'_, '_>,
        _: &Dn,
        modifications: &mut Vec<Modification>,
    ) -> Result<(), OperationError> {
        if modifications.is_empty() && !self.allow_empty {
            let text = "constraint_update() got null modlist";
            return Err(OperationError::new(ResultCode::INVALID_ATTRIBUTE_SYNTAX, text));
        }
        Ok(())
    }
}
