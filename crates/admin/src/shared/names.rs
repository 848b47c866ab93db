//! Maps clients' names by slapd's settings, for slapacl and slapauth.

use ironbark_config::LoadedConfiguration;
use ironbark_directory::{Appraisal, OperationError};
use ironbark_model::{Dn, ResultCode, Schema};
use ironbark_store::Database;

use super::{chosen::Chosen, open::open_for_tool, options::Options};

/// All databases in order, opened for reading. An empty one is `None`.
///
/// # Errors
/// One cannot be opened.
pub(crate) fn open_all(configuration: &LoadedConfiguration, program: &str) -> Result<Vec<Option<Database>>, String> {
    let chosen = Chosen {
        configuration: configuration.clone(),
        positions: Vec::new(),
    };
    let all = configuration.databases.iter();
    all.map(|settings| {
        if settings.kind.has_suffix() {
            open_for_tool(settings, &chosen, program)
        } else {
            Ok(None)
        }
    })
    .collect()
}

/// The mapping of names.
pub(crate) struct Names<'a> {
    pub(crate) appraisal: &'a Appraisal,
    /// `-R`.
    pub(crate) realm: Option<String>,
    /// `-M`.
    pub(crate) mechanism: Option<String>,
}

impl Names<'_> {
    /// The DN of an authentication identity. `None`: the identity is not a DN and is used as it is.
    ///
    /// # Errors
    /// The fault of the identity.
    pub(crate) fn authenticated(&self, id: &str) -> Result<Option<Dn>, String> {
        let dn = self
            .appraisal
            .authenticated(id, self.realm.as_deref(), self.mechanism.as_deref());
        dn.map_err(|error| failed(&error))
    }

    /// The DN of an authorization identity: `u:<user>`, `dn:<name>`.
    ///
    /// # Errors
    /// The fault of the identity.
    pub(crate) fn named(&self, id: &str) -> Result<Dn, String> {
        let dn = self.appraisal.named(id, self.mechanism.as_deref());
        dn.map_err(|error| failed(&error))
    }
}

/// The error in the words of OpenLDAP's tools.
pub(crate) fn failed(error: &OperationError) -> String {
    let code = error.result_code;
    let text = match code {
        ResultCode::INVALID_ATTRIBUTE_SYNTAX => "Invalid syntax",
        ResultCode::INAPPROPRIATE_AUTHENTICATION => "Inappropriate authentication",
        _ => &*error.diagnostic_message,
    };
    format!("check failed {} ({text})", code.0)
}

/// The value of a tool's own option. If it is given several times, the last one counts.
///
/// # Errors
/// The value is not text.
pub(crate) fn own_value(options: &Options, letter: char) -> Result<Option<String>, String> {
    let given = options.own.iter().rev().find(|opt| opt.letter == letter);
    let text = given.map(|opt| opt.text().map(str::to_owned)).transpose();
    text.map_err(|error| format!("{}: {error}", options.program))
}

/// The normal form, with attribute types in the schema's spelling. slapd's tools show names like this.
pub(crate) fn normal(schema: &Schema, dn: &Dn) -> String {
    match Dn::parse(schema, dn.normalized()) {
        Ok(dn) => dn.pretty().to_owned(),
        Err(_) => String::from_utf8_lossy(dn.normalized()).into_owned(),
    }
}
