//! Rows of the database that keeps nothing (slapd-null(5)).

use crate::{
    class::ConfigClass,
    database::DatabaseKind,
    rows::fields::database_field,
    setting::{Form, Level::DatabaseOf, Setting},
};

const NULL: crate::setting::Level = DatabaseOf(&[DatabaseKind::Null]);

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(NULL, &["bind"], &["olcDbBindAllowed"])
        .olc("2.8.1", Form::Boolean)
        .allowed_by(&[ConfigClass::Null.at(10)])
        .shown()
        .takes("on|off", "FALSE")
        .does("Authenticates any name below the suffix, with any password. Otherwise only the rootdn can bind.")
        .like(&["on"])
        .obeyed(database_field!(null.bind)),
    Setting::new(NULL, &["dosearch"], &["olcDbDoSearch"])
        .olc("2.8.2", Form::Boolean)
        .allowed_by(&[ConfigClass::Null.at(20)])
        .shown()
        .takes("on|off", "FALSE")
        .does(
            "Returns one entry to each search, whatever its filter: the suffix, with the attribute of its name. A \
             `subordinate` database cannot have this.",
        )
        .since("2.5")
        .like(&["on"])
        .obeyed(database_field!(null.do_search)),
];
