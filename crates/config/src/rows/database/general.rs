//! Rows that any database has: names, root, access, limits, switches.

use crate::{
    DatabaseConfig, SettingError,
    access::{AccessRule, OperationRule},
    class::ConfigClass,
    database::{Secret, Subordinate, SuffixRule},
    kinds::FRONTEND,
    limits::LimitsRule,
    rows::fields::database_field,
    setting::{
        Form, Handler, Setting,
        SettingLevel::{Database, Inherited},
    },
    statement::Statement,
    value::{Value as _, bool_text, parse_bool, parse_dn},
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Database, &["suffix"], &["olcSuffix"])
        .olc("2.0.10", Form::Names)
        .allowed_by(&[ConfigClass::Database.at(30)])
        .takes("<dn>", "")
        .does(
            "Sets the naming context of the database: its entries have this name, or a name below it. Each database \
             has exactly one; a null database may have any number. If the suffix of a database lies inside that of \
             another, the line of that database must come first.",
        )
        .like(&["dc=example,dc=com", "ou=\"Sales, Europe\",dc=example,dc=com"])
        .whole()
        .obeyed(Handler::Database {
            set: set_suffix,
            get: |config, _| match config.kind {
                kind if kind.has_suffix() => config.suffixes.iter().map(|dn| dn.pretty().to_owned()).collect(),
                _ => Vec::new(),
            },
        }),
    Setting::new(Database, &["rootdn"], &["olcRootDN"])
        .olc("2.0.8", Form::Name)
        .allowed_by(&[ConfigClass::Database.at(220)])
        .takes("<dn>", "")
        .does("Sets the name that access control and limits do not apply to in this database. It need not be an entry.")
        .like(&["cn=Manager,dc=example,dc=com"])
        .whole()
        .obeyed(database_field!(root_dn)),
    Setting::new(Database, &["rootpw"], &["olcRootPW"])
        .olc("2.0.9", Form::Octets)
        .allowed_by(&[ConfigClass::Database.at(230)])
        .takes("<password>", "")
        .does(
            "Sets the password of the rootdn: clear text, or `{scheme}` and a hash as `slappasswd` prints it. The \
             rootdn must be set before, and must lie under the suffix.",
        )
        .like(&["{SSHA}DkMTwBl+a/3DQTxCYEApdUtNXGgdUac3"])
        .verbatim()
        .obeyed(Handler::Database {
            set: set_root_password,
            get: |config, _| {
                let password = config.root_password.iter();
                password
                    .map(|password| String::from_utf8_lossy(&password.0).into_owned())
                    .collect()
            },
        }),
    Setting::new(Inherited, &["access"], &["olcAccess"])
        .olc("0.1", Form::Ordered)
        .allowed_by(&[ConfigClass::Database.at(50)])
        .takes("to <what> [by <who> [<access>] [<control>]] ...", "")
        .does(
            "Grants access, as in slapd.access(5) of OpenLDAP 2.7. `<what>`: `*`, `dn[.<style>]=` (exact or base, one, \
             sub, children, regex), `filter=`, `attrs=` with attributes, `entry`, `children`, `@class`, `!class`; \
             after one attribute `val[/<rule>][.<style>]=`; `op=`, `control=`. `<who>`: `*`, `anonymous`, `users`, \
             `self`, `dn` as above with `expand` and `level{n}`; these with `real` in front; `dnattr=`, \
             `group[/<class>[/<attribute>]][.expand]=`, `set[.expand]=`, `peername`, `sockname`, `sockurl`, `domain`, \
             `ssf` and its kinds; `dynacl` is refused. `<control>`: `stop`, `continue`, `break`. If there is no rule, \
             all clients may read and only the rootdn may write. If there is one, access that no rule grants is \
             denied. Expressions are POSIX extended without regard to case, as in slapd. Back-references are refused. \
             Where something that may be empty is repeated, submatches may differ from slapd's.",
        )
        .like(&[
            "to attrs=userPassword by self =xw by anonymous auth by * none",
            "to * by * read",
        ])
        .obeyed(Handler::Database {
            set: |config, statement| {
                config.access.push(AccessRule::parse(statement)?);
                Ok(())
            },
            get: |config, schema| config.access.iter().map(|rule| rule.text(schema)).collect(),
        }),
    Setting::new(Inherited, &["sizelimit"], &["olcSizeLimit"])
        .olc("0.60", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(550), ConfigClass::Database.at(260)])
        .takes(
            "<entries>|unlimited|size[.soft|.hard|.unchecked|.pr|.prtotal]=<n> ...",
            "500",
        )
        .does(
            "Limits the entries that a search returns. A plain number is both the default and the most that a client \
             may ask for. `size.unchecked` limits the candidates that indexes give for a filter, before access rules \
             are asked, as in slapd. So refusals can tell a client about entries and values that it may not see.",
        )
        .like(&["1000", "unlimited", "size.soft=100 size.hard=1000 size.unchecked=5000"])
        .obeyed(Handler::Database {
            set: |config, statement| config.search_limits.set_size(statement),
            get: |config, _| vec![config.search_limits.size_text(&config.inherited_limits)],
        }),
    Setting::new(Inherited, &["timelimit"], &["olcTimeLimit"])
        .olc("0.67", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(620), ConfigClass::Database.at(290)])
        .takes("<seconds>|unlimited|time[.soft|.hard]=<seconds> ...", "3600")
        .does("Limits the time of a search, in the same way.")
        .like(&["60", "unlimited", "time.soft=10 time.hard=60"])
        .obeyed(Handler::Database {
            set: |config, statement| config.search_limits.set_time(statement),
            get: |config, _| vec![config.search_limits.time_text(&config.inherited_limits)],
        }),
    Setting::new(Database, &["limits"], &["olcLimits"])
        .olc("2.0.5", Form::Ordered)
        .allowed_by(&[ConfigClass::Database.at(100)])
        .takes("<selector> <limit> ...", "")
        .does(
            "Sets other limits for some requesters. The first line whose selector matches decides. Selectors: `*`, \
             `anonymous`, `users`, `dn[.self|.this][.exact|.base|.onelevel|.subtree|.children|.regex]=<pattern>` \
             (`self`: the bound name, `this`: the base of the search), `dn.anonymous`, \
             `group[/<class>[/<attribute>]]=<dn>`. Limits: `size=`, `size.soft=`, `size.hard=` (a bigger request of a \
             client is cut to it), `size.unchecked=` (candidates, hidden ones too: see `sizelimit`), `size.pr=` \
             (entries of a page, or `noEstimate`), `size.prtotal=` (entries of all pages; `disabled` refuses paging, \
             `hard` is the hard limit), `time=`, `time.soft=`, `time.hard=`. Each is a number, `unlimited` or `none`; \
             hard limits also `soft`.",
        )
        .like(&[
            "users size.soft=50 size.hard=200",
            "dn.exact=\"cn=Replicator,dc=example,dc=com\" size=unlimited time=unlimited",
            "anonymous size.pr=noEstimate size.prtotal=disabled",
        ])
        .obeyed(Handler::Database {
            set: |config, statement| {
                let rule = LimitsRule::parse(statement, &config.search_limits)?;
                if rule.is_repeated(&config.limits) {
                    return Err("unable to add limit: an earlier line has the same selector".into());
                }
                config.limits.push(rule);
                Ok(())
            },
            get: |config, schema| {
                let (base, inherited) = (&config.search_limits, &config.inherited_limits);
                let rules = config.limits.iter();
                rules.map(|rule| rule.text(schema, base, inherited)).collect()
            },
        }),
    Setting::new(Inherited, &["schemadn"], &["olcSchemaDN"])
        .olc("0.58", Form::Name)
        .allowed_by(&[ConfigClass::Database.at(240)])
        .shown()
        .takes("<dn>", "")
        .does("Sets the name of the subschema subentry, cn=Subschema by default.")
        .like(&["cn=Schema"])
        .whole()
        .obeyed(database_field!(schema_dn)),
    Setting::new(Inherited, &["readonly"], &["olcReadOnly"])
        .olc("0.40", Form::Boolean)
        .allowed_by(&[ConfigClass::Global.at(370), ConfigClass::Database.at(130)])
        .shown()
        .takes("on|off", "FALSE")
        .does(
            "Refuses writes with unwillingToPerform. In the global section it holds for every database, whatever the \
             database says.",
        )
        .like(&["on"])
        .obeyed(database_field!(read_only)),
    Setting::new(Inherited, &["add_content_acl"], &["olcAddContentAcl"])
        .olc("0.86", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(60)])
        .shown()
        .takes("on|off", "FALSE")
        .does("Makes an add need access to each attribute of the new entry.")
        .since("2.4")
        .like(&["on"])
        .obeyed(database_field!(add_content_acl)),
    Setting::new(Database, &["lastmod"], &["olcLastMod"])
        .olc("2.0.4", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(70)])
        .shown()
        .takes("on|off", "TRUE")
        .does(
            "Keeps creatorsName, createTimestamp, modifiersName, modifyTimestamp, entryUUID and entryCSN up to date in \
             each entry.",
        )
        .like(&["off"])
        .obeyed(database_field!(last_modified)),
    Setting::new(Database, &["lastbind"], &["olcLastBind"])
        .olc("2.0.22", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(80)])
        .shown()
        .takes("on|off", "FALSE")
        .does("Records the time of each successful bind in pwdLastSuccess of the entry.")
        .since("2.5")
        .like(&["on"])
        .obeyed(database_field!(last_bind)),
    Setting::new(Inherited, &["lastbind-precision"], &["olcLastBindPrecision"])
        .olc("2.0.23", Form::Integer)
        .allowed_by(&[ConfigClass::Database.at(90)])
        .takes("<seconds>", "0")
        .does(
            "Sets how old pwdLastSuccess must be before a bind writes it again, so that most binds write nothing. 0 in \
             a database means the value of the global section.",
        )
        .since("2.5")
        .like(&["60"])
        .obeyed(database_field!(last_bind_precision_s)),
    Setting::new(Database, &["lastbind-send-assert"], &["olcLastBindSendAssert"])
        .olc("2.0.24", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(350)])
        .takes("on|off", "FALSE")
        .does("Guards forwarded updates of pwdLastSuccess by an assertion.")
        .since("2.7")
        .meaningless("nothing is forwarded"),
    Setting::new(Inherited, &["maxDerefDepth"], &["olcMaxDerefDepth"])
        .olc("2.0.6", Form::Integer)
        .allowed_by(&[ConfigClass::Database.at(110)])
        .shown()
        .takes("<depth>", "15")
        .does(
            "Limits how many aliases are followed one after the other, to 10,000 at most. With a negative number this \
             is the limit; slapd has none then. Before the first database it has no effect.",
        )
        .like(&["5"])
        .obeyed(Handler::Database {
            set: |config, statement| {
                config.max_dereference_depth = i32::parse(statement)?;
                tell_of_frontend(config, statement);
                Ok(())
            },
            get: |config, _| config.max_dereference_depth.text(),
        }),
    Setting::new(Inherited, &["monitoring"], &["olcMonitoring"])
        .olc("2.0.18", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(330)])
        .shown()
        .takes("on|off", "TRUE")
        .does(
            "Shows the store's own figures (pages, readers, entries) of the database in cn=Monitor. Before the first \
             database it has no effect: each database says it for itself.",
        )
        .since("2.4")
        .like(&["off"])
        .obeyed(Handler::Database {
            set: |config, statement| {
                config.monitoring = bool::parse(statement)?;
                tell_of_frontend(config, statement);
                Ok(())
            },
            get: |config, _| vec![bool_text(config.monitoring)],
        }),
    Setting::new(Database, &["hidden"], &["olcHidden"])
        .olc("2.0.17", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(20)])
        .takes("on|off", "FALSE")
        .does("Keeps the database from answering requests. Another database may then have the same suffix.")
        .since("2.4")
        .like(&["on"])
        .obeyed(database_field!(hidden)),
    Setting::new(Database, &["disabled"], &["olcDisabled"])
        .olc("2.0.21", Form::Boolean)
        .allowed_by(&[ConfigClass::Database.at(10), ConfigClass::Overlay.at(10)])
        .takes("on|off", "FALSE")
        .does("Leaves the database closed.")
        .since("2.5")
        .like(&["on"])
        .obeyed(database_field!(disabled)),
    Setting::new(Database, &["subordinate"], &["olcSubordinate"])
        .olc("2.0.15", Form::ExactText)
        .allowed_by(&[ConfigClass::Database.at(40)])
        .takes("[advertise]", "")
        .does(
            "Glues the database into the naming context of the database whose suffix lies above it: searches there \
             continue here. With `advertise` the root DSE still names the suffix.",
        )
        .like(&["", "advertise"])
        .obeyed(Handler::Database {
            set: set_subordinate,
            get: subordinate_text,
        }),
    Setting::new(Inherited, &["extra_attrs"], &["olcExtraAttrs"])
        .olc("2.0.20", Form::Texts)
        .allowed_by(&[ConfigClass::Database.at(340)])
        .takes("<attribute>[,...]", "")
        .does("Names attributes that remote databases must always fetch.")
        .since("2.4")
        .meaningless("a local database has the whole entry at hand"),
    Setting::new(Inherited, &["restrictop"], &["olcRestrictOp"])
        .olc("0.105", Form::Ordered)
        .allowed_by(&[ConfigClass::Database.at(210)])
        .takes(
            "<operation> ... [control=<oid>] ... \
             [by <who> <allow|reject|drop control=<oid>> [stop|continue|break]] ...",
            "",
        )
        .does(
            "Says who may use which operations, as `restrict` names them, and with which controls. A rule applies to \
             requests of one of its operations that have all of its controls. OIDs may be written as \
             `objectidentifier` macros. `<who>` is as in `access`, without conditions about an entry: `self`, \
             `dnattr`, `set` and `expand` are refused. The first rule that applies to a request decides, by its first \
             clause that matches. `allow` and `reject` decide at once. `drop` removes the control from the request; if \
             the control is critical, the request is refused, and if the request does not have it, nothing changes. \
             `break`, alone or after `drop`, continues with the next rule, and `continue` with the next clause. If no \
             rule allows the request, the answer is unwillingToPerform. A database without rules uses the global \
             rules; without those everything is allowed. The rootdn of the database is not restricted. A bind counts \
             as anonymous, whatever name it is for. StartTLS, Cancel, Abandon and Unbind are never refused.",
        )
        .since("2.7")
        .like(&[
            "extended=1.3.6.1.4.1.4203.1.11.1 by * reject",
            "all control=1.3.6.1.4.1.4203.666.5.12 by group=\"cn=admins,dc=example,dc=com\" allow by * reject",
            "search control=1.3.6.1.1.12 by anonymous drop control=1.3.6.1.1.12 break by * allow",
        ])
        .obeyed(Handler::Database {
            set: |config, statement| {
                config.operation_rules.push(OperationRule::parse(statement)?);
                Ok(())
            },
            get: |config, schema| config.operation_rules.iter().map(|rule| rule.text(schema)).collect(),
        }),
];

fn set_suffix(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    if !config.kind.has_suffix() {
        return Err(format!("not allowed in {} database", config.kind.name).into());
    }
    let dn = parse_dn(statement, statement.optional()?.unwrap_or_default())?;
    if dn.normalized() == b"cn=monitor" {
        return Err("DN is reserved for monitoring slapd".into());
    }
    if !config.suffixes.is_empty() && config.kind.suffix != SuffixRule::Many {
        return Err(format!("Only one suffix is allowed on this {} backend", config.kind.name).into());
    }
    config.suffixes.push(dn);
    Ok(())
}

fn set_root_password(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let password = statement.one()?;
    let under_suffix = config
        .root_dn
        .as_ref()
        .is_some_and(|root| config.suffixes.iter().any(|suffix| root.is_within(suffix)));
    if !under_suffix && !config.hidden {
        return statement.does_not_fit("can only be set when rootdn is under suffix");
    }
    config.root_password = Some(Secret(password.as_bytes().to_vec())).filter(|password| !password.0.is_empty());
    Ok(())
}

/// Says of a setting that databases do not inherit, as in slapd, that it has no effect before them.
fn tell_of_frontend(config: &DatabaseConfig, statement: &Statement<'_>) {
    // The configuration that slapd converts always has such settings for the frontend.
    if config.kind == &FRONTEND && !statement.keyword.starts_with("olc") {
        statement.notice("has no effect before the first database: each database says it for itself");
    }
}

fn set_subordinate(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    if !config.kind.has_suffix() {
        return Err(format!("not allowed in {} database", config.kind.name).into());
    }
    config.subordinate = match statement.optional()? {
        None => Some(Subordinate { advertise: false }),
        Some(word) if word.eq_ignore_ascii_case("advertise") => Some(Subordinate { advertise: true }),
        // cn=config writes it as a boolean.
        Some(word) => match parse_bool(word) {
            Some(true) => Some(Subordinate { advertise: false }),
            Some(false) => None,
            None => return Err(format!("unknown argument \"{word}\"").into()),
        },
    };
    Ok(())
}

fn subordinate_text(config: &DatabaseConfig, _: &ironbark_model::Schema) -> Vec<String> {
    let text = |subordinate: Subordinate| if subordinate.advertise { "advertise" } else { "TRUE" };
    config.subordinate.map(text).map(str::to_owned).into_iter().collect()
}
