//! Reading the words of a line.

use std::{fmt, time::Duration};

use ironbark_model::{Dn, Filter, Schema, filter::FilterError, ldap_url::UrlScope};

use super::{EVERYTHING, LogKind, LogSource, Syncrepl, retry};
use crate::{
    SettingError,
    connection::{BindMethod, ConnectSettings},
    reader::quote_value,
    secret::Secret,
    statement::Statement,
    value::{parse_dn, parse_u32},
    words::quoted_after,
};

/// The highest `rid`.
const MOST_RID: u32 = 999;
/// Depth of a filter.
const FILTER_DEPTH: usize = 250;
/// One day.
const USUAL_INTERVAL: Duration = Duration::from_hours(24);
/// `logbase` of a line with `syncdata=changelog` without it: where Sun's servers and 389 Directory Server have the log.
const CHANGELOG: &str = "cn=changelog";
/// `logfilter` of a line without it: all changes that were made.
const EVERY_CHANGE: &str = "(&(objectClass=auditWriteObject)(reqResult=0))";

/// `syncdata`.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SyncData {
    Default,
    Log(LogKind),
}

/// A line that is being read: what must be there may still be missing.
struct Unfinished<'a> {
    statement: &'a Statement<'a>,
    rid: Option<u16>,
    base: Option<Dn>,
    /// `syncdata`.
    data: SyncData,
    log_base: Option<Dn>,
    log_filter: Option<String>,
    strict_refresh: bool,
    line: Syncrepl,
}

impl Syncrepl {
    /// Reads a line.
    ///
    /// # Errors
    /// A keyword is unknown, its value is wrong, or `rid`, `provider` or `searchbase` are missing. What no part of this
    /// server does is refused.
    pub fn parse(statement: &Statement<'_>) -> Result<Self, SettingError> {
        let mut unfinished = Unfinished {
            statement,
            rid: None,
            base: None,
            data: SyncData::Default,
            log_base: None,
            log_filter: None,
            strict_refresh: false,
            line: Self {
                rid: 0,
                twins_before: 0,
                connection: ConnectSettings::default(),
                base: Dn::default(),
                scope: UrlScope::Subtree,
                filter: EVERYTHING.to_owned(),
                attributes: Vec::new(),
                excluded: Vec::new(),
                local_base: None,
                persists: false,
                dir_sync: false,
                interval: USUAL_INTERVAL,
                retry: Vec::new(),
                log: None,
                size_limit: 0,
                time_limit: 0,
                schema_checking: false,
                is_own: false,
                text: Secret::default(),
            },
        };
        // slapd binds with an empty name and an empty password, which is anonymous.
        unfinished.line.connection.bind.method = BindMethod::Simple;
        let mut shown = Vec::new();
        for word in statement.some()? {
            shown.push(text_of(word));
            unfinished.take(word)?;
        }
        unfinished.line.text = Secret(shown.join(" ").into_bytes());
        unfinished.finish()
    }
}

/// A word in the form of cn=config, with the quotes behind the equals sign.
fn text_of(word: &str) -> String {
    match word.split_once('=') {
        Some((keyword, value)) if quote_value(value) != value && !keyword.contains([' ', '"']) => {
            quoted_after(&format!("{keyword}="), value)
        }
        _ => quote_value(word),
    }
}

impl Unfinished<'_> {
    fn take(&mut self, word: &str) -> Result<(), SettingError> {
        let (keyword, value) = word.split_once('=').unwrap_or((word, ""));
        let wrong =
            |reason: &dyn fmt::Display| SettingError::Wrong(format!("{}: {reason}", keyword.to_ascii_lowercase()));
        let known = keyword.to_ascii_lowercase();
        match known.as_str() {
            "rid" => self.rid = Some(rid(value)?),
            "searchbase" => self.base = Some(self.dn("base", value)?),
            "suffixmassage" => self.line.local_base = Some(self.dn("massage", value)?),
            "filter" => self.line.filter = filter(value).map_err(|error| wrong(&error))?,
            "scope" => {
                self.line.scope = UrlScope::from_name(value)
                    .ok_or_else(|| SettingError::Wrong(format!("unknown scope \"{value}\"")))?;
            }
            "attrs" => self.line.attributes = names(self.statement.schema, value).map_err(|error| wrong(&error))?,
            "exattrs" => self.line.excluded = names(self.statement.schema, value).map_err(|error| wrong(&error))?,
            "type" => (self.line.persists, self.line.dir_sync) = sync_type(value)?,
            "interval" => self.line.interval = retry::interval(value).map_err(|error| wrong(&error))?,
            "retry" => {
                if !value.eq_ignore_ascii_case("undefined") {
                    self.line.retry = retry::steps(value).map_err(|error| wrong(&error))?;
                }
            }
            "sizelimit" => self.line.size_limit = limit(value).map_err(|error| wrong(&error))?,
            "timelimit" => self.line.time_limit = limit(value).map_err(|error| wrong(&error))?,
            // As in slapd, everything but "off" is "on".
            "schemachecking" => self.line.schema_checking = !value.eq_ignore_ascii_case("off"),
            "managedsait" => {
                if !matches!(value, "0" | "1") {
                    return Err(wrong(&format!("invalid manageDSAit value \"{value}\"")));
                }
            }
            "syncdata" => self.data = sync_data(value)?,
            // slapd sends it, and then ends at the first entry.
            "attrsonly" => return Err(wrong(&"an entry without values cannot be stored")),
            "strictrefresh" => self.strict_refresh = true,
            // Commits are shared anyway, and the cookie is part of its change.
            "lazycommit" => {}
            "logbase" => {
                let base = self.dn("logbase", value)?;
                self.log_base = Some(base);
            }
            "logfilter" => self.log_filter = Some(filter(value).map_err(|error| wrong(&error))?),
            _ => {
                if !word.contains('=') {
                    // It may be the rest of a password with a blank.
                    return Err("a word is not keyword=value; values with blanks need quotation marks".into());
                }
                if !self.line.connection.set(keyword, value)? {
                    return Err(format!("unable to parse \"{keyword}\"").into());
                }
            }
        }
        Ok(())
    }

    fn dn(&self, what: &str, value: &str) -> Result<Dn, SettingError> {
        parse_dn(self.statement, value).map_err(|_| format!("Invalid {what} DN \"{value}\"").into())
    }

    fn finish(mut self) -> Result<Syncrepl, SettingError> {
        if let Some((keyword, reason)) = &self.line.connection.unusable {
            self.statement
                .notice(format!("{keyword}: {reason}: as in slapd, the consumer never connects"));
        }
        let missing = [
            (self.rid.is_none(), "rid"),
            (self.line.connection.urls.is_empty(), "provider"),
            (self.base.is_none(), "searchbase"),
        ];
        let missing: Vec<&str> = missing.iter().filter(|(is, _)| *is).map(|(_, name)| *name).collect();
        self.line.log = self.log()?;
        if self.line.dir_sync && self.line.log.is_some() {
            return Err("type=dirSync takes no syncdata".into());
        }
        if self.line.dir_sync && self.line.scope != UrlScope::Subtree {
            return Err("type=dirSync takes no scope: all of the base comes".into());
        }
        if self.line.follows_changelog() && !self.line.is_whole_subtree() {
            // The log tells of changes of all entries, and not which of them match.
            return Err("syncdata=changelog takes neither scope nor filter".into());
        }
        if let (Some(rid), Some(base), true) = (self.rid, self.base, missing.is_empty()) {
            (self.line.rid, self.line.base) = (rid, base);
            return Ok(self.line);
        }
        Err(format!("the line is malformed, missing {}", missing.join(" ")).into())
    }
}

impl Unfinished<'_> {
    /// Where the provider's log is.
    fn log(&mut self) -> Result<Option<LogSource>, SettingError> {
        let (base, filter) = (self.log_base.take(), self.log_filter.take());
        let SyncData::Log(kind) = self.data else {
            if base.is_some() || filter.is_some() {
                let notice = "logbase and logfilter have no meaning without syncdata";
                self.statement.notice(notice.to_owned());
            }
            if self.strict_refresh {
                let notice = "strictrefresh has no meaning without syncdata=accesslog";
                self.statement.notice(notice.to_owned());
            }
            return Ok(None);
        };
        if kind == LogKind::Changelog && self.strict_refresh {
            return Err("syncdata=changelog takes no strictrefresh".into());
        }
        if kind == LogKind::Changelog && filter.is_some() {
            let notice = "logfilter has no meaning with syncdata=changelog: all changes are read";
            self.statement.notice(notice.to_owned());
        }
        let base = match (base, kind) {
            (Some(base), _) => base,
            (None, LogKind::Changelog) => self.dn("logbase", CHANGELOG)?,
            (None, LogKind::Accesslog) => return Err("syncdata=accesslog needs a logbase".into()),
        };
        let filter = filter.unwrap_or_else(|| EVERY_CHANGE.to_owned());
        Ok(Some(LogSource {
            kind,
            base,
            filter,
            strict_refresh: self.strict_refresh,
        }))
    }
}

fn rid(value: &str) -> Result<u16, SettingError> {
    let number = parse_decimal(value).ok_or_else(|| format!("unable to parse syncrepl id \"{value}\""))?;
    let small = u16::try_from(number).ok().filter(|rid| u32::from(*rid) <= MOST_RID);
    small.ok_or_else(|| format!("syncrepl id {number} is out of range [0..{MOST_RID}]").into())
}

/// `rid=010` is 10.
fn parse_decimal(value: &str) -> Option<u32> {
    let is_number = !value.is_empty() && value.bytes().all(|octet| octet.is_ascii_digit());
    value.parse().ok().filter(|_| is_number)
}

/// `syncdata`.
fn sync_data(value: &str) -> Result<SyncData, SettingError> {
    if value.eq_ignore_ascii_case("default") {
        Ok(SyncData::Default)
    } else if value.eq_ignore_ascii_case("accesslog") {
        Ok(SyncData::Log(LogKind::Accesslog))
    } else if value.eq_ignore_ascii_case("changelog") {
        Ok(SyncData::Log(LogKind::Changelog))
    } else {
        Err(format!("unknown sync data type \"{value}\"").into())
    }
}

/// Why a value has no meaning.
#[derive(Debug, thiserror::Error)]
enum ValueError {
    #[error("invalid limit \"{0}\"")]
    Limit(String),
    #[error("unable to parse filter=\"{value}\": {error}")]
    Filter { value: String, error: FilterError },
    #[error("files of names are not supported")]
    Include,
    #[error("\"{0}\" is not known")]
    Unknown(String),
}

fn limit(value: &str) -> Result<u32, ValueError> {
    if value.eq_ignore_ascii_case("unlimited") {
        return Ok(0);
    }
    parse_u32(value).ok_or_else(|| ValueError::Limit(value.to_owned()))
}

fn filter(value: &str) -> Result<String, ValueError> {
    match Filter::parse(value.as_bytes(), FILTER_DEPTH) {
        Ok(_) => Ok(value.to_owned()),
        Err(error) => Err(ValueError::Filter {
            value: value.to_owned(),
            error,
        }),
    }
}

/// `type`: whether changes follow the refresh, and whether they come by the DirSync control.
fn sync_type(value: &str) -> Result<(bool, bool), SettingError> {
    if value.eq_ignore_ascii_case("refreshAndPersist") {
        Ok((true, false))
    } else if value.eq_ignore_ascii_case("refreshOnly") {
        Ok((false, false))
    } else if value.eq_ignore_ascii_case("dirSync") {
        Ok((false, true))
    } else {
        Err(format!("unknown sync type \"{value}\"").into())
    }
}

/// Names that are separated by blanks and commas: attributes, `*`, `+`, `@class`.
fn names(schema: &Schema, value: &str) -> Result<Vec<Box<str>>, ValueError> {
    if value.starts_with(":include:") {
        return Err(ValueError::Include);
    }
    let words = value.split([' ', ',', '\t']).filter(|word| !word.is_empty());
    let known = words.map(|word| {
        let is_known = match word.strip_prefix(['@', '!']) {
            Some(class) => schema.find_object_class(class.as_bytes()).is_some(),
            None => matches!(word, "*" | "+") || schema.attribute_description(word.as_bytes()).is_ok(),
        };
        is_known
            .then(|| word.into())
            .ok_or_else(|| ValueError::Unknown(word.to_owned()))
    });
    known.collect()
}
