//! Rows of slapo-retcode(5).

use base64::{Engine as _, engine::general_purpose::STANDARD};
use ironbark_config::{
    Form, Operations, Setting, SettingError, SettingLevel, Statement, overlay_handler,
    value::{bool_text, parse_bool, parse_dn},
};

use super::settings::{Closes, Item, Notice, RetcodeConfig, parse_code};

const RETCODE: SettingLevel = SettingLevel::Overlay("retcode");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(RETCODE, &["retcode-parent"], &["olcRetcodeParent"])
        .olc("3.20.1", Form::Name)
        .takes("<dn>", "")
        .does(
            "Sets the name above the entries of retcode-item; the suffix of the database by default. With neither this \
             nor an item, all entries of the database are hidden, as in slapd.",
        )
        .since("2.3")
        .like(&["ou=RetCodes,dc=example,dc=com"])
        .obeyed(overlay_handler!(
            RetcodeConfig,
            |settings, statement| {
                settings.parent = Some(parse_dn(statement, statement.one()?)?);
                Ok(())
            },
            |settings, _| settings
                .parent
                .iter()
                .map(|parent| parent.pretty().to_owned())
                .collect(),
        )),
    Setting::new(RETCODE, &["retcode-item"], &["olcRetcodeItem"])
        .olc("3.20.2", Form::Ordered)
        .takes(
            "<rdn> <code> [op=<operation>[,...]] [text=<text>] [ref=<url> ...] [sleeptime=<seconds>] [matched=<dn>] \
             [unsolicited=<oid>[:<data>]] [flags=disconnect|pre-disconnect|post-disconnect]",
            "",
        )
        .does(
            "Names an entry that does not exist. Requests that name it get the result code (decimal, `0x1f` or `037`), \
             after sleeptime seconds (negative: a random time up to that), with text, matched DN and, for the code \
             referral, URLs. With `op`, only these operations do: add, bind, compare, delete, modify, rename, search, \
             extended (password modify), auth, read, write. `unsolicited` sends a notification with this OID instead \
             of the response; with 0, it sends the response with message ID zero. `flags` closes the connection \
             instead of the response or after it. A success does not authenticate the client. One-level and subtree \
             searches below the parent find the entries. A client can keep as many requests waiting as \
             conn_max_pending allows.",
        )
        .since("2.3")
        .like(&[
            "\"cn=success\" \"0x00\"",
            "\"cn=referral\" \"0x0a\" \"text=LDAPv3\" \"ref=ldap://:9019\"",
            "\"cn=slow\" \"3\" \"op=search,compare\" \"sleeptime=10\"",
            "\"cn=gone\" \"0x34\" \"unsolicited=1.3.6.1.4.1.1466.20036\" \"flags=post-disconnect\"",
        ])
        .obeyed(overlay_handler!(RetcodeConfig, add, |settings, _| {
            settings.items.iter().map(item_text).collect()
        })),
    Setting::new(RETCODE, &["retcode-indir"], &["olcRetcodeInDir"])
        .olc("3.20.3", Form::Boolean)
        .takes("[on|off]", "FALSE")
        .does(
            "Lets entries of class errAbsObject (errObject, errAuxObject) choose the answers to requests that name \
             them, as retcode-item does, with errCode, errOp, errText, errMatchedDN, errSleepTime, errUnsolicitedOID, \
             errUnsolicitedData and errDisconnect (TRUE: instead of a response). The client must be allowed to search \
             for the entry. A search that finds such an entry among others ends there with its result; delays and \
             notifications apply only to requests that name the entry. The control manage DSA IT turns this off.",
        )
        .since("2.3")
        .like(&["TRUE"])
        .obeyed(overlay_handler!(
            RetcodeConfig,
            |settings, statement| {
                settings.in_directory = match statement.optional()? {
                    None => true,
                    Some(word) => parse_bool(word).ok_or_else(|| format!("invalid value \"{word}\""))?,
                };
                Ok(())
            },
            |settings, _| vec![bool_text(settings.in_directory)],
        )),
    Setting::new(RETCODE, &["retcode-sleep"], &["olcRetcodeSleep"])
        .olc("3.20.4", Form::Integer)
        .takes("[-]<seconds>", "0")
        .does("Delays each request by this many seconds; negative: by a random time up to that.")
        .since("2.3")
        .like(&["1", "-3"])
        .obeyed(overlay_handler!(
            RetcodeConfig,
            |settings, statement| {
                let word = statement.one()?;
                settings.sleep_s = word.parse().map_err(|_| format!("invalid value \"{word}\""))?;
                Ok(())
            },
            |settings, _| vec![settings.sleep_s.to_string()],
        )),
];

/// As slapd prints it: each word in quotes.
fn item_text(item: &Item) -> String {
    let words: Vec<String> = item.words.iter().map(|word| format!("\"{word}\"")).collect();
    words.join(" ")
}

fn add(settings: &mut RetcodeConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let [rdn, code, extras @ ..] = statement.arguments else {
        return Err("\"retcode-item <RDN> <retcode> [<text>]\": missing args".into());
    };
    let parsed = parse_dn(statement, rdn).map_err(|_| format!("unable to normalize RDN \"{rdn}\""))?;
    if parsed.depth() != 1 {
        return Err(format!("value \"{rdn}\" is not a RDN").into());
    }
    let mut item = Item {
        words: statement.arguments.to_vec(),
        rdn: parsed,
        code: parse_code(code).ok_or_else(|| format!("unable to parse return code \"{code}\""))?,
        operations: Operations::ALL,
        text: None,
        matched: None,
        referrals: Vec::new(),
        sleep_s: 0,
        notice: None,
        closes: None,
    };
    for extra in extras {
        option(&mut item, statement, extra)?;
    }
    settings.items.push(item);
    Ok(())
}

fn option(item: &mut Item, statement: &Statement<'_>, word: &str) -> Result<(), SettingError> {
    let unknown = || SettingError::Wrong(format!("unknown option \"{word}\""));
    let (name, text) = word.split_once('=').ok_or_else(unknown)?;
    let name = name.to_ascii_lowercase();
    let is_given = match name.as_str() {
        "text" => item.text.is_some(),
        "matched" => item.matched.is_some(),
        "ref" => !item.referrals.is_empty(),
        "sleeptime" => item.sleep_s != 0,
        "unsolicited" => item.notice.is_some(),
        _ => false,
    };
    if is_given {
        return Err(format!("\"{name}\" already provided").into());
    }
    match name.as_str() {
        "op" => item.operations = operations(text)?,
        "text" => item.text = Some(text.to_owned()),
        "matched" => {
            let dn = parse_dn(statement, text);
            item.matched = Some(dn.map_err(|_| format!("unable to prettify matched DN \"{text}\""))?);
        }
        "ref" => item.referrals = text.split_whitespace().map(str::to_owned).collect(),
        "sleeptime" => {
            item.sleep_s = text
                .parse()
                .map_err(|_| format!("unable to parse \"sleeptime={text}\""))?;
        }
        "unsolicited" => item.notice = Some(notice(text)?),
        "flags" => {
            item.closes = match text.to_ascii_lowercase().as_str() {
                "disconnect" | "pre-disconnect" => Some(Closes::Before),
                "post-disconnect" => item.closes.or(Some(Closes::After)),
                _ => return Err(format!("unknown flag \"{text}\"").into()),
            };
        }
        _ => return Err(unknown()),
    }
    Ok(())
}

fn operations(text: &str) -> Result<Operations, SettingError> {
    let mut all = Operations::default();
    for word in text.split(',') {
        let lower = word.to_ascii_lowercase();
        let known = match lower.as_str() {
            "auth" => Some(Operations::BIND),
            name => Operations::word(name),
        };
        all = all.with(known.ok_or_else(|| format!("unknown op \"{word}\""))?);
    }
    Ok(all)
}

/// An OID, optionally followed by a colon and data as LDIF writes a value.
fn notice(text: &str) -> Result<Notice, SettingError> {
    let Some((oid, data)) = text.split_once(':') else {
        return Ok(Notice {
            oid: text.to_owned(),
            data: None,
        });
    };
    let data = match data.strip_prefix(':') {
        Some(encoded) => STANDARD.decode(encoded.trim()).ok(),
        None => Some(data.trim_start().as_bytes().to_vec()),
    };
    Ok(Notice {
        oid: oid.to_owned(),
        data: Some(data.ok_or("unable to parse \"unsolicited\"")?),
    })
}
