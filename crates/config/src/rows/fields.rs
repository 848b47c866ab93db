//! Handlers of settings that fill one field and do nothing else.

/// A handler that fills one field of [`crate::GlobalConfig`] whose type is a [`Value`].
macro_rules! global_field {
    ($($field:ident).+) => {
        $crate::setting::Handler::Global {
            set: |config, statement| {
                config.$($field).+ = $crate::value::Value::parse(statement)?;
                Ok(())
            },
            get: |config, _| $crate::value::Value::text(&config.$($field).+),
        }
    };
}

/// The same for [`crate::DatabaseConfig`].
macro_rules! database_field {
    ($($field:ident).+) => {
        $crate::setting::Handler::Database {
            set: |config, statement| {
                config.$($field).+ = $crate::value::Value::parse(statement)?;
                Ok(())
            },
            get: |config, _| $crate::value::Value::text(&config.$($field).+),
        }
    };
}

/// The same for one variant of [`crate::OverlayConfig`].
macro_rules! overlay_field {
    ($variant:ident . $field:ident) => {
        $crate::setting::Handler::Overlay {
            set: |config, statement| match &mut config.settings {
                $crate::overlay::OverlaySettings::$variant(settings) => {
                    settings.$field = $crate::value::Value::parse(statement)?;
                    Ok(())
                }
                _ => Err("stands in the wrong overlay".to_owned()),
            },
            get: |config, _| match &config.settings {
                $crate::overlay::OverlaySettings::$variant(settings) => $crate::value::Value::text(&settings.$field),
                _ => Vec::new(),
            },
        }
    };
}

pub(crate) use {database_field, global_field, overlay_field};
