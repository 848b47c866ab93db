//! Rows of slapo-nestgroup(5).

use ironbark_config::{Form, Setting, SettingLevel, overlay_handler, value::parse_dn};

use super::settings::NestgroupConfig;
use crate::names::name_attribute;

const NESTGROUP: SettingLevel = SettingLevel::Overlay("nestgroup");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(NESTGROUP, &["nestgroup-member"], &["olcNestGroupMember"])
        .olc("3.25.1", Form::Text)
        .takes("<attribute>", "member")
        .does("Sets the attribute of a group that names its members.")
        .since("2.6.8")
        .like(&["uniqueMember"])
        .obeyed(overlay_handler!(
            NestgroupConfig,
            |settings, statement| {
                settings.member = name_attribute(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.member.clone()],
        )),
    Setting::new(NESTGROUP, &["nestgroup-memberof"], &["olcNestGroupMemberOf"])
        .olc("3.25.2", Form::Text)
        .takes("<attribute>", "memberOf")
        .does("Sets the attribute of an entry that names its groups.")
        .since("2.6.8")
        .like(&["seeAlso"])
        .obeyed(overlay_handler!(
            NestgroupConfig,
            |settings, statement| {
                settings.memberof = name_attribute(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.memberof.clone()],
        )),
    Setting::new(NESTGROUP, &["nestgroup-base"], &["olcNestGroupBase"])
        .olc("3.25.3", Form::Names)
        .takes("<dn>", "")
        .does("Names a subtree whose groups are nested; one statement for each. Without it nothing is done.")
        .since("2.6.8")
        .like(&["ou=groups,dc=example,dc=com"])
        .whole()
        .obeyed(overlay_handler!(
            NestgroupConfig,
            |settings, statement| {
                let base = parse_dn(statement, statement.one()?)?;
                settings.bases.push(base);
                Ok(())
            },
            |settings, _| settings.bases.iter().map(|base| base.pretty().to_owned()).collect(),
        )),
    Setting::new(NESTGROUP, &["nestgroup-flags"], &["olcNestGroupFlags"])
        .olc("3.25.4", Form::Texts)
        .takes("member-filter|memberof-filter|member-values|memberof-values ...", "")
        .does(
            "Says what is done. `member-values`: a group shows the members of its groups too. `member-filter`: a filter \
             on the members of a group finds it by them. `memberof-values`: an entry shows the groups of its groups \
             too. `memberof-filter`: a filter on the groups of an entry finds it by them. The values stand behind those \
             that are stored, and access rules apply to them as to those; compares are answered as filters are. The \
             attributes need equality indexes. Under manageDSAit nothing is done.",
        )
        .since("2.6.8")
        .like(&["member-filter memberof-filter", "member-values"])
        .obeyed(overlay_handler!(
            NestgroupConfig,
            |settings, statement| {
                let mut words = statement.some()?.iter().flat_map(|argument| argument.split_whitespace());
                words.try_for_each(|word| settings.flags.set(word))
            },
            |settings, _| settings.flags.words(),
        )),
];
