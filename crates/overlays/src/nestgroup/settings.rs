//! Settings of slapo-nestgroup(5).

use ironbark_config::{SettingError, overlay::OverlaySettings};
use ironbark_model::Dn;

/// Which groups are nested, and where that shows.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct NestgroupConfig {
    /// `nestgroup-member`: attribute of groups.
    pub(super) member: String,
    /// `nestgroup-memberof`: attribute of members.
    pub(super) memberof: String,
    /// `nestgroup-base`: subtrees that hold groups.
    pub(super) bases: Vec<Dn>,
    /// `nestgroup-flags`.
    pub(super) flags: Flags,
}

/// What is done. slapd calls it flags.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a word of the setting")]
pub(super) struct Flags {
    pub(super) member_filter: bool,
    pub(super) member_values: bool,
    pub(super) memberof_filter: bool,
    pub(super) memberof_values: bool,
}

impl Flags {
    /// The words, in slapd's order.
    fn table(&mut self) -> [(&'static str, &mut bool); 4] {
        [
            ("member-values", &mut self.member_values),
            ("member-filter", &mut self.member_filter),
            ("memberof-values", &mut self.memberof_values),
            ("memberof-filter", &mut self.memberof_filter),
        ]
    }

    pub(super) fn set(&mut self, word: &str) -> Result<(), SettingError> {
        let mut table = self.table().into_iter();
        let found = table.find(|(known, _)| known.eq_ignore_ascii_case(word));
        *found.ok_or_else(|| format!("<{word}> unknown option"))?.1 = true;
        Ok(())
    }

    pub(super) fn words(mut self) -> Vec<String> {
        let set = self.table().into_iter().filter(|(_, is_set)| **is_set);
        set.map(|(word, _)| word.to_owned()).collect()
    }
}

impl Default for NestgroupConfig {
    fn default() -> Self {
        Self {
            member: "member".to_owned(),
            memberof: "memberOf".to_owned(),
            bases: Vec::new(),
            flags: Flags::default(),
        }
    }
}

impl OverlaySettings for NestgroupConfig {
    fn looked_up(&self) -> Vec<String> {
        let Flags {
            member_filter,
            memberof_filter,
            memberof_values,
            ..
        } = self.flags;
        let member = (member_filter || memberof_values || memberof_filter).then(|| self.member.clone());
        let memberof = memberof_filter.then(|| self.memberof.clone());
        member.into_iter().chain(memberof).collect()
    }
}
