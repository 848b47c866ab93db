//! slapo-allop(5): a search for all user attributes gets the operational ones too.

use std::sync::Arc;

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement,
    overlay::{AnySettings, Occurrence, OverlayClass, OverlayDescriptor, OverlaySettings},
    overlay_handler,
    value::parse_dn,
};
use ironbark_directory::{
    OperationError,
    overlay::{Arrangement, BeginningSearch, Overlay, SearchHooks},
};
use ironbark_ldap_proto::Scope;
use ironbark_model::{
    Dn,
    ldap_url::{LdapUrl, UrlScope},
};

use crate::Row;

pub(crate) const ROW: Row = Row {
    descriptor: OverlayDescriptor {
        name: "allop",
        modules: &[],
        occurrence: Occurrence::Once,
        class: Some(OverlayClass {
            names: &["olcAllopConfig"],
            oid: "+1",
        }),
        settings: ROWS,
        controls: &[],
        fresh: AnySettings::of::<AllopConfig>,
        schema: "",
        introduction: "The overlay is for clients that expect operational attributes without asking for them. A search \
            that asks for all user attributes, by `*` or without a list, gets all operational ones too, as if its list \
            had `+`. Configured globally and without a setting, that applies to the root DSE alone.",
    },
    make: |config, _| {
        let settings = config.settings::<AllopConfig>()?.clone();
        Ok(Overlay {
            searches: Some(Arc::new(settings)),
            ..Overlay::new("allop")
        })
    },
};

/// The default.
const ROOT_DSE: &str = "ldap:///??base";

const ROWS: &[Setting] = &[Setting::new(
    SettingLevel::Overlay("allop"),
    &["allop-URI"],
    &["olcAllopURI"],
)
.olc("+50", Form::Text)
.takes("<ldapURI>", ROOT_DSE)
.does(
    "Says which searches it applies to, by DN and scope of an LDAP URL. `base`: those whose base is this entry. `one`: \
     those with the scope `base` of an entry directly below it. `sub`: those whose base is this entry or below it. \
     The empty DN with the scope `base` is the root DSE, and searches of it have the scope `base` too. Other parts of \
     the URL have no meaning.",
)
.since("2.3")
.like(&["ldap:///??sub", "ldap:///dc=example,dc=com??base"])
.obeyed(overlay_handler!(AllopConfig, set, |settings, _| {
    let place = settings.place.as_ref();
    vec![place.map_or(ROOT_DSE, |place| &place.text).to_owned()]
}))];

#[derive(Clone, PartialEq, Debug, Default)]
struct AllopConfig {
    /// `None`: the root DSE.
    place: Option<Place>,
}

impl OverlaySettings for AllopConfig {}

/// An `allop-URI`.
#[derive(Clone, PartialEq, Debug)]
struct Place {
    text: String,
    dn: Dn,
    scope: UrlScope,
}

fn set(settings: &mut AllopConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let text = statement.one()?;
    let url = LdapUrl::parse(text).map_err(|error| format!("\"{text}\": {error}"))?;
    settings.place = Some(Place {
        text: text.to_owned(),
        dn: parse_dn(statement, &url.dn).map_err(|_| format!("invalid DN: \"{}\"", url.dn))?,
        scope: url.scope.unwrap_or(UrlScope::Base),
    });
    Ok(())
}

impl SearchHooks for AllopConfig {
    fn begin(&self, _: &BeginningSearch<'_>) -> Result<Option<Box<dyn Arrangement>>, OperationError> {
        Ok(None)
    }

    fn adds_operational(&self, search: &BeginningSearch<'_>) -> bool {
        let is_of_entry = search.request.scope == Scope::BaseObject;
        let place = self.place.as_ref();
        let Some(place) = place.filter(|place| !(place.dn.is_root() && place.scope == UrlScope::Base)) else {
            return search.base.is_root() && is_of_entry;
        };
        match place.scope {
            UrlScope::Base => *search.base == place.dn,
            UrlScope::OneLevel => is_of_entry && search.base.is_child_of(&place.dn),
            UrlScope::Subtree | UrlScope::Children => search.base.is_within(&place.dn),
        }
    }
}
