//! Replication of a database: which servers it follows, and who may write besides.

use crate::{
    DatabaseConfig, SettingError,
    class::ConfigClass,
    database::{EntryPlace, SuffixRule},
    setting::{
        Form, Handler, Setting,
        SettingLevel::{Database, Inherited},
    },
    statement::{Statement, ValueAge},
    syncrepl::Syncrepl,
    value::{bool_text, parse_bool, parse_dn, parse_referral},
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Database, &["syncrepl"], &["olcSyncrepl"])
        .olc("2.0.11", Form::Ordered)
        .allowed_by(&[ConfigClass::Database.at(280)])
        .takes("rid=<n> provider=<url> searchbase=<dn> ...", "")
        .does(
            "Makes the database a consumer of another server: it holds a copy of what is at and below `searchbase` there, \
             and clients may not write to it, unless `multiprovider` is on. docs/replication.md tells of all words. \
             `database config` takes neither `filter` nor `attrs` nor `exattrs`, nor `syncdata=changelog`, nor \
             `type=dirSync`, and `syncdata=accesslog` only without `multiprovider`. `attrsonly` is refused: \
             an entry without values cannot be stored. `lazycommit` and `manageDSAit` change nothing here.",
        )
        .since("2.2")
        .like(&[
            "rid=001 provider=ldap://ldap1.example.com bindmethod=simple binddn=cn=replicator,dc=example,dc=com \
             credentials=secret searchbase=dc=example,dc=com type=refreshAndPersist retry=\"5 5 300 +\"",
            "rid=2 provider=\"ldaps://a.example.com ldaps://b.example.com\" searchbase=ou=people,dc=example,dc=com \
             scope=one filter=(objectClass=person) attrs=cn,sn,mail interval=00:01:00:00",
            "rid=003 provider=ldaps://389ds.example.com bindmethod=simple binddn=\"cn=Directory Manager\" \
             credentials=secret searchbase=dc=example,dc=com syncdata=changelog type=refreshAndPersist retry=\"5 +\"",
            "rid=004 provider=ldaps://dc1.ad.example.com bindmethod=simple binddn=replicator@ad.example.com \
             credentials=secret searchbase=dc=example,dc=com type=dirSync interval=00:00:00:10 retry=\"5 +\"",
        ])
        .obeyed(Handler::Database {
            set: add_line,
            get: |config, _| config.syncrepl.iter().map(|line| line.text().to_owned()).collect(),
        }),
    Setting::new(
        Database,
        &["multiprovider", "mirrormode"],
        &["olcMultiProvider", "olcMirrorMode"],
    )
    .olc("2.0.16", Form::Boolean)
    .allowed_by(&[ConfigClass::Database.at(320)])
    .takes("on|off", "FALSE")
    .does(
        "Lets clients write to a database that follows other servers, which follow this one. Each of them needs its own \
         `serverID`.",
    )
    .since("2.4")
    .like(&["on"])
    .obeyed(Handler::Database {
        set: |config, statement| {
            let word = statement.one()?;
            config.multi_provider = parse_bool(word).ok_or_else(|| format!("invalid value \"{word}\""))?;
            Ok(())
        },
        get: |config, _| vec![bool_text(config.multi_provider)],
    }),
    Setting::new(Database, &["updatedn"], &["olcUpdateDN"])
        .olc("2.0.12", Form::Name)
        .allowed_by(&[ConfigClass::Database.at(300)])
        .takes("<dn>", "")
        .does("Makes the database a copy that only this name may write to.")
        .whole()
        .like(&["cn=updater,dc=example,dc=com"])
        .obeyed(Handler::Database {
            set: |config, statement| {
                if !config.syncrepl.is_empty() {
                    return Err("cannot be used with syncrepl: the database is a shadow of another server".into());
                }
                config.update_dn = Some(parse_dn(statement, statement.one()?)?);
                Ok(())
            },
            get: |config, _| config.update_dn.iter().map(|dn| dn.pretty().to_owned()).collect(),
        }),
    Setting::new(Database, &["updateref"], &["olcUpdateRef"])
        .olc("2.0.13", Form::UrlsAnyCase)
        .allowed_by(&[ConfigClass::Database.at(310)])
        .takes("<url>", "")
        .does("Sets a URL that clients get when they want to write to a copy. Several are possible.")
        .whole()
        .like(&["ldap://ldap1.example.com"])
        .obeyed(Handler::Database {
            set: |config, statement| {
                config.update_referrals.push(parse_referral(statement)?);
                Ok(())
            },
            get: |config, _| config.update_referrals.clone(),
        }),
    Setting::new(Inherited, &["sync_use_subentry"], &["olcSyncUseSubentry"])
        .olc("2.0.19", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(270)])
        .shown()
        .takes("[on|off]", "FALSE")
        .does("Keeps the replication state in a subentry.")
        .since("2.4")
        .meaningless("the state is no attribute of an entry"),
];

fn add_line(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let is_config = config.kind.suffix == SuffixRule::Fixed("cn=config");
    if !is_config && !matches!(config.kind.entries, EntryPlace::Store | EntryPlace::Files) {
        return Err(format!(
            "database {} does not support operations required for syncrepl",
            config.kind.name
        )
        .into());
    }
    if config.update_dn.is_some() {
        return Err("cannot be used with updatedn".into());
    }
    let mut line = Syncrepl::parse(statement)?;
    if is_config {
        line.check_for_config()?;
    }
    line.stands_behind(&config.syncrepl)?;
    if line.twins_before > 0 {
        statement.notice(format!(
            "an earlier line has rid={:03} too: both are followed, but logs and the provider's sessions show the same \
             number",
            line.rid
        ));
    }
    // Its suffix may come later; then the whole database is checked.
    if !config.suffixes.is_empty() {
        let fits = line.check_base(&config.suffixes);
        if statement.value == ValueAge::New {
            fits?;
        }
    }
    config.syncrepl.push(line);
    Ok(())
}
