//! Settings of slapo-ppolicy(5), and of our own checks of password quality.

use ironbark_config::{
    Form, OWN, Setting, SettingError, SettingLevel, Statement, overlay_field, overlay_handler,
    value::{Value as _, bool_text, parse_bool, parse_dn, parse_u32},
};
use ironbark_model::Schema;

use super::{
    policy::is_ppm,
    settings::{PolicyRule, PpolicyConfig},
};

const PPOLICY: SettingLevel = SettingLevel::Overlay("ppolicy");

/// A switch that is on without an argument.
macro_rules! switch {
    ($field:ident) => {
        overlay_handler!(
            PpolicyConfig,
            |settings, statement| {
                settings.$field = parse_switch(statement)?;
                Ok(())
            },
            |settings, _| vec![bool_text(settings.$field)],
        )
    };
}

pub(super) const ROWS: &[Setting] = &[
    Setting::new(PPOLICY, &["ppolicy_default"], &["olcPPolicyDefault"])
        .olc("3.12.1", Form::Name)
        .takes("<dn>", "")
        .does(
            "Names the entry of class pwdPolicy for entries with a password that have no pwdPolicySubentry and that no \
             rule matches. Without a policy nothing is enforced.",
        )
        .since("2.3")
        .like(&["cn=standard,ou=policies,dc=example,dc=com"])
        .whole()
        .obeyed(overlay_handler!(
            PpolicyConfig,
            |settings, statement| {
                // slapd takes the line without a value, and then has no policy.
                let name = statement.optional()?.unwrap_or_default();
                settings.default = Some(parse_dn(statement, name)?).filter(|dn| dn.depth() > 0);
                Ok(())
            },
            // slapd keeps only the normal form.
            |settings, _| {
                let default = settings.default.iter();
                default
                    .map(|dn| String::from_utf8_lossy(dn.normalized()).into_owned())
                    .collect()
            },
        )),
    Setting::new(PPOLICY, &["ppolicy_hash_cleartext"], &["olcPPolicyHashCleartext"])
        .olc("3.12.2", Form::Boolean)
        .shown()
        .takes("[on|off]", "FALSE")
        .does(
            "Hashes clear-text passwords in add and modify requests, by pwdDefaultHash of the policy or the first \
             scheme of `password-hash`.",
        )
        .since("2.3")
        .like(&["TRUE"])
        .obeyed(switch!(hash_cleartext)),
    Setting::new(PPOLICY, &["ppolicy_use_lockout"], &["olcPPolicyUseLockout"])
        .olc("3.12.3", Form::Boolean)
        .shown()
        .takes("[on|off]", "FALSE")
        .does("Tells clients that send the password policy control that an account is locked. Attackers learn it, too.")
        .since("2.3")
        .like(&["TRUE"])
        .obeyed(switch!(use_lockout)),
    Setting::new(PPOLICY, &["ppolicy_forward_updates"], &["olcPPolicyForwardUpdates"])
        .olc("3.12.4", Form::Boolean)
        .shown()
        .takes("[on|off]", "FALSE")
        .does(
            "Asks a consumer to send the changes of a bind to its provider. They are not sent: each server counts the \
             failures that it sees itself, as slapd's does without this setting, and the log says so. The members of a \
             cluster count together.",
        )
        .since("2.4")
        .like(&["TRUE"])
        .obeyed(overlay_handler!(
            PpolicyConfig,
            |settings, statement| {
                settings.forward_updates = parse_switch(statement)?;
                if settings.forward_updates {
                    statement.notice("the changes of a bind are not sent to a provider: each server counts its own");
                }
                Ok(())
            },
            |settings, _| vec![bool_text(settings.forward_updates)],
        )),
    Setting::new(PPOLICY, &["ppolicy_disable_write"], &["olcPPolicyDisableWrite"])
        .olc("3.12.5", Form::Boolean)
        .shown()
        .takes("[on|off]", "FALSE")
        .does("Keeps the overlay from changing anything: no failure is recorded, and new passwords are not checked.")
        .since("2.5")
        .like(&["TRUE"])
        .obeyed(switch!(disable_write)),
    Setting::new(
        PPOLICY,
        &["ppolicy_send_netscape_controls"],
        &["olcPPolicySendNetscapeControls"],
    )
    .olc("3.12.6", Form::Boolean)
    .shown()
    .takes("[on|off]", "FALSE")
    .does("Sends Netscape's controls with the answer to a bind without the password policy control.")
    .since("2.5")
    .like(&["TRUE"])
    .obeyed(switch!(send_netscape_controls)),
    Setting::new(PPOLICY, &["ppolicy_check_module"], &["olcPPolicyCheckModule"])
        .olc("3.12.7", Form::PlainText)
        .takes("<path>", "")
        .does(
            "Says that new passwords are judged by ppm, if the path is one of `ppm.so`, for policies with \
             pwdUseCheckModule TRUE. pwdCheckModule of a policy, as in slapd 2.5, says the same. The rules are in \
             pwdCheckModuleArg of the policy, in ppm's own form, or in `ppolicy_ppm_file`; without either, or if they \
             cannot be read, new passwords are refused. Characters are those of Unicode, where ppm counts octets; \
             `useCracklib` needs `ppolicy_quality_dictionary`. Other modules in C cannot be loaded: \
             ppolicy_quality_classes, ppolicy_quality_characters, ppolicy_quality_dictionary and \
             ppolicy_quality_forbid are built in, and count as the module that a policy asks for.",
        )
        .since("2.6")
        .like(&["/usr/lib/ldap/ppm.so"])
        .whole()
        .obeyed(overlay_handler!(
            PpolicyConfig,
            |settings, statement| {
                let path = statement.one()?;
                if !is_ppm(path) {
                    return Err(SettingError::MissingPart(format!("the module \"{path}\"")));
                }
                settings.check_module = Some(path.to_owned());
                Ok(())
            },
            |settings, _| settings.check_module.iter().cloned().collect(),
        )),
    Setting::new(PPOLICY, &["ppolicy_ppm_file"], &["olcPPolicyPpmFile"])
        .olc("+131", Form::ExactText)
        .takes("<file>", "")
        .does(
            "Names a file of up to 64 KiB with rules of ppm, for policies that are judged by it and have no \
             pwdCheckModuleArg. It is read when the server starts or the setting changes.",
        )
        .since(OWN)
        .like(&["/etc/openldap/ppm.conf"])
        .whole()
        .obeyed(overlay_field!(PpolicyConfig.ppm_file)),
    Setting::new(PPOLICY, &["ppolicy_rules"], &["olcPPolicyRules"])
        .olc("+41", Form::Ordered)
        .takes(
            "[dn[.<style>]=<dn>] [require_password=yes|no] [filter=<filter>] \
             [group[.expand][/<class>[/<attribute>]]=<dn>] no_policy|policy_dn[.expand]=<dn> [stop|continue]",
            "",
        )
        .does(
            "Chooses the policy of entries without pwdPolicySubentry. The first rule whose conditions hold and whose \
             policy exists decides; after a rule with `continue`, a later rule may still decide. `$1` in `.expand` is \
             what `dn.regex` has matched. In cn=config the rules are values of olcPPolicyRules. slapd has an entry for \
             each rule; such entries are not read here.",
        )
        .since("2.7")
        .like(&[
            "dn.subtree=ou=staff,dc=example,dc=com policy_dn=cn=staff,ou=policies,dc=example,dc=com",
            "require_password=no filter=(description=idle) no_policy continue",
        ])
        .obeyed(overlay_handler!(
            PpolicyConfig,
            |settings, statement| {
                settings.rules.push(PolicyRule::parse(statement)?);
                Ok(())
            },
            |settings, _| settings.rules.iter().map(PolicyRule::text).collect(),
        )),
    Setting::new(PPOLICY, &["ppolicy_quality_classes"], &["olcPPolicyQualityClasses"])
        .olc("+42", Form::Integer)
        .takes("<number>", "0")
        .does(
            "Sets how many kinds of characters a new password must have: capital letters, small letters, digits, \
             others. Like the other checks of quality, it applies to clear-text passwords if pwdCheckQuality of the \
             policy is 1 or 2.",
        )
        .since(OWN)
        .like(&["3"])
        .obeyed(overlay_handler!(
            PpolicyConfig,
            |settings, statement| {
                let text = statement.one()?;
                let number = parse_u32(text).filter(|number| *number <= 4);
                settings.quality_classes =
                    number.ok_or_else(|| format!("invalid value \"{text}\": 0 to 4 expected"))?;
                Ok(())
            },
            |settings, _| settings.quality_classes.text(),
        )),
    Setting::new(
        PPOLICY,
        &["ppolicy_quality_characters"],
        &["olcPPolicyQualityCharacters"],
    )
    .olc("+43", Form::Integer)
    .takes("<number>", "0")
    .does("Sets how many characters a new password must have. pwdMinLength counts octets instead.")
    .since(OWN)
    .like(&["12"])
    .obeyed(overlay_field!(PpolicyConfig.quality_characters)),
    Setting::new(
        PPOLICY,
        &["ppolicy_quality_dictionary"],
        &["olcPPolicyQualityDictionary"],
    )
    .olc("+44", Form::ExactText)
    .takes("<file>", "")
    .does(
        "Names a file of up to 64 MiB with a word on each line. It is read when the server starts or the setting \
             changes. A new password must not be one of the words, in any case, also after digits and signs around it \
             are removed.",
    )
    .since(OWN)
    .like(&["/usr/share/dict/words"])
    .whole()
    .obeyed(overlay_field!(PpolicyConfig.quality_dictionary)),
    Setting::new(PPOLICY, &["ppolicy_quality_forbid"], &["olcPPolicyQualityForbid"])
        .olc("+45", Form::Attributes)
        .takes("<attribute>...", "")
        .does(
            "Names attributes. A new password must not contain a value that the entry has in one of them, or a word of \
             such a value, of three characters or more, in any case.",
        )
        .since(OWN)
        .like(&["uid", "uid cn"])
        .obeyed(overlay_handler!(PpolicyConfig, forbid, |settings, _| settings
            .quality_forbid
            .clone())),
];

fn forbid(settings: &mut PpolicyConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    for name in statement.some()? {
        let name = attribute(statement.schema, name)?;
        if !settings.quality_forbid.contains(&name) {
            settings.quality_forbid.push(name);
        }
    }
    Ok(())
}

fn attribute(schema: &Schema, name: &str) -> Result<String, SettingError> {
    let description = schema.attribute_description(name.as_bytes());
    let description = description.map_err(|error| format!("<{name}>: {error}"))?;
    Ok(schema.description_text(&description))
}

/// `on` without an argument, as in slapd's overlay.
fn parse_switch(statement: &Statement<'_>) -> Result<bool, SettingError> {
    let Some(text) = statement.optional()? else {
        return Ok(true);
    };
    parse_bool(text).ok_or_else(|| format!("invalid value \"{text}\": on or off expected").into())
}
