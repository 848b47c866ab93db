//! `ppolicy_rules`: which policy applies to which entries.

use ironbark_config::{
    SettingError, Statement,
    access::{DnPattern, NameMatch, NameScope, Template},
    reader::quote_value,
    value::parse_bool,
};
use ironbark_model::{Dn, Filter, PosixRegex, Schema};

/// How deep the filter of a rule may nest.
const MAXIMUM_FILTER_DEPTH: usize = 100;

/// One rule. All conditions must hold.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyRule {
    /// `dn=`.
    pub object: Option<DnPattern>,
    /// `require_password=`: the rule skips entries without a password.
    pub require_password: bool,
    /// `filter=`, as text (RFC 4515).
    pub filter: Option<String>,
    /// `group=`: the entry must be a member.
    pub group: Option<PolicyGroup>,
    /// `policy_dn=`; `None`: `no_policy`.
    pub policy: Option<Template>,
    /// Whether later rules are skipped when this one applies.
    pub stop: bool,
    /// As it was written.
    words: Vec<String>,
}

/// A group of the rules.
#[derive(Clone, PartialEq, Debug)]
pub struct PolicyGroup {
    /// Object class.
    pub class: String,
    /// Attribute of its members.
    pub attribute: String,
    /// Its name.
    pub name: Template,
}

/// What has been read so far.
#[derive(Default)]
struct Parts {
    object: Option<DnPattern>,
    require_password: Option<bool>,
    filter: Option<String>,
    group: Option<PolicyGroup>,
    #[expect(clippy::option_option, reason = "not said, no policy, or one")]
    policy: Option<Option<Template>>,
    stop: Option<bool>,
}

impl PolicyRule {
    /// Reads one.
    ///
    /// # Errors
    /// Says what is wrong.
    pub fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let mut parts = Parts::default();
        for word in statement.some()? {
            parts.take(statement.schema, word)?;
        }
        let policy = parts
            .policy
            .ok_or_else(|| "need to specify policy_dn or no_policy".to_owned())?;
        Ok(Self {
            object: parts.object,
            require_password: parts.require_password.unwrap_or(true),
            filter: parts.filter,
            group: parts.group,
            policy,
            stop: parts.stop.unwrap_or(true),
            words: statement.arguments.to_vec(),
        })
    }

    /// As it was written.
    pub fn text(&self) -> String {
        let words: Vec<String> = self.words.iter().map(|word| quote_value(word)).collect();
        words.join(" ")
    }
}

impl Parts {
    fn take(&mut self, schema: &Schema, word: &str) -> Result<(), SettingError> {
        let Some((key, value)) = word.split_once('=') else {
            return self.take_action(word);
        };
        let (key, style) = key
            .split_once('.')
            .map_or((key, None), |(key, style)| (key, Some(style)));
        let (name, rest) = key
            .split_once('/')
            .map_or((key, None), |(name, rest)| (name, Some(rest)));
        let lower = name.to_ascii_lowercase();
        let is_again = match lower.as_str() {
            "dn" => self.object.is_some(),
            "require_password" => self.require_password.is_some(),
            "filter" => self.filter.is_some(),
            "group" => self.group.is_some(),
            "policy_dn" => self.policy.is_some(),
            _ => return Err(format!("unknown keyword \"{word}\"").into()),
        };
        if is_again {
            return Err(format!("\"{name}\" specified multiple times").into());
        }
        match lower.as_str() {
            "dn" => self.object = Some(object(schema, style, value)?),
            "group" => self.group = Some(self.group_of(schema, style, rest, value)?),
            "policy_dn" => self.policy = Some(Some(self.template(schema, name, style, value)?)),
            _ if style.is_some() => return Err(format!("\"{name}\" does not accept a style modifier").into()),
            "filter" => {
                Filter::parse(value.as_bytes(), MAXIMUM_FILTER_DEPTH).map_err(|_| format!("bad filter: {value}"))?;
                self.filter = Some(value.to_owned());
            }
            _ => {
                let known = parse_bool(value).ok_or_else(|| format!("unknown value for \"{name}\": {value}"))?;
                self.require_password = Some(known);
            }
        }
        Ok(())
    }

    fn take_action(&mut self, word: &str) -> Result<(), SettingError> {
        let stop = match word.to_ascii_lowercase().as_str() {
            "no_policy" if self.policy.is_some() => {
                return Err(format!("\"{word}\" or policy_dn specified multiple times").into());
            }
            "no_policy" => {
                self.policy = Some(None);
                return Ok(());
            }
            "stop" => true,
            "continue" => false,
            _ => return Err(format!("keyword \"{word}\" unknown or requires argument").into()),
        };
        if self.stop.replace(stop).is_some() {
            return Err(format!("more than one action specified: \"{word}\"").into());
        }
        Ok(())
    }

    fn group_of(
        &self,
        schema: &Schema,
        style: Option<&str>,
        rest: Option<&str>,
        value: &str,
    ) -> Result<PolicyGroup, SettingError> {
        let (class, attribute) = match rest.map(|rest| rest.split_once('/').unwrap_or((rest, ""))) {
            Some((class, attribute)) => (class, attribute),
            None => ("", ""),
        };
        let class = if class.is_empty() { "groupOfNames" } else { class };
        let attribute = if attribute.is_empty() { "member" } else { attribute };
        let found = schema.find_object_class(class.as_bytes());
        found.ok_or_else(|| format!("group objectclass \"{class}\" unknown"))?;
        let known = schema.attribute_description(attribute.as_bytes());
        known.map_err(|error| format!("group \"{value}\": {error}"))?;
        Ok(PolicyGroup {
            class: class.to_owned(),
            attribute: attribute.to_owned(),
            name: self.template(schema, "group", style, value)?,
        })
    }

    /// A name that may contain submatches of `dn.regex`.
    fn template(&self, schema: &Schema, key: &str, style: Option<&str>, value: &str) -> Result<Template, SettingError> {
        match style {
            None => {
                let dn = Dn::parse(schema, value.as_bytes());
                let dn = dn.map_err(|_| format!("unable to normalize {key} DN \"{value}\""))?;
                // A dollar sign in a name stands for itself.
                Ok(Template::parse(&dn.pretty().replace('$', "$$")))
            }
            Some(style) if !style.eq_ignore_ascii_case("expand") => {
                Err(format!("unknown style \"{style}\" for {key}").into())
            }
            Some(_) if matches!(self.object, Some(DnPattern::Regex(_))) => Ok(Template::parse(value)),
            Some(_) => Err(format!("{key} dn expansion requires a regex scope").into()),
        }
    }
}

fn object(schema: &Schema, style: Option<&str>, value: &str) -> Result<DnPattern, SettingError> {
    let style = style.unwrap_or("base").to_ascii_lowercase();
    let scope = match style.as_str() {
        "base" | "baseobject" | "exact" => NameScope::Base,
        "one" | "onelevel" => NameScope::OneLevel,
        "sub" | "subtree" => NameScope::Subtree,
        "children" => NameScope::Children,
        "regex" if value.is_empty() => NameScope::Base,
        "regex" => {
            let regex = PosixRegex::new(value);
            return regex
                .map(DnPattern::Regex)
                .map_err(|error| format!("regular expression \"{value}\" bad because of {error}").into());
        }
        _ => return Err(format!("unknown dn style: {style}").into()),
    };
    let dn = Dn::parse(schema, value.as_bytes()).map_err(|_| format!("unable to normalize dn=\"{value}\""))?;
    Ok(DnPattern::Name(NameMatch { scope, dn }))
}
