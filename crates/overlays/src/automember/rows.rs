//! Rows of overlay automember. Their names are those of 389 Directory Server's attributes.

use ironbark_config::{
    Form, OWN, Setting, SettingError, SettingLevel, Statement, instead_of_escape, overlay_handler, reader::quote,
    value::parse_dn,
};
use ironbark_model::{Dn, Filter, PosixRegex, Schema, filter::MAX_DEPTH};

use super::settings::{AutomemberConfig, RuleSetting};

const AUTOMEMBER: SettingLevel = SettingLevel::Overlay("automember");

/// Rules in a list.
macro_rules! rules {
    ($field:ident) => {
        overlay_handler!(
            AutomemberConfig,
            |settings, statement| {
                settings.$field.push(parse_rule(statement)?);
                Ok(())
            },
            |settings, _| settings.$field.iter().map(rule_text).collect(),
        )
    };
}

pub(super) const ROWS: &[Setting] = &[
    Setting::new(AUTOMEMBER, &["automember-scope"], &["olcAutomemberScope"])
        .olc("+121", Form::Name)
        .required()
        .takes("<dn>", "")
        .does("Names the top of the subtree whose entries become members.")
        .since(OWN)
        .like(&["ou=people,dc=example,dc=com"])
        .whole()
        .obeyed(overlay_handler!(
            AutomemberConfig,
            |settings, statement| {
                settings.scope = Some(parse_dn(statement, statement.one()?)?);
                Ok(())
            },
            |settings, _| settings.scope.iter().map(name).collect(),
        )),
    Setting::new(AUTOMEMBER, &["automember-filter"], &["olcAutomemberFilter"])
        .olc("+122", Form::ExactText)
        .required()
        .takes("<filter>", "")
        .does("Says which of them: those that match after the write.")
        .since(OWN)
        .like(&["(objectClass=posixAccount)"])
        .whole()
        .obeyed(overlay_handler!(AutomemberConfig, set_filter, |settings, _| {
            settings.filter.iter().cloned().collect()
        })),
    Setting::new(
        AUTOMEMBER,
        &["automember-default-group"],
        &["olcAutomemberDefaultGroup"],
    )
    .olc("+123", Form::Names)
    .takes("<dn>", "")
    .does(
        "Names a group for entries that no inclusive expression puts into another one. May be given more than once; \
         the entry becomes a member of each.",
    )
    .since(OWN)
    .like(&["cn=users,ou=groups,dc=example,dc=com"])
    .whole()
    .obeyed(overlay_handler!(
        AutomemberConfig,
        |settings, statement| {
            settings.default_groups.push(parse_dn(statement, statement.one()?)?);
            Ok(())
        },
        |settings, _| settings.default_groups.iter().map(name).collect(),
    )),
    Setting::new(
        AUTOMEMBER,
        &["automember-grouping-attr"],
        &["olcAutomemberGroupingAttr"],
    )
    .olc("+124", Form::Text)
    .takes("<attribute>:dn|<attribute>", "member:dn")
    .does(
        "Names the attribute of the group, and what its new value is: the name of the entry, or the first value of \
         another attribute of it.",
    )
    .since(OWN)
    .like(&["uniqueMember:dn"])
    .obeyed(overlay_handler!(AutomemberConfig, set_grouping, |settings, _| {
        vec![format!(
            "{}:{}",
            settings.member,
            settings.value.as_deref().unwrap_or("dn")
        )]
    })),
    Setting::new(
        AUTOMEMBER,
        &["automember-inclusive-regex"],
        &["olcAutomemberInclusiveRegex"],
    )
    .olc("+125", Form::ExactTexts)
    .takes("<dn of the group> <attribute>=<expression>", "")
    .does(
        "Puts an entry into a group if a value of the attribute matches the expression (POSIX extended, \
         case-sensitive), unless an exclusive one matches. May be given more than once, also for one group.",
    )
    .since(OWN)
    .like(&["cn=staff,ou=groups,dc=example,dc=com title=^(head|staff)"])
    .obeyed(rules!(inclusive)),
    Setting::new(
        AUTOMEMBER,
        &["automember-exclusive-regex"],
        &["olcAutomemberExclusiveRegex"],
    )
    .olc("+126", Form::ExactTexts)
    .takes("<dn of the group> <attribute>=<expression>", "")
    .does("Keeps an entry out of this group, whatever the inclusive expressions say.")
    .since(OWN)
    .like(&["cn=staff,ou=groups,dc=example,dc=com uid=^test"])
    .obeyed(rules!(exclusive)),
];

fn name(dn: &Dn) -> String {
    dn.pretty().to_owned()
}

fn rule_text(rule: &RuleSetting) -> String {
    let expression = format!("{}={}", rule.attribute, rule.regex.as_str());
    format!("{} {}", quote(rule.group.pretty()), quote(&expression))
}

fn parse_rule(statement: &Statement<'_>) -> Result<RuleSetting, SettingError> {
    let [group, rule] = statement.arguments else {
        return Err(format!("{} expected", statement.grammar).into());
    };
    let Some((attribute, expression)) = rule.split_once('=').filter(|(_, expression)| !expression.is_empty()) else {
        return Err(format!("\"{rule}\": <attribute>=<expression> expected").into());
    };
    if let Some(character) = statement.lost_escape(1) {
        let advice = instead_of_escape(character);
        let reason = format!("\"{expression}\": slapd.conf makes \"{character}\" of \"\\{character}\": {advice}");
        return Err(reason.into());
    }
    // 389 has expressions of Perl: what POSIX reads otherwise is refused.
    let mut pairs = expression.chars().zip(expression.chars().skip(1));
    if let Some((first, second)) = pairs.find(|(first, second)| is_of_perl(*first, *second)) {
        let advice = match first {
            '\\' => format!(": {}", instead_of_escape(second)),
            _ => String::new(),
        };
        let reason = format!("\"{expression}\": \"{first}{second}\" is not in POSIX extended expressions{advice}");
        return Err(reason.into());
    }
    let regex = PosixRegex::case_sensitive(expression).map_err(|error| format!("\"{expression}\": {error}"))?;
    Ok(RuleSetting {
        group: parse_dn(statement, group)?,
        attribute: described(statement.schema, attribute)?,
        regex,
    })
}

/// `\d`, `(?`, `*?` and their like.
fn is_of_perl(first: char, second: char) -> bool {
    match first {
        '\\' => second.is_ascii_alphanumeric(),
        '(' | '*' | '+' | '?' | '}' => second == '?',
        _ => false,
    }
}

fn set_filter(settings: &mut AutomemberConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let text = statement.one()?;
    Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|_| format!("bad filter \"{text}\""))?;
    settings.filter = Some(text.to_owned());
    Ok(())
}

fn set_grouping(settings: &mut AutomemberConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let text = statement.one()?;
    let parts = text.split_once(':');
    let (member, value) = parts.ok_or_else(|| format!("\"{text}\": <attribute>:<attribute> expected"))?;
    settings.member = described(statement.schema, member)?;
    settings.value = match value {
        "dn" => None,
        name => Some(described(statement.schema, name)?),
    };
    Ok(())
}

fn described(schema: &Schema, name: &str) -> Result<String, SettingError> {
    let description = schema.attribute_description(name.as_bytes());
    let description = description.map_err(|error| format!("<{name}>: {error}"))?;
    Ok(schema.description_text(&description))
}
