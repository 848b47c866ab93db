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

pub(crate) use {database_field, global_field};
