//! Handlers of the settings of overlays, by the type that holds them.

use ironbark_model::Schema;

use crate::{SettingError, statement::Statement};

/// How a statement changes the settings of an overlay.
pub type OverlaySetter<T> = fn(&mut T, &Statement<'_>) -> Result<(), SettingError>;

/// How to print a value in the settings of an overlay: one string for each value, without ordering prefixes.
pub type OverlayGetter<T> = fn(&T, &Schema) -> Vec<String>;

/// A handler that fills one field of an overlay's settings, whose type is a [`Value`](crate::value::Value):
/// `overlay_field!(RefintConfig.nothing)`.
#[macro_export]
macro_rules! overlay_field {
    ($settings:ident . $field:ident) => {
        $crate::overlay_handler!(
            $settings,
            |settings, statement| {
                settings.$field = $crate::value::Value::parse(statement)?;
                Ok(())
            },
            |settings, _| $crate::value::Value::text(&settings.$field)
        )
    };
}

/// A handler of a setting of an overlay, by the type of its settings. It says how a statement changes them, and how
/// their value is printed: one string for each value, without ordering prefixes.
///
/// `overlay_handler!(RefintConfig, |settings, statement| ..., |settings, schema| ...)`; both may be names of functions.
#[macro_export]
macro_rules! overlay_handler {
    ($settings:ty, $set:expr, $get:expr $(,)?) => {
        $crate::Handler::Overlay {
            set: |config, statement| {
                let set: $crate::overlay::OverlaySetter<$settings> = $set;
                set(config.settings_mut()?, statement)
            },
            get: |config, schema| {
                let get: $crate::overlay::OverlayGetter<$settings> = $get;
                config
                    .settings()
                    .map_or_else(|_| Vec::new(), |settings| get(settings, schema))
            },
        }
    };
}
