//! Limits of searches: `sizelimit`, `timelimit`, `limits` (slapd.conf(5)), as typed values.

use ironbark_model::{AttributeDescription, Dn, Schema, schema::ClassNumber};

use crate::{reader::quote, setting::Statement, value};

/// The limits that apply to one requester.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SearchLimits {
    /// Seconds when the client asks for none; `None`: unlimited.
    pub time_soft_s: Option<u32>,
    /// Seconds a client may ask for.
    pub time_hard_s: HardLimit,
    /// Entries when the client asks for none; `None`: unlimited.
    pub size_soft: Option<u32>,
    /// Entries a client may ask for.
    pub size_hard: HardLimit,
    /// Candidates a search may examine.
    pub unchecked: UncheckedLimit,
    /// Largest page of the paged results control; `None`: unlimited.
    pub page_size: Option<u32>,
    /// `noEstimate`: the paged results control gives no estimate of the total.
    pub hide_page_estimate: bool,
    /// Entries over all pages of the paged results control.
    pub page_total: PageTotal,
}

/// The most that a client may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum HardLimit {
    /// As much as the soft limit.
    Soft,
    /// This much.
    At(u32),
    /// Anything.
    Unlimited,
}

/// `size.unchecked`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum UncheckedLimit {
    /// No search at all.
    Disabled,
    /// This many candidates; more is `unwillingToPerform`.
    At(u32),
    /// Any number.
    Unlimited,
}

/// `size.prtotal`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageTotal {
    /// The paged results control is refused.
    Disabled,
    /// The hard size limit.
    Hard,
    /// This many.
    At(u32),
    /// Any number.
    Unlimited,
}

/// slapd's defaults: 500 entries, one hour.
impl Default for SearchLimits {
    fn default() -> Self {
        Self {
            time_soft_s: Some(3600),
            time_hard_s: HardLimit::Soft,
            size_soft: Some(500),
            size_hard: HardLimit::Soft,
            unchecked: UncheckedLimit::Unlimited,
            page_size: None,
            hide_page_estimate: false,
            page_total: PageTotal::Hard,
        }
    }
}

/// One `limits` line: the first whose selector holds decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitsRule {
    /// For whom.
    pub selector: LimitsSelector,
    /// What applies: the limits of the database when the line was read, changed by it.
    pub limits: SearchLimits,
}

/// For whom a `limits` line is.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LimitsSelector {
    /// `*`.
    Any,
    /// `anonymous`.
    Anonymous,
    /// `users`.
    Users,
    /// `dn[.self].style=pattern`: the bound name. `dn.this.style=pattern`: the base of the operation.
    Dn {
        /// Whether the base of the operation is meant, not the bound name.
        is_base: bool,
        /// How to compare.
        pattern: DnPattern,
    },
    /// `group[/class[/attribute]]=dn`: whom that attribute of that entry, of that class, names.
    Group {
        /// Default groupOfNames.
        class: ClassNumber,
        /// Default member.
        attribute: AttributeDescription,
        /// The group.
        dn: Dn,
    },
}

/// How a name is compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DnPattern {
    /// `exact`, `base`.
    Exact(Dn),
    /// `onelevel`: directly below.
    OneLevel(Dn),
    /// `subtree`: the name or below.
    Subtree(Dn),
    /// `children`: below.
    Children(Dn),
    /// `regex`: POSIX extended, without case, on the normalized name.
    Regex(Box<str>),
}

impl LimitsRule {
    /// Parses the arguments of `limits`; `base` is what the line changes.
    pub(crate) fn parse(statement: &Statement<'_>, base: &SearchLimits) -> Result<Self, String> {
        let [selector, changes @ ..] = statement.arguments else {
            return Err(format!("missing {} argument", statement.grammar));
        };
        if changes.is_empty() {
            return Err(format!("missing {} argument", statement.grammar));
        }
        let selector = parse_selector(statement, selector)?;
        let mut limits = base.clone();
        for change in changes {
            limits
                .change(change)
                .ok_or_else(|| format!("unknown limit values \"{change}\""))?;
        }
        limits.reconcile();
        Ok(Self { selector, limits })
    }

    /// As cn=config shows it: what differs from `base`.
    pub(crate) fn text(&self, schema: &Schema, base: &SearchLimits) -> String {
        let mut words = vec![selector_text(schema, &self.selector)];
        words.extend(self.limits.size_words(base));
        words.extend(self.limits.time_words(base));
        if words.len() == 1 {
            words.push(format!("size.soft={}", soft_text(self.limits.size_soft)));
        }
        // slapd puts two blanks between limits, one behind the selector.
        let limits = words.split_off(1);
        format!("{} {}", words.concat(), limits.join("  "))
    }
}

impl SearchLimits {
    /// `sizelimit`: numbers, `unlimited`, or `size...=` words.
    pub(crate) fn set_size(&mut self, statement: &Statement<'_>) -> Result<(), String> {
        for word in statement.some()? {
            if starts(word, "size") {
                self.change(word)
                    .ok_or_else(|| format!("unable to parse value \"{word}\""))?;
            } else {
                self.size_soft = soft(word).ok_or_else(|| format!("unable to parse limit \"{word}\""))?;
                self.size_hard = HardLimit::Soft;
            }
        }
        Ok(())
    }

    /// `timelimit`: the same with `time...=` words.
    pub(crate) fn set_time(&mut self, statement: &Statement<'_>) -> Result<(), String> {
        for word in statement.some()? {
            if starts(word, "time") {
                self.change(word)
                    .ok_or_else(|| format!("unable to parse value \"{word}\""))?;
            } else {
                self.time_soft_s = soft(word).ok_or_else(|| format!("unable to parse limit \"{word}\""))?;
                self.time_hard_s = HardLimit::Soft;
            }
        }
        Ok(())
    }

    /// The value of `sizelimit`.
    pub(crate) fn size_text(&self) -> String {
        plain_or_words(&self.size_words(&Self::nothing()), "size")
    }

    /// The value of `timelimit`.
    pub(crate) fn time_text(&self) -> String {
        plain_or_words(&self.time_words(&Self::nothing()), "time")
    }

    /// Nobody's limits, so that soft limits are always printed.
    fn nothing() -> Self {
        Self {
            time_soft_s: Some(u32::MAX),
            size_soft: Some(u32::MAX),
            ..Self::default()
        }
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
            // slapd takes a page size of 0 as no limit.
            "size.pr" => self.page_size = soft(limit)?.filter(|&number| number > 0),
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

    /// A hard limit below the soft one is the soft one; a page is no larger than all pages.
    fn reconcile(&mut self) {
        let raised = |hard: HardLimit, soft: Option<u32>| match hard {
            HardLimit::At(number) if soft.is_none_or(|soft| number < soft) => {
                soft.map_or(HardLimit::Unlimited, HardLimit::At)
            }
            other => other,
        };
        self.time_hard_s = raised(self.time_hard_s, self.time_soft_s);
        self.size_hard = raised(self.size_hard, self.size_soft);
        if let PageTotal::At(total) = self.page_total {
            self.page_size = self.page_size.map(|size| size.min(total));
        }
    }

    fn size_words(&self, base: &Self) -> Vec<String> {
        let mut words = Vec::new();
        if self.size_soft != base.size_soft {
            words.push(format!("size.soft={}", soft_text(self.size_soft)));
        }
        if self.size_hard != base.size_hard {
            words.push(format!("size.hard={}", hard_text(self.size_hard)));
        }
        if self.unchecked != base.unchecked {
            words.push(match self.unchecked {
                UncheckedLimit::Disabled => "size.unchecked=disabled".to_owned(),
                UncheckedLimit::At(number) => format!("size.unchecked={number}"),
                UncheckedLimit::Unlimited => "size.unchecked=unlimited".to_owned(),
            });
        }
        if self.hide_page_estimate && !base.hide_page_estimate {
            words.push("size.pr=noEstimate".to_owned());
        }
        if self.page_size != base.page_size {
            words.push(format!("size.pr={}", soft_text(self.page_size)));
        }
        if self.page_total != base.page_total {
            words.push(match self.page_total {
                PageTotal::Disabled => "size.prtotal=disabled".to_owned(),
                PageTotal::Hard => "size.prtotal=hard".to_owned(),
                PageTotal::At(number) => format!("size.prtotal={number}"),
                PageTotal::Unlimited => "size.prtotal=unlimited".to_owned(),
            });
        }
        words
    }

    fn time_words(&self, base: &Self) -> Vec<String> {
        let mut words = Vec::new();
        if self.time_soft_s != base.time_soft_s {
            words.push(format!("time.soft={}", soft_text(self.time_soft_s)));
        }
        if self.time_hard_s != base.time_hard_s {
            words.push(format!("time.hard={}", hard_text(self.time_hard_s)));
        }
        words
    }
}

/// `500` where nothing but the soft limit is to be said.
fn plain_or_words(words: &[String], kind: &str) -> String {
    match words {
        [one] => one
            .strip_prefix(kind)
            .and_then(|rest| rest.strip_prefix(".soft="))
            .unwrap_or(one)
            .to_owned(),
        _ => words.join(" "),
    }
}

/// A number; `unlimited`, `none` and -1 are `None` inside.
#[allow(clippy::option_option, reason = "the inner one is the limit's own `unlimited`")]
fn soft(text: &str) -> Option<Option<u32>> {
    if text.eq_ignore_ascii_case("unlimited") || text.eq_ignore_ascii_case("none") || text == "-1" {
        return Some(None);
    }
    value::parse_u32(text)
        .filter(|&number| i32::try_from(number).is_ok())
        .map(Some)
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

fn starts(word: &str, prefix: &str) -> bool {
    word.get(..prefix.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(prefix))
}

fn parse_selector(statement: &Statement<'_>, text: &str) -> Result<LimitsSelector, String> {
    if text == "*" {
        return Ok(LimitsSelector::Any);
    }
    if text.eq_ignore_ascii_case("anonymous") {
        return Ok(LimitsSelector::Anonymous);
    }
    if text.eq_ignore_ascii_case("users") {
        return Ok(LimitsSelector::Users);
    }
    let (key, pattern) = text.split_once('=').unwrap_or((text, ""));
    let key = key.to_ascii_lowercase();
    if key == "dn" || key.starts_with("dn.") {
        parse_dn_selector(statement, &key, pattern)
    } else if key == "group" || key.starts_with("group/") {
        parse_group(statement, &key, pattern)
    } else {
        // Without a keyword: the name itself.
        let dn = value::parse_dn(statement, text)?;
        Ok(LimitsSelector::Dn {
            is_base: false,
            pattern: DnPattern::Exact(dn),
        })
    }
}

fn parse_dn_selector(statement: &Statement<'_>, key: &str, pattern: &str) -> Result<LimitsSelector, String> {
    let mut style = key
        .strip_prefix("dn")
        .and_then(|rest| rest.strip_prefix('.'))
        .unwrap_or("exact");
    let mut is_base = false;
    for (kind, base) in [("self", false), ("this", true)] {
        if let Some(rest) = style.strip_prefix(kind) {
            is_base = base;
            style = rest
                .strip_prefix('.')
                .unwrap_or(if rest.is_empty() { "exact" } else { style });
        }
    }
    if style == "anonymous" && !is_base {
        return Ok(LimitsSelector::Anonymous);
    }
    if pattern == "*" || (style == "regex" && pattern == ".*") {
        return Ok(LimitsSelector::Any);
    }
    let dn = || value::parse_dn(statement, pattern);
    let pattern = match style {
        "exact" | "base" => DnPattern::Exact(dn()?),
        "one" | "onelevel" => DnPattern::OneLevel(dn()?),
        "sub" | "subtree" => DnPattern::Subtree(dn()?),
        "children" => DnPattern::Children(dn()?),
        "regex" => {
            regex::Regex::new(pattern).map_err(|_| format!("invalid regular expression \"{pattern}\""))?;
            DnPattern::Regex(pattern.into())
        }
        _ => return Err(format!("unknown DN modifier \"{style}\"")),
    };
    Ok(LimitsSelector::Dn { is_base, pattern })
}

fn parse_group(statement: &Statement<'_>, key: &str, dn: &str) -> Result<LimitsSelector, String> {
    let mut parts = key.splitn(3, '/').skip(1);
    let class = parts.next().unwrap_or("groupOfNames");
    let attribute = parts.next().unwrap_or("member");
    let schema = statement.schema;
    Ok(LimitsSelector::Group {
        class: schema
            .find_object_class(class.as_bytes())
            .ok_or_else(|| format!("group objectClass \"{class}\" undefined"))?
            .number,
        attribute: schema
            .attribute_description(attribute.as_bytes())
            .map_err(|error| format!("group attribute \"{attribute}\": {error}"))?,
        dn: value::parse_dn(statement, dn)?,
    })
}

fn selector_text(schema: &Schema, selector: &LimitsSelector) -> String {
    match selector {
        LimitsSelector::Any => "*".to_owned(),
        LimitsSelector::Anonymous => "anonymous".to_owned(),
        LimitsSelector::Users => "users".to_owned(),
        LimitsSelector::Dn { is_base, pattern } => {
            let kind = if *is_base { ".this" } else { "" };
            let (style, text) = match pattern {
                DnPattern::Exact(dn) => ("exact", dn.pretty()),
                DnPattern::OneLevel(dn) => ("onelevel", dn.pretty()),
                DnPattern::Subtree(dn) => ("subtree", dn.pretty()),
                DnPattern::Children(dn) => ("children", dn.pretty()),
                DnPattern::Regex(text) => ("regex", text.as_ref()),
            };
            format!("dn{kind}.{style}={}", quote_always(text))
        }
        LimitsSelector::Group { class, attribute, dn } => {
            let class = schema
                .object_classes()
                .iter()
                .find(|candidate| candidate.number == *class);
            let class = class.map_or("", |class| {
                class.names.first().map_or(class.oid.as_ref(), AsRef::as_ref)
            });
            format!(
                "group/{class}/{}={}",
                schema.description_text(attribute),
                quote_always(dn.pretty())
            )
        }
    }
}

/// Names are always quoted in access and limits values, as slapd does.
pub(crate) fn quote_always(text: &str) -> String {
    let quoted = quote(text);
    if quoted.starts_with('"') {
        quoted
    } else {
        format!("\"{quoted}\"")
    }
}

#[cfg(test)]
mod tests;
