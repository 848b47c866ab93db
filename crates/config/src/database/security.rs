//! `security`: how well a connection must be protected for what it asks.

use crate::{
    DatabaseConfig,
    setting::{Handler, Level::Inherited, Setting, Statement},
    value::parse_u32,
};

/// Security strength factors that are demanded; 0 demands nothing.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SecurityFactors {
    /// `ssf`: of whatever protects the connection.
    pub ssf: u32,
    /// `transport`: of the socket, ldapi:// say.
    pub transport: u32,
    /// `tls`.
    pub tls: u32,
    /// `sasl`.
    pub sasl: u32,
    /// `update_ssf`, and so on: for what changes something.
    pub update_ssf: u32,
    /// `update_transport`.
    pub update_transport: u32,
    /// `update_tls`.
    pub update_tls: u32,
    /// `update_sasl`.
    pub update_sasl: u32,
    /// `simple_bind`: for simple binds.
    pub simple_bind: u32,
}

impl SecurityFactors {
    fn fields(&mut self) -> [(&'static str, &mut u32); 9] {
        [
            ("ssf", &mut self.ssf),
            ("transport", &mut self.transport),
            ("tls", &mut self.tls),
            ("sasl", &mut self.sasl),
            ("update_ssf", &mut self.update_ssf),
            ("update_transport", &mut self.update_transport),
            ("update_tls", &mut self.update_tls),
            ("update_sasl", &mut self.update_sasl),
            ("simple_bind", &mut self.simple_bind),
        ]
    }
}

pub(super) const ROWS: &[Setting] = &[Setting::new(Inherited, &["security"], &["olcSecurity"])
    .takes("<factor>=<n> ...", "")
    .does(
        "Demands security strength factors, which are about the length of keys in bits, 1 for integrity alone: `ssf` of whatever protects the connection, `tls`, \
         `sasl`, `transport` (ldapi://, see `localSSF`); the same with `update_` in front for what changes something; `simple_bind` for simple binds. What falls short is \
         refused with confidentialityRequired. A database inherits the global factors, and may replace each.",
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

fn set(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), String> {
    for word in statement.some()? {
        let (name, value) = word.split_once('=').unwrap_or((word, ""));
        let mut fields = config.security.fields();
        let field = fields.iter_mut().find(|(known, _)| known.eq_ignore_ascii_case(name));
        let (_, field) = field.ok_or_else(|| format!("unknown factor \"{word}\""))?;
        let value = parse_u32(value).ok_or_else(|| format!("unable to parse factor \"{word}\""))?;
        // As in slapd, a database cannot demand less than all do.
        if value != 0 {
            **field = value;
        }
    }
    Ok(())
}
