//! Settings of slapo-memberof(5).

use ironbark_config::{
    Form, OWN, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler, value::parse_u32,
};

use super::settings::{Dangling, MemberofConfig};
use crate::names::name_attribute;

const MEMBEROF: SettingLevel = SettingLevel::Overlay("memberof");

const DANGLING: &[(&str, Dangling)] = &[
    ("ignore", Dangling::Ignore),
    ("drop", Dangling::Drop),
    ("error", Dangling::Error),
];

/// Result codes that may be named. The first name of each is slapd's, which is printed; the names of RFC 4511 are
/// accepted too.
const RESULT_CODES: &[(&str, u32)] = &[
    ("operationsError", 1),
    ("protocolError", 2),
    ("timelimitExceeded", 3),
    ("sizelimitExceeded", 4),
    ("compareFalse", 5),
    ("compareTrue", 6),
    ("authMethodNotSupported", 7),
    ("strongerAuthRequired", 8),
    ("referral", 10),
    ("adminlimitExceeded", 11),
    ("unavailableCriticalExtension", 12),
    ("confidentialityRequired", 13),
    ("saslBindInProgress", 14),
    ("noSuchAttribute", 16),
    ("undefinedType", 17),
    ("undefinedAttributeType", 17),
    ("inappropriateMatching", 18),
    ("constraintViolation", 19),
    ("typeOrValueExists", 20),
    ("attributeOrValueExists", 20),
    ("invalidSyntax", 21),
    ("invalidAttributeSyntax", 21),
    ("noSuchObject", 32),
    ("aliasProblem", 33),
    ("invalidDnSyntax", 34),
    ("aliasDerefProblem", 36),
    ("inappropriateAuth", 48),
    ("invalidCredentials", 49),
    ("insufficientAccess", 50),
    ("insufficientAccessRights", 50),
    ("busy", 51),
    ("unavailable", 52),
    ("unwillingToPerform", 53),
    ("loopDetect", 54),
    ("namingViolation", 64),
    ("objectClassViolation", 65),
    ("notAllowedOnNonleaf", 66),
    ("notAllowedOnRdn", 67),
    ("alreadyExists", 68),
    ("noObjectClassMods", 69),
    ("affectsMultipleDsas", 71),
    ("other", 80),
];

pub(super) const ROWS: &[Setting] = &[
    Setting::new(MEMBEROF, &["memberof-dn"], &["olcMemberOfDN"])
        .olc("3.18.0", Form::Name)
        .takes("<dn>", "")
        .does("Sets the modifiersName of the overlay's own changes; the rootdn by default.")
        .since("2.4")
        .like(&["cn=MemberOf"])
        .whole()
        .obeyed(overlay_field!(MemberofConfig.modifier)),
    Setting::new(MEMBEROF, &["memberof-dangling"], &["olcMemberOfDangling"])
        .olc("3.18.1", Form::Text)
        .shown()
        .takes("ignore|drop|error", "ignore")
        .does("Says what happens to a member that does not exist: it is kept, left out, or the request is refused.")
        .since("2.4")
        .like(&["error"])
        .obeyed(overlay_handler!(MemberofConfig, set_dangling, |settings, _| vec![
            dangling_text(settings)
        ])),
    Setting::new(MEMBEROF, &["memberof-dangling-error"], &["olcMemberOfDanglingError"])
        .olc("3.18.7", Form::Text)
        .takes("<result code>", "constraintViolation")
        .does("Sets the result code of such a refusal, by number or name.")
        .since("2.4")
        .like(&["noSuchObject"])
        .obeyed(overlay_handler!(
            MemberofConfig,
            set_dangling_error,
            |settings, _| vec![dangling_error_text(settings)]
        )),
    Setting::new(MEMBEROF, &["memberof-refint"], &["olcMemberOfRefInt"])
        .olc("3.18.2", Form::Boolean)
        .shown()
        .takes("on|off", "FALSE")
        .does("Changes groups when their members are changed, renamed or deleted.")
        .since("2.4")
        .like(&["TRUE"])
        .obeyed(overlay_field!(MemberofConfig.referential_integrity)),
    Setting::new(MEMBEROF, &["memberof-group-oc"], &["olcMemberOfGroupOC"])
        .olc("3.18.3", Form::Text)
        .takes("<class>", "groupOfNames")
        .does("Sets the object class that makes an entry a group.")
        .since("2.4")
        .like(&["groupOfUniqueNames"])
        .obeyed(overlay_handler!(MemberofConfig, set_class, |settings, _| vec![
            settings.group_class.clone()
        ])),
    Setting::new(MEMBEROF, &["memberof-member-ad"], &["olcMemberOfMemberAD"])
        .olc("3.18.4", Form::Text)
        .takes("<attribute>", "member")
        .does("Sets the attribute of a group that names its members.")
        .since("2.4")
        .like(&["uniqueMember"])
        .obeyed(overlay_handler!(
            MemberofConfig,
            |settings, statement| {
                settings.member_attribute = name_attribute(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.member_attribute.clone()],
        )),
    Setting::new(MEMBEROF, &["memberof-memberof-ad"], &["olcMemberOfMemberOfAD"])
        .olc("3.18.5", Form::Text)
        .takes("<attribute>", "memberOf")
        .does("Sets the attribute of a member that names its groups.")
        .since("2.4")
        .like(&["seeAlso"])
        .obeyed(overlay_handler!(
            MemberofConfig,
            |settings, statement| {
                settings.memberof_attribute = name_attribute(statement)?;
                Ok(())
            },
            |settings, _| vec![settings.memberof_attribute.clone()],
        )),
    Setting::new(MEMBEROF, &["memberof-reverse"], &["olcMemberOfReverse"])
        .olc("3.18.6", Form::PlainBoolean)
        .takes("on|off", "FALSE")
        .does("Was meant to keep groups in step with changes of memberOf. No release of slapd had it.")
        .since("2.4")
        .meaningless("no release of slapd obeys it"),
    Setting::new(MEMBEROF, &["memberof-addcheck"], &["olcMemberOfAddCheck"])
        .olc("3.18.8", Form::Boolean)
        .takes("on|off", "FALSE")
        .does("Looks for groups that already name a new entry.")
        .since("2.6.8")
        .like(&["TRUE"])
        .obeyed(overlay_field!(MemberofConfig.check_added)),
    Setting::new(MEMBEROF, &["memberof-computed"], &["olcMemberOfComputed"])
        .olc("+49", Form::Boolean)
        .takes("on|off", "FALSE")
        .does(
            "Computes memberOf from the members of groups when it is asked for, and stores nothing: it is right at any \
             time, also after `slapadd`, and costs writes nothing. Searches show it, filter on it, compare and sort by \
             it as if it were stored; values that entries hold do not count. The attribute of the groups needs an \
             equality index. Access rules, and other overlays, do not see it. `memberof-refint`, `memberof-dn` and \
             `memberof-addcheck` have no effect then; see overlay refint for members that are renamed or deleted.",
        )
        .since(OWN)
        .like(&["TRUE"])
        .obeyed(overlay_field!(MemberofConfig.computed)),
    Setting::new(MEMBEROF, &["memberof-maxread"], &["olcMemberOfMaxRead"])
        .olc("+134", Form::Integer)
        .takes("<entries>", "0")
        .does(
            "Refuses an add with adminLimitExceeded if `memberof-addcheck` is on, the attribute of the groups has no eq \
             index and the database has more entries than this: all of them would be read, and other writes wait \
             meanwhile. 0 means no limit. The log tells of each such pass over 10,000 entries or more, and `ironbark \
             advise` names the index.",
        )
        .since(OWN)
        .like(&["100000"])
        .obeyed(overlay_field!(MemberofConfig.max_read)),
];

fn set_class(settings: &mut MemberofConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let name = statement.one()?;
    let class = statement
        .schema
        .find_object_class(name.as_bytes())
        .ok_or_else(|| format!("unable to find group objectClass=\"{name}\""))?;
    let name = class.names.first().map_or(class.oid.as_ref(), AsRef::as_ref).to_owned();
    settings.group_class = name;
    Ok(())
}

fn set_dangling(settings: &mut MemberofConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let word = statement.one()?;
    let found = DANGLING.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
    settings.dangling = found
        .ok_or_else(|| format!("unable to parse \"{word}\": {} expected", statement.grammar))?
        .1;
    Ok(())
}

fn dangling_text(settings: &MemberofConfig) -> String {
    let name = DANGLING.iter().find(|(_, dangling)| *dangling == settings.dangling);
    name.map_or("", |(name, _)| name).to_owned()
}

fn set_dangling_error(settings: &mut MemberofConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let word = statement.one()?;
    // slapd spells the same names with blanks: "constraint violation".
    let compact: String = word
        .chars()
        .filter(|character| !matches!(character, ' ' | '-' | '_'))
        .collect();
    let named = RESULT_CODES
        .iter()
        .find(|(name, _)| name.eq_ignore_ascii_case(&compact))
        .map(|&(_, code)| code);
    settings.dangling_error = named
        .or_else(|| parse_u32(word).filter(|code| *code > 0))
        .ok_or_else(|| format!("unable to parse \"{word}\" as result code"))?;
    Ok(())
}

fn dangling_error_text(settings: &MemberofConfig) -> String {
    let name = RESULT_CODES.iter().find(|(_, code)| *code == settings.dangling_error);
    name.map_or_else(
        || format!("0x{:x}", settings.dangling_error),
        |(name, _)| (*name).to_owned(),
    )
}
