//! Rows of slapo-dds(5).

use ironbark_config::{
    Form, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler,
    value::{parse_span, span_text},
};

use super::settings::{DAY_S, DdsConfig, MAX_TTL_S};

const DDS: SettingLevel = SettingLevel::Overlay("dds");

/// The names of a span's setting.
const fn span(keyword: &'static [&'static str], attribute: &'static [&'static str], oid: &'static str) -> Setting {
    Setting::new(DDS, keyword, attribute)
        .olc(oid, Form::Text)
        .takes("<seconds>|<days>d<hours>h<minutes>m<seconds>s", "")
        .since("2.4")
        .like(&["2h30m", "3600"])
}

pub(super) const ROWS: &[Setting] = &[
    Setting::new(DDS, &["dds-state"], &["olcDDSstate"])
        .olc("3.9.1", Form::Boolean)
        .takes("on|off", "TRUE")
        .does("Says whether the overlay is active. With off, entries of class dynamicObject are ordinary entries.")
        .since("2.4")
        .like(&["FALSE"])
        .obeyed(overlay_field!(DdsConfig.is_on)),
    span(&["dds-max-ttl"], &["olcDDSmaxTtl"], "3.9.2")
        .takes("<seconds>|<days>d<hours>h<minutes>m<seconds>s", "1d")
        .like(&["2d", "1d12h", "100000"])
        .does("Sets the longest time to live that a client may ask for: between a day and a year and a day.")
        .obeyed(overlay_handler!(
            DdsConfig,
            |settings, statement| {
                let span = read(statement)?;
                if !(DAY_S..=MAX_TTL_S).contains(&span) {
                    return Err(
                        format!("DDS invalid dds-max-ttl={span}; must be between {DAY_S} and {MAX_TTL_S}").into(),
                    );
                }
                settings.max_ttl_s = span;
                Ok(())
            },
            |settings, _| vec![span_text(settings.max_ttl_s)],
        )),
    span(&["dds-min-ttl"], &["olcDDSminTtl"], "3.9.3")
        .does("Sets the shortest time to live. A client that asks for less gets this much. 0 means a day.")
        .obeyed(overlay_handler!(
            DdsConfig,
            |settings, statement| {
                settings.min_ttl_s = Some(life(statement)?);
                Ok(())
            },
            |settings, _| settings.min_ttl_s.map(span_text).into_iter().collect(),
        )),
    span(&["dds-default-ttl"], &["olcDDSdefaultTtl"], "3.9.4")
        .does("Sets the time to live of a new entry; dds-max-ttl by default. 0 means a day.")
        .obeyed(overlay_handler!(
            DdsConfig,
            |settings, statement| {
                settings.default_ttl_s = Some(life(statement)?);
                Ok(())
            },
            |settings, _| settings.default_ttl_s.map(span_text).into_iter().collect(),
        )),
    span(&["dds-interval"], &["olcDDSinterval"], "3.9.5")
        .does("Sets the time between two searches for expired entries; an hour by default.")
        .obeyed(overlay_handler!(
            DdsConfig,
            |settings, statement| {
                let span = read(statement)?;
                if span == 0 {
                    return Err("DDS invalid dds-interval=0".into());
                }
                if span < 60 {
                    statement.notice(format!("dds-interval={span} may be too small"));
                }
                settings.interval_s = Some(span);
                Ok(())
            },
            |settings, _| settings.interval_s.map(span_text).into_iter().collect(),
        )),
    span(&["dds-tolerance"], &["olcDDStolerance"], "3.9.6")
        .does("Sets how long an entry stays after it has expired. Such an entry may still be refreshed.")
        .obeyed(overlay_handler!(
            DdsConfig,
            |settings, statement| {
                settings.tolerance_s = Some(bounded(statement)?).filter(|span| *span > 0);
                Ok(())
            },
            |settings, _| settings.tolerance_s.map(span_text).into_iter().collect(),
        )),
    Setting::new(DDS, &["dds-max-dynamicObjects"], &["olcDDSmaxDynamicObjects"])
        .olc("3.9.7", Form::Integer)
        .takes("<number>", "")
        .does("Limits the dynamic entries of the database. Without this line any number is allowed.")
        .since("2.4")
        .like(&["10"])
        .obeyed(overlay_handler!(
            DdsConfig,
            |settings, statement| {
                let word = statement.one()?;
                let number = word
                    .parse()
                    .map_err(|_| format!("DDS invalid dds-max-dynamicObjects={word}"))?;
                settings.max_objects = number;
                Ok(())
            },
            |settings, _| match settings.max_objects {
                0 => Vec::new(),
                most => vec![most.to_string()],
            },
        )),
];

fn read(statement: &Statement<'_>) -> Result<u64, SettingError> {
    let word = statement.one()?;
    parse_span(word).ok_or_else(|| format!("DDS unable to parse {} \"{word}\"", statement.keyword).into())
}

fn bounded(statement: &Statement<'_>) -> Result<u64, SettingError> {
    let span = read(statement)?;
    if span > MAX_TTL_S {
        return Err(format!("DDS invalid {}={span}", statement.keyword).into());
    }
    Ok(span)
}

/// A time to live; 0 means a day.
fn life(statement: &Statement<'_>) -> Result<u64, SettingError> {
    Ok(match bounded(statement)? {
        0 => DAY_S,
        span => span,
    })
}
