//! `security`: how well a connection must be protected for its requests.

use crate::{
    DatabaseConfig, SettingError,
    class::ConfigClass,
    setting::{Form, Handler, Setting, SettingLevel::Inherited},
    statement::Statement,
    value::parse_u32,
};

pub(crate) const ROWS: &[Setting] = &[Setting::new(Inherited, &["security"], &["olcSecurity"])
    .olc("0.59", Form::Texts)
    .allowed_by(&[ConfigClass::Global.at(520), ConfigClass::Database.at(250)])
    .takes("<factor>=<n> ...", "")
    .does(
        "Demands security strength factors: lengths of keys in bits, 1 for integrity alone. `ssf` is the factor of any \
         protection of the connection; `tls`, `sasl` and `transport` (ldapi://, see `localSSF`) are factors of one \
         kind. With `update_` in front they hold for requests that change something. `simple_bind` holds for simple \
         binds. A request below a factor is refused with confidentialityRequired. A database inherits the global \
         factors, and may replace each.",
    )
    .like(&["ssf=128", "tls=1 update_ssf=112 simple_bind=64"])
    .obeyed(Handler::Database {
        set,
        get: |config, _| {
            let mut factors = config.security;
            let asked = factors.fields().into_iter().filter(|(_, value)| **value != 0);
            asked.map(|(name, value)| format!("{name}={value}")).collect()
        },
    })];

fn set(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    for word in statement.some()? {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let mut fields = config.security.fields();
        let field = fields.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, field) = field.ok_or_else(|| format!("unknown factor \"{word}\""))?;
        let value = parse_u32(value).ok_or_else(|| format!("unable to parse factor \"{word}\""))?;
        // As in slapd, a database cannot demand less than the frontend.
        if value != 0 {
            **field = value;
        }
    }
    Ok(())
}
