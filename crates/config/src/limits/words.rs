//! The words of `limits`, `sizelimit` and `timelimit`: how they change limits, and how cn=config shows them.

use super::{HardLimit, PageSize, PageTotal, SearchLimits, UncheckedLimit, after};
use crate::{SettingError, statement::Statement, value};

impl SearchLimits {
    /// `sizelimit`: numbers, `unlimited`, or `size...=` words.
    pub(crate) fn set_size(&mut self, statement: &Statement<'_>) -> Result<(), SettingError> {
        for word in statement.some()? {
            if after(word, "size").is_some() {
                self.change(word)
                    .ok_or_else(|| format!("unable to parse value \"{word}\""))?;
            } else {
                self.size_soft = plain(word)?;
                self.size_hard = HardLimit::Soft;
            }
        }
        Ok(())
    }

    /// `timelimit`: the same with `time...=` words.
    pub(crate) fn set_time(&mut self, statement: &Statement<'_>) -> Result<(), SettingError> {
        for word in statement.some()? {
            if after(word, "time").is_some() {
                self.change(word)
                    .ok_or_else(|| format!("unable to parse value \"{word}\""))?;
            } else {
                self.time_soft_s = plain(word)?;
                self.time_hard_s = HardLimit::Soft;
            }
        }
        Ok(())
    }

    /// One word of `limits`. As in slapd, a word about neither size nor time is ignored, with a notice.
    pub(super) fn change_as_said(&mut self, statement: &Statement<'_>, word: &str) -> Result<(), SettingError> {
        if after(word, "size").is_none() && after(word, "time").is_none() {
            statement.notice(format!("limit value \"{word}\" has no effect"));
            return Ok(());
        }
        self.change(word)
            .ok_or_else(|| format!("unknown limit values \"{word}\"").into())
    }

    /// Applies one `size...=` or `time...=` word.
    fn change(&mut self, word: &str) -> Option<()> {
        let (key, limit) = word.split_once('=')?;
        let is = |text: &str| limit.eq_ignore_ascii_case(text);
        match key.to_ascii_lowercase().as_str() {
            "time" => {
                self.time_soft_s = soft(limit)?;
                self.time_hard_s = HardLimit::Soft;
            }
            "time.soft" => self.time_soft_s = soft(limit)?,
            "time.hard" => self.time_hard_s = hard(limit)?,
            "size" => {
                self.size_soft = soft(limit)?;
                self.size_hard = HardLimit::Soft;
            }
            "size.soft" => self.size_soft = soft(limit)?,
            "size.hard" => self.size_hard = hard(limit)?,
            "size.unchecked" if is("disabled") => self.unchecked = UncheckedLimit::Disabled,
            "size.unchecked" => {
                self.unchecked = match soft(limit)? {
                    None => UncheckedLimit::Unlimited,
                    Some(0) => UncheckedLimit::Disabled,
                    Some(number) => UncheckedLimit::At(number),
                }
            }
            "size.pr" if is("noEstimate") => self.hide_page_estimate = true,
            "size.pr" => {
                self.page_size = match soft(limit)? {
                    None => PageSize::Unlimited,
                    Some(0) => PageSize::Unset,
                    Some(number) => PageSize::At(number),
                }
            }
            "size.prtotal" if is("disabled") => self.page_total = PageTotal::Disabled,
            "size.prtotal" if is("hard") => self.page_total = PageTotal::Hard,
            "size.prtotal" => {
                self.page_total = match soft(limit)? {
                    None => PageTotal::Unlimited,
                    Some(0) => PageTotal::Hard,
                    Some(number) => PageTotal::At(number),
                }
            }
            _ => return None,
        }
        Some(())
    }

    /// A hard limit below the soft one is raised to it; a page is no larger than all pages together.
    pub(super) fn reconcile(&mut self) {
        let raised = |hard: HardLimit, soft: Option<u32>| match hard {
            HardLimit::At(number) if soft.is_none_or(|soft| number < soft) => {
                soft.map_or(HardLimit::Unlimited, HardLimit::At)
            }
            other => other,
        };
        self.time_hard_s = raised(self.time_hard_s, self.time_soft_s);
        self.size_hard = raised(self.size_hard, self.size_soft);
        if let (PageTotal::At(total), PageSize::At(size)) = (self.page_total, self.page_size) {
            self.page_size = PageSize::At(size.min(total));
        }
    }

    /// The words that a `limits` line needs, and those that slapd adds: the differences from slapd's own defaults.
    pub(super) fn words(&self, base: &Self, inherited: &Self) -> Vec<String> {
        let slapd = Self::default();
        let is_soft = |limit: HardLimit| limit == HardLimit::Soft;
        let mut words = Vec::new();
        let is_said = self.size_soft != slapd.size_soft && self.size_soft != inherited.size_soft;
        let is_lost = is_soft(self.size_hard) && !is_soft(base.size_hard);
        if is_said || is_lost || self.size_soft != base.size_soft {
            let key = if is_soft(self.size_hard) { "size" } else { "size.soft" };
            words.push(format!("{key}={}", soft_text(self.size_soft)));
        }
        if !is_soft(self.size_hard) {
            words.push(format!("size.hard={}", hard_text(self.size_hard)));
        }
        words.extend(self.further_size_words(base));
        let is_said = self.time_soft_s != slapd.time_soft_s && self.time_soft_s != inherited.time_soft_s;
        let is_lost = is_soft(self.time_hard_s) && !is_soft(base.time_hard_s);
        if is_said || is_lost || self.time_soft_s != base.time_soft_s {
            let key = if is_soft(self.time_hard_s) { "time" } else { "time.soft" };
            words.push(format!("{key}={}", soft_text(self.time_soft_s)));
        }
        if !is_soft(self.time_hard_s) {
            words.push(format!("time.hard={}", hard_text(self.time_hard_s)));
        }
        if words.is_empty() {
            // A line without a limit could not be read again.
            words.push(format!("size={}", soft_text(self.size_soft)));
        }
        words
    }

    fn further_size_words(&self, base: &Self) -> Vec<String> {
        let slapd = Self::default();
        let mut words = Vec::new();
        if self.unchecked != slapd.unchecked || self.unchecked != base.unchecked {
            words.push(match self.unchecked {
                UncheckedLimit::Disabled => "size.unchecked=disabled".to_owned(),
                UncheckedLimit::At(number) => format!("size.unchecked={number}"),
                UncheckedLimit::Unlimited => "size.unchecked=unlimited".to_owned(),
            });
        }
        if self.hide_page_estimate {
            words.push("size.pr=noEstimate".to_owned());
        }
        if self.page_size != slapd.page_size || self.page_size != base.page_size {
            words.push(match self.page_size {
                PageSize::Unset => "size.pr=0".to_owned(),
                PageSize::At(number) => format!("size.pr={number}"),
                PageSize::Unlimited => "size.pr=unlimited".to_owned(),
            });
        }
        if self.page_total != slapd.page_total || self.page_total != base.page_total {
            words.push(match self.page_total {
                PageTotal::Disabled => "size.prtotal=disabled".to_owned(),
                PageTotal::Hard => "size.prtotal=hard".to_owned(),
                PageTotal::At(number) => format!("size.prtotal={number}"),
                PageTotal::Unlimited => "size.prtotal=unlimited".to_owned(),
            });
        }
        words
    }

    /// The value of `sizelimit` of a database that inherits `inherited`.
    pub(crate) fn size_text(&self, inherited: &Self) -> String {
        let slapd = Self::default().size_soft;
        let is_hidden = self.size_soft == slapd && inherited.size_soft != slapd;
        let first = limit_text("size", self.size_soft, self.size_hard, is_hidden);
        let further = self.further_size_words(inherited);
        std::iter::once(first).chain(further).collect::<Vec<_>>().join(" ")
    }

    /// The value of `timelimit`.
    pub(crate) fn time_text(&self, inherited: &Self) -> String {
        let slapd = Self::default().time_soft_s;
        let is_hidden = self.time_soft_s == slapd && inherited.time_soft_s != slapd;
        limit_text("time", self.time_soft_s, self.time_hard_s, is_hidden)
    }
}

/// A plain number if that is enough. `is_hidden`: a plain number would not be shown, because it is slapd's default,
/// although another one is inherited.
fn limit_text(kind: &str, soft: Option<u32>, hard: HardLimit, is_hidden: bool) -> String {
    let soft = soft_text(soft);
    match hard {
        HardLimit::Soft if is_hidden => format!("{kind}={soft}"),
        HardLimit::Soft => soft,
        hard => format!("{kind}.soft={soft} {kind}.hard={}", hard_text(hard)),
    }
}

/// A plain limit: `unlimited`, or a number, which may be hexadecimal or octal.
fn plain(text: &str) -> Result<Option<u32>, SettingError> {
    if text.eq_ignore_ascii_case("unlimited") || text == "-1" {
        return Ok(None);
    }
    value::parse_u32(text)
        .filter(|&number| i32::try_from(number).is_ok())
        .map(Some)
        .ok_or_else(|| format!("unable to parse limit \"{text}\"").into())
}

/// A decimal number; `unlimited`, `none` and -1 are `None` inside.
#[allow(clippy::option_option, reason = "the inner one is the limit's own `unlimited`")]
fn soft(text: &str) -> Option<Option<u32>> {
    if text.eq_ignore_ascii_case("unlimited") || text.eq_ignore_ascii_case("none") {
        return Some(None);
    }
    match text.parse::<i32>().ok()? {
        -1 => Some(None),
        number => u32::try_from(number).ok().map(Some),
    }
}

fn hard(text: &str) -> Option<HardLimit> {
    if text.eq_ignore_ascii_case("soft") {
        return Some(HardLimit::Soft);
    }
    Some(match soft(text)? {
        None => HardLimit::Unlimited,
        Some(0) => HardLimit::Soft,
        Some(number) => HardLimit::At(number),
    })
}

fn soft_text(limit: Option<u32>) -> String {
    limit.map_or_else(|| "unlimited".to_owned(), |number| number.to_string())
}

fn hard_text(limit: HardLimit) -> String {
    match limit {
        HardLimit::Soft => "soft".to_owned(),
        HardLimit::At(number) => number.to_string(),
        HardLimit::Unlimited => "unlimited".to_owned(),
    }
}
