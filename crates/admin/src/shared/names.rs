//! Clients' names, as slapd's settings map them: what slapacl and slapauth share.

use ironbark_config::Configuration;
use ironbark_directory::{Appraisal, OperationError};
use ironbark_model::{Dn, ResultCode, Schema};
use ironbark_store::Database;

use super::{chosen::Chosen, open::open_to_read, options::Options};

/// All databases, in their order, to be read; one that has nothing in it is `None`.
///
/// # Errors
/// One cannot be opened.
pub(crate) fn open_all(configuration: &Configuration, program: &str) -> Result<Vec<Option<Database>>, String> {
    let chosen = Chosen {
        configuration: configuration.clone(),
        positions: Vec::new(),
    };
    let all = configuration.databases.iter();
    all.map(|settings| {
        if settings.kind.has_suffix() {
            open_to_read(settings, &chosen, program)
        } else {
            Ok(None)
        }
    })
    .collect()
}

/// What maps names.
pub(crate) struct Names<'a> {
    pub(crate) appraisal: &'a Appraisal,
    /// `-R`.
    pub(crate) realm: Option<String>,
    /// `-M`.
    pub(crate) mechanism: Option<String>,
}

impl Names<'_> {
    /// The DN of an authentication identity; `None`: it is none, and taken as it is.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn authenticated(&self, id: &str) -> Result<Option<Dn>, String> {
        let dn = self
            .appraisal
            .authenticated(id, self.realm.as_deref(), self.mechanism.as_deref());
        dn.map_err(|error| failed(&error))
    }

    /// The DN of an authorization identity: `u:<user>`, `dn:<name>`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn named(&self, id: &str) -> Result<Dn, String> {
        let dn = self.appraisal.named(id, self.mechanism.as_deref());
        dn.map_err(|error| failed(&error))
    }
}

/// As slapd's tools say it, in OpenLDAP's words.
pub(crate) fn failed(error: &OperationError) -> String {
    let code = error.result_code;
    let text = match code {
        ResultCode::INVALID_ATTRIBUTE_SYNTAX => "Invalid syntax",
        ResultCode::INAPPROPRIATE_AUTHENTICATION => "Inappropriate authentication",
        _ => &*error.diagnostic_message,
    };
    format!("check failed {} ({text})", code.0)
}

/// The value of an option that is the tool's own; of several the last.
///
/// # Errors
/// It is no text.
pub(crate) fn own_value(options: &Options, letter: char) -> Result<Option<String>, String> {
    let given = options.own.iter().rev().find(|opt| opt.letter == letter);
    let text = given.map(|opt| opt.text().map(str::to_owned)).transpose();
    text.map_err(|error| format!("{}: {error}", options.program))
}

/// As compared, with attribute types in the schema's spelling, which is how slapd's tools show names.
pub(crate) fn normal(schema: &Schema, dn: &Dn) -> String {
    match Dn::parse(schema, dn.normalized()) {
        Ok(dn) => dn.pretty().to_owned(),
        Err(_) => String::from_utf8_lossy(dn.normalized()).into_owned(),
    }
}
