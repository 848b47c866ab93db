//! Limits of searches: `sizelimit`, `timelimit`, `limits` (slapd.conf(5)), as typed values.

mod words;

use ironbark_model::{AttributeDescription, Dn, Schema, posix_regex::PosixRegex, schema::ClassNumber};

use crate::{SettingError, reader::quoted_after, statement::Statement, value};

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
    /// Largest page of the paged results control.
    pub page_size: PageSize,
    /// `noEstimate`: as in slapd, no answer has an estimate of the total anyway.
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
    /// This many candidates; more is `adminLimitExceeded`.
    At(u32),
    /// Any number.
    Unlimited,
}

/// `size.pr`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PageSize {
    /// Not set: any size.
    Unset,
    /// Entries.
    At(u32),
    /// Any size.
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
            page_size: PageSize::Unset,
            hide_page_estimate: false,
            page_total: PageTotal::Hard,
        }
    }
}

/// One `limits` line: the first one with a matching selector decides.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LimitsRule {
    /// The requesters.
    pub selector: LimitsSelector,
    /// The limits: those of the database when the line was read, changed by the line.
    pub limits: SearchLimits,
}

/// The requesters of a `limits` line.
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
        /// Whether the base of the operation is compared, and not the bound name.
        is_base: bool,
        /// How to compare.
        pattern: LimitsDnPattern,
    },
    /// `group[/class[/attribute]]=dn`: the members that the attribute of the entry names.
    Group {
        /// Default groupOfNames.
        class: ClassNumber,
        /// Default member.
        attribute: AttributeDescription,
        /// The group.
        dn: Dn,
    },
}

/// The pattern of `limits dn`: how the name of a requester is compared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LimitsDnPattern {
    /// `exact`, `base`.
    Exact(Dn),
    /// `onelevel`: directly below.
    OneLevel(Dn),
    /// `subtree`: the name or below.
    Subtree(Dn),
    /// `children`: below.
    Children(Dn),
    /// `regex`: POSIX extended, without case, on the normalized name.
    Regex(PosixRegex),
}

impl LimitsRule {
    /// Parses the arguments of `limits`; the line changes `base`.
    pub(crate) fn parse(statement: &Statement<'_>, base: &SearchLimits) -> Result<Self, SettingError> {
        let [selector, changes @ ..] = statement.arguments else {
            return Err(format!("missing {} argument", statement.grammar).into());
        };
        if changes.is_empty() {
            return Err(format!("missing {} argument", statement.grammar).into());
        }
        let selector = parse_selector(statement, selector)?;
        let mut limits = base.clone();
        for change in changes {
            limits.change_as_said(statement, change)?;
        }
        limits.reconcile();
        Ok(Self { selector, limits })
    }

    /// The form in cn=config: the changes of the line in a database with the limits `base`, which inherits `inherited`.
    pub(crate) fn text(&self, schema: &Schema, base: &SearchLimits, inherited: &SearchLimits) -> String {
        // slapd puts two blanks between limits, one behind the selector.
        let limits = self.limits.words(base, inherited).join("  ");
        format!("{} {limits}", selector_text(schema, &self.selector))
    }

    /// Whether an earlier line has this selector: the later one could never match, and slapd refuses it.
    pub(crate) fn is_repeated(&self, others: &[Self]) -> bool {
        let is_for_all = matches!(
            self.selector,
            LimitsSelector::Any | LimitsSelector::Anonymous | LimitsSelector::Users
        );
        is_for_all && others.iter().any(|other| other.selector == self.selector)
    }
}

fn parse_selector(statement: &Statement<'_>, text: &str) -> Result<LimitsSelector, SettingError> {
    let is = |word: &str| text.eq_ignore_ascii_case(word);
    if text == "*" {
        Ok(LimitsSelector::Any)
    } else if is("anonymous") {
        Ok(LimitsSelector::Anonymous)
    } else if is("users") {
        Ok(LimitsSelector::Users)
    } else if let Some(rest) = after(text, "dn") {
        parse_dn_selector(statement, rest)
    } else if let Some(rest) = after(text, "group") {
        parse_group(statement, rest)
    } else {
        // Without a keyword: the name itself.
        let dn = value::parse_dn(statement, text)?;
        Ok(LimitsSelector::Dn {
            is_base: false,
            pattern: LimitsDnPattern::Exact(dn),
        })
    }
}

/// `[.self|.this][.<style>]=<pattern>`.
fn parse_dn_selector(statement: &Statement<'_>, text: &str) -> Result<LimitsSelector, SettingError> {
    // `dn.anonymous` needs no pattern.
    let (key, pattern) = text
        .split_once('=')
        .map_or((text, None), |(key, pattern)| (key, Some(pattern)));
    let key = key.to_ascii_lowercase();
    let (is_base, style) = match key.strip_prefix(".this") {
        Some(style) => (true, style),
        None => (false, key.strip_prefix(".self").unwrap_or(&key)),
    };
    let style = if style.is_empty() { ".exact" } else { style };
    if style == ".anonymous" && key == ".anonymous" {
        return Ok(LimitsSelector::Anonymous);
    }
    let unknown = || Err(format!("unknown DN modifier \"{}\"", key.trim_start_matches('.')).into());
    let Some(style) = style.strip_prefix('.') else {
        return unknown();
    };
    let styles = [
        "exact", "base", "one", "onelevel", "sub", "subtree", "children", "regex",
    ];
    if !styles.contains(&style) {
        return unknown();
    }
    let Some(pattern) = pattern else {
        return Err("missing '='".into());
    };
    if pattern == "*" || (style == "regex" && pattern == ".*") {
        return Ok(LimitsSelector::Any);
    }
    if let Some(name) = [("one", "onelevel"), ("sub", "subtree")]
        .iter()
        .find_map(|(old, new)| (*old == style).then_some(new))
    {
        statement.notice_old(format!("deprecated \"{style}\" style; use \"{name}\" instead"));
    }
    let dn = || value::parse_dn(statement, pattern);
    let pattern = match style {
        "exact" | "base" => LimitsDnPattern::Exact(dn()?),
        "one" | "onelevel" => LimitsDnPattern::OneLevel(dn()?),
        "sub" | "subtree" => LimitsDnPattern::Subtree(dn()?),
        "children" => LimitsDnPattern::Children(dn()?),
        _ => {
            let regex = PosixRegex::new(pattern);
            let regex = regex.map_err(|error| format!("invalid regular expression \"{pattern}\": {error}"))?;
            statement.notice_lost_escape(0);
            LimitsDnPattern::Regex(regex)
        }
    };
    Ok(LimitsSelector::Dn { is_base, pattern })
}

/// `[/<class>[/<attribute>]]=<dn>`.
fn parse_group(statement: &Statement<'_>, text: &str) -> Result<LimitsSelector, SettingError> {
    let (key, dn) = text
        .split_once('=')
        .filter(|(key, _)| key.is_empty() || key.starts_with('/'))
        .ok_or_else(|| "missing '=' in \"group[/objectClass[/attributeType]]=<pattern>\"".to_owned())?;
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

/// What follows a keyword, in any case.
fn after<'t>(text: &'t str, keyword: &str) -> Option<&'t str> {
    let (start, rest) = text.split_at_checked(keyword.len())?;
    start.eq_ignore_ascii_case(keyword).then_some(rest)
}

fn selector_text(schema: &Schema, selector: &LimitsSelector) -> String {
    match selector {
        LimitsSelector::Any => "*".to_owned(),
        LimitsSelector::Anonymous => "anonymous".to_owned(),
        LimitsSelector::Users => "users".to_owned(),
        LimitsSelector::Dn { is_base, pattern } => {
            let kind = if *is_base { ".this" } else { "" };
            let (style, text) = match pattern {
                LimitsDnPattern::Exact(dn) => ("base", normal(dn)),
                LimitsDnPattern::OneLevel(dn) => ("onelevel", normal(dn)),
                LimitsDnPattern::Subtree(dn) => ("subtree", normal(dn)),
                LimitsDnPattern::Children(dn) => ("children", normal(dn)),
                LimitsDnPattern::Regex(expression) => ("regex", expression.as_str()),
            };
            quoted_after(&format!("dn{kind}.{style}="), text)
        }
        LimitsSelector::Group { class, attribute, dn } => {
            let class = schema
                .object_classes()
                .iter()
                .find(|candidate| candidate.number == *class);
            let class = class.map_or("", |class| {
                class.names.first().map_or(class.oid.as_ref(), AsRef::as_ref)
            });
            let attribute = schema.description_text(attribute);
            quoted_after(&format!("group/{class}/{attribute}="), normal(dn))
        }
    }
}

/// slapd shows normalized names here. A name whose normal form is not text stays as it is.
fn normal(dn: &Dn) -> &str {
    std::str::from_utf8(dn.normalized()).unwrap_or(dn.pretty())
}

#[cfg(test)]
mod tests;
