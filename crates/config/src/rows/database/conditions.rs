//! `require` and `restrict`: conditions that a request must meet before it is carried out.

use crate::{
    DatabaseConfig, SettingError,
    class::ConfigClass,
    database::conditions::Require,
    operations::Operations,
    setting::{Form, Handler, Setting, SettingLevel::Inherited},
    statement::Statement,
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Inherited, &["require", "require*"], &["olcRequires"])
        .olc("0.47", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(400), ConfigClass::Database.at(190)])
        .takes("[none] <condition> ...", "")
        .does(
            "Demands conditions before a request is served: `bind` (successful or not), `LDAPv3`, `authc`, `strong` \
             (met by any authentication, as in slapd), `SASL`. Every database demands the global conditions, too. \
             `none`, which must come first, drops the earlier conditions of the same section.",
        )
        .like(&["bind authc"])
        .obeyed(Handler::Database {
            set: set_require,
            get: |config, _| config.require.words().into_iter().map(str::to_owned).collect(),
        }),
    Setting::new(Inherited, &["restrict"], &["olcRestrict"])
        .olc("0.48", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(410), ConfigClass::Database.at(200)])
        .takes("<operation> ...", "")
        .does(
            "Refuses operations to all clients: `bind`, `add`, `modify`, `rename`, `delete`, `search`, `compare`, \
             `extended`, `extended=<oid>`, `read`, `write`, `all`.",
        )
        .like(&["compare rename", "extended=1.3.6.1.4.1.4203.1.11.1"])
        .obeyed(Handler::Database {
            set: set_restrict,
            get: |config, _| {
                let mut words: Vec<String> = config
                    .restrict
                    .operations
                    .words()
                    .into_iter()
                    .map(str::to_owned)
                    .collect();
                words.extend(config.restrict.extended.iter().map(|oid| format!("extended={oid}")));
                words
            },
        }),
];

fn set_require(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let words = statement.some()?;
    let is_none = |word: &String| word.eq_ignore_ascii_case("none");
    let (mut require, words) = match words {
        [first, rest @ ..] if is_none(first) => (Require::default(), rest),
        all => (config.require, all),
    };
    for word in words {
        if is_none(word) {
            return Err("\"none\" must be listed first".into());
        }
        require = require.with(Require::word(word).ok_or_else(|| format!("unknown feature \"{word}\""))?);
    }
    config.require = require;
    Ok(())
}

fn set_restrict(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    for word in statement.some()? {
        let oid = word
            .get(..9)
            .filter(|start| start.eq_ignore_ascii_case("extended="))
            .and_then(|_| word.get(9..));
        if let Some(oid) = oid {
            let is_oid = oid.contains('.')
                && oid
                    .split('.')
                    .all(|arc| !arc.is_empty() && arc.bytes().all(|b| b.is_ascii_digit()));
            if !is_oid {
                return Err(format!("unknown operation \"{word}\"").into());
            }
            config.restrict.extended.push(oid.to_owned());
        } else {
            let operations = Operations::word(word).ok_or_else(|| format!("unknown operation \"{word}\""))?;
            config.restrict.operations = config.restrict.operations.with(operations);
        }
    }
    Ok(())
}
