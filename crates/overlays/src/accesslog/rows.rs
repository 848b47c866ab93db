//! Rows of slapo-accesslog(5).

use ironbark_config::{
    Form, OWN, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler,
    value::{parse_dn, parse_u32},
};
use ironbark_model::Filter;

use super::settings::{AccesslogConfig, LogBase, Operations, Purge};

const ACCESSLOG: SettingLevel = SettingLevel::Overlay("accesslog");
/// Nesting of a filter.
const MAX_DEPTH: usize = 64;
const MOST_LAG_MS: u32 = 60_000;

pub(super) const ROWS: &[Setting] = &[
    Setting::new(ACCESSLOG, &["logdb"], &["olcAccessLogDB"])
        .olc("3.4.1", Form::Name)
        .required()
        .whole()
        .takes("<suffix>", "")
        .does(
            "Names the database of the log by its suffix: a stored database of this server, which has no overlay \
             accesslog itself. Its suffix entry is made if it is missing. Its access rules say who may read the log.",
        )
        .since("2.3")
        .like(&["cn=accesslog"])
        .obeyed(overlay_handler!(
            AccesslogConfig,
            |settings, statement| {
                settings.log_db = Some(parse_dn(statement, statement.one()?)?);
                Ok(())
            },
            |settings, _| settings.log_db.iter().map(|dn| dn.pretty().to_owned()).collect(),
        )),
    Setting::new(ACCESSLOG, &["logops"], &["olcAccessLogOps"])
        .olc("3.4.2", Form::Texts)
        .takes(
            "all|writes|session|reads|add|delete|modify|modrdn|compare|search|bind|unbind|abandon|extended ...",
            "",
        )
        .does(
            "Says which operations are logged. An operation that changes the database is in the log exactly once, also \
             after a crash, and before its answer is sent (see `accesslog-lag`).",
        )
        .since("2.3")
        .like(&["writes", "add delete", "modify modrdn"])
        .obeyed(overlay_handler!(
            AccesslogConfig,
            |settings, statement| {
                let mut words = statement
                    .some()?
                    .iter()
                    .flat_map(|argument| argument.split_whitespace());
                words.try_for_each(|word| settings.operations.add(word))
            },
            |settings, _| settings.operations.words(),
        )),
    Setting::new(ACCESSLOG, &["logpurge"], &["olcAccessLogPurge"])
        .olc("3.4.3", Form::Text)
        .takes("<age> <interval>", "")
        .does(
            "Deletes log entries of this age, as often as the interval says. Both have the form `[days+]hh:mm[:ss]`. \
             Before entries are deleted, minCSN of the suffix entry is raised.",
        )
        .since("2.3")
        .like(&["2+00:00 1+00:00", "07:00:30 00:05"])
        .obeyed(overlay_handler!(AccesslogConfig, set_purge, |settings, _| {
            let purge = settings.purge.iter();
            purge
                .map(|purge| format!("{} {}", age_text(purge.age_s), age_text(purge.interval_s)))
                .collect()
        })),
    Setting::new(ACCESSLOG, &["logsuccess"], &["olcAccessLogSuccess"])
        .olc("3.4.4", Form::Boolean)
        .takes("on|off", "FALSE")
        .does("Logs successful operations only.")
        .since("2.3")
        .like(&["TRUE"])
        .obeyed(overlay_field!(AccesslogConfig.success)),
    Setting::new(ACCESSLOG, &["logold"], &["olcAccessLogOld"])
        .olc("3.4.5", Form::ExactText)
        .takes("<filter>", "")
        .does(
            "Logs the former values of changed attributes, and deleted entries, in reqOld, if the entry before the \
             change matches the filter.",
        )
        .since("2.3")
        .like(&["(objectClass=person)"])
        .whole()
        .obeyed(overlay_handler!(
            AccesslogConfig,
            |settings, statement| {
                let text = statement.one()?;
                Filter::parse(text.as_bytes(), MAX_DEPTH).map_err(|error| format!("bad filter: {error}"))?;
                settings.old = Some(text.to_owned());
                Ok(())
            },
            |settings, _| settings.old.clone().into_iter().collect(),
        )),
    Setting::new(ACCESSLOG, &["logoldattr"], &["olcAccessLogOldAttr"])
        .olc("3.4.6", Form::Texts)
        .takes("<attribute>...", "")
        .does("Names attributes whose former values are logged in any case, if `logold` matches.")
        .since("2.4")
        .like(&["cn sn", "mail"])
        .obeyed(overlay_handler!(
            AccesslogConfig,
            |settings, statement| {
                let words = statement
                    .some()?
                    .iter()
                    .flat_map(|argument| argument.split_whitespace());
                for word in words {
                    let found = statement.schema.attribute_description(word.as_bytes());
                    let found = found.map_err(|error| format!("\"{word}\": {error}"))?;
                    let name = statement.schema.description_text(&found);
                    if !settings.old_attributes.contains(&name) {
                        settings.old_attributes.push(name);
                    }
                }
                Ok(())
            },
            |settings, _| settings.old_attributes.clone(),
        )),
    Setting::new(ACCESSLOG, &["logbase"], &["olcAccessLogBase"])
        .olc("3.4.7", Form::Texts)
        .takes("<operations, delimited by |> <base>", "")
        .does("Logs these operations below a base, even if `logops` does not name them.")
        .since("2.4")
        .like(&["search|compare \"ou=testing,dc=example,dc=com\""])
        .obeyed(overlay_handler!(AccesslogConfig, add_base, |settings, _| {
            let bases = settings.bases.iter();
            bases
                .map(|base| format!("{} \"{}\"", base.words, base.base.pretty()))
                .collect()
        })),
    Setting::new(ACCESSLOG, &["logpurgebatch"], &["olcAccessLogPurgeBatch"])
        .olc("3.4.8", Form::Integer)
        .takes("<number>", "")
        .does("Deletes at most so many old entries in one transaction of the database of the log; 1,000 by default.")
        .since("2.7")
        .like(&["100"])
        .obeyed(overlay_handler!(
            AccesslogConfig,
            |settings, statement| {
                let word = statement.one()?;
                let number = parse_u32(word).filter(|number| *number > 0);
                settings.purge_batch = Some(number.ok_or_else(|| format!("invalid number \"{word}\""))?);
                Ok(())
            },
            |settings, _| settings.purge_batch.iter().map(u32::to_string).collect(),
        )),
    Setting::new(ACCESSLOG, &["accesslog-lag"], &["olcAccessLogLag"])
        .olc("+48", Form::Integer)
        .takes("<milliseconds>", "")
        .does(
            "Lets changes be answered before they are in the log, which is behind by at most so much: then many go into \
             one transaction of the log, and writes cost less. Consumers of the log hear of a change half of this time \
             later. A crash loses nothing: what is missing comes from the log of changes. 60,000 at most; without this \
             setting, changes are in the log before they are answered. It has no effect on cn=config, and none \
             while the database has an overlay auditlog, or another accesslog without it: writes wait for those. An ldif \
             database has no lasting log of changes: after a crash its access log begins anew.",
        )
        .since(OWN)
        .like(&["100"])
        .obeyed(overlay_handler!(
            AccesslogConfig,
            |settings, statement| {
                let word = statement.one()?;
                let number = parse_u32(word).filter(|number| *number <= MOST_LAG_MS);
                settings.lag_ms = number.ok_or_else(|| format!("invalid number of milliseconds \"{word}\""))?;
                Ok(())
            },
            |settings, _| (settings.lag_ms > 0).then(|| settings.lag_ms.to_string()).into_iter().collect(),
        )),
];

fn add_base(settings: &mut AccesslogConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [words, base] = statement.some()? else {
        return Err(format!("{} expected", statement.grammar).into());
    };
    let mut operations = Operations::default();
    words.split('|').try_for_each(|word| operations.add(word))?;
    let base = LogBase {
        operations,
        words: words.clone(),
        base: parse_dn(statement, base)?,
    };
    if !settings.bases.contains(&base) {
        settings.bases.push(base);
    }
    Ok(())
}

fn set_purge(settings: &mut AccesslogConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [age, interval] = statement.some()? else {
        return Err(format!("{} expected", statement.grammar).into());
    };
    let parse = |text: &str| age_seconds(text).ok_or_else(|| format!("invalid time \"{text}\""));
    let purge = Purge {
        age_s: parse(age)?,
        interval_s: parse(interval)?,
    };
    if purge.age_s == 0 || purge.interval_s == 0 {
        return Err("age and interval must not be 0".into());
    }
    settings.purge = Some(purge);
    Ok(())
}

/// Seconds of `[days+]hh:mm[:ss]`.
fn age_seconds(text: &str) -> Option<u64> {
    let (days, time) = text.split_once('+').unwrap_or(("0", text));
    let number = |text: &str, digits: std::ops::RangeInclusive<usize>| {
        let is_number = digits.contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        is_number.then(|| text.parse::<u64>().ok()).flatten()
    };
    let days = number(days, 1..=5).filter(|days| *days <= 25_000)?;
    let mut parts = time.split(':');
    let hours = number(parts.next()?, 2..=2)?;
    let minutes = number(parts.next()?, 2..=2)?;
    let seconds = parts.next().map_or(Some(0), |part| number(part, 2..=2))?;
    parts
        .next()
        .is_none()
        .then_some(((days * 24 + hours) * 60 + minutes) * 60 + seconds)
}

fn age_text(age_s: u64) -> String {
    let (days, hours, minutes, seconds) = (age_s / 86_400, age_s / 3_600 % 24, age_s / 60 % 60, age_s % 60);
    let day = if days > 0 { format!("{days}+") } else { String::new() };
    let second = if seconds > 0 {
        format!(":{seconds:02}")
    } else {
        String::new()
    };
    format!("{day}{hours:02}:{minutes:02}{second}")
}
