//! Files, logging, modules, and statements that structure a configuration.

use std::path::PathBuf;

use crate::{
    GlobalConfig, SettingError,
    class::ConfigClass,
    parts,
    rows::fields::global_field,
    setting::{Form, Handler, Setting, SettingLevel::Global},
    statement::Statement,
    value::Value,
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Global, &["include"], &["olcInclude"])
        .olc("0.19", Form::Urls)
        .allowed_by(&[ConfigClass::Include.required()])
        .takes("<file>", "")
        .does(
            "Reads the named file before the next line, as if its lines stood here. A relative name starts at the \
             working directory. A file that includes itself is refused.",
        )
        .like(&["/etc/ldap/schema/core.schema"])
        .whole()
        .obeyed(Handler::Structure),
    Setting::new(Global, &["database"], &["olcDatabase"])
        .olc("0.13", Form::Database)
        .allowed_by(&[ConfigClass::Database.required()])
        .takes("<type>", "")
        .does(
            "Begins a database. The following lines are about it, up to the next `database`. `mdb` is the store; `hdb` \
             and `bdb` are the same store, so old files load. `monitor` is cn=Monitor, `config` is cn=config, and \
             `frontend` holds what all databases inherit.",
        )
        .like(&["mdb"])
        .obeyed(Handler::Structure),
    Setting::new(Global, &["backend"], &["olcBackend"])
        .olc("0.9", Form::Backend)
        .allowed_by(&[ConfigClass::Backend.required()])
        .takes("<type>", "")
        .does("Begins settings for all databases of a type. It must come before the databases.")
        .like(&["mdb"])
        .obeyed(Handler::Structure),
    Setting::new(Global, &["overlay"], &["olcOverlay"])
        .olc("0.34", Form::Overlay)
        .allowed_by(&[ConfigClass::Overlay.required()])
        .takes("<name>", "")
        .does(
            "Adds an overlay to the database above it; before the first database, to all databases. Overlays run in \
             the reverse order of their lines.",
        )
        .like(&["memberof"])
        .obeyed(Handler::Structure),
    Setting::new(Global, &["argsfile"], &["olcArgsFile"])
        .olc("0.3", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(40)])
        .of_each_server()
        .takes("<file>", "")
        .at_next_start()
        .does("Names the file into which the server writes its command line when it starts.")
        .like(&["/run/slapd/slapd.args"])
        .whole()
        .obeyed(global_field!(args_file)),
    Setting::new(Global, &["pidfile"], &["olcPidFile"])
        .olc("0.37", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(350)])
        .of_each_server()
        .takes("<file>", "")
        .at_next_start()
        .does("Names the file into which the server writes its process number when it starts.")
        .like(&["/run/slapd/slapd.pid"])
        .whole()
        .obeyed(global_field!(pid_file)),
    Setting::new(Global, &["rootDSE"], &["olcRootDSE"])
        .olc("0.51", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(430), ConfigClass::Include.at(10)])
        .takes("<file>", "")
        .does(
            "Names an LDIF file. The root DSE shows the attributes of the file besides its own. The line may be \
             repeated.",
        )
        .like(&["/etc/ldap/rootdse.ldif"])
        .whole()
        .obeyed(Handler::Global {
            set: set_root_dse,
            get: |config, _| config.root_dse_files.iter().flat_map(Value::text).collect(),
        }),
    Setting::new(Global, &["moduleload"], &["olcModuleLoad"])
        .olc("0.30", Form::Ordered)
        .allowed_by(&[ConfigClass::Module.at(20)])
        .takes("<file> [<argument> ...]", "")
        .does(
            "Loads a module. Every module that is built is part of the program, so this line only checks that the \
             module is one of them. A database, an overlay or a kind of access rules that is not built may be loaded, \
             and is refused where it is used. The directory, `back_` or `back-`, `.la`, `.so` and a `{n}` prefix do not matter. \
             Two modules change what the server does, without any other line. With ciboolean, Boolean values have any \
             case. With vc there is the extended operation Verify Credentials (1.3.6.1.4.1.4203.666.6.5, \
             `ldap_verify_credentials` of libldap), for services that check the passwords of their users: it is a \
             bind beside the session, simple or by SASL, and its answer has the result and the controls of that bind. \
             The bind is judged, counted, delayed and logged as any other; the connection keeps its identity, and \
             waits for the answer before it begins something else. Anybody may ask; `require authc` and `restrict \
             extended=1.3.6.1.4.1.4203.666.6.5` before the first database limit that. Unlike in slapd it never \
             confirms an empty name or password, EXTERNAL or ANONYMOUS; a simple bind to a database with overlay \
             denyop, sock, retcode or autoca, which decide about requests before they begin, is not verified \
             (unwillingToPerform); and the root DSE lists the operation.",
        )
        .like(&["back_mdb.la", "{1}/usr/lib/ldap/pw-sha2.so"])
        .obeyed(Handler::Global {
            set: set_module,
            get: |config, _| config.modules.clone(),
        }),
    Setting::new(Global, &["modulepath"], &["olcModulePath"])
        .olc("0.31", Form::ExactText)
        .allowed_by(&[ConfigClass::Module.at(10)])
        .takes("<path>", "")
        .does("Names the directory of modules.")
        .whole()
        .meaningless("modules are part of the program"),
    Setting::new(Global, &[], &["olcConfigFile"])
        .olc("0.78", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(10)])
        .of_each_server()
        .takes("<file>", "")
        .does("Shows the slapd.conf file that the server was started with.")
        .since("2.3")
        .whole()
        .meaningless("it is shown, not set"),
    Setting::new(Global, &[], &["olcConfigDir"])
        .olc("0.79", Form::ExactText)
        .allowed_by(&[ConfigClass::Global.at(20)])
        .of_each_server()
        .takes("<directory>", "")
        .does("Shows the configuration directory that the server was started with.")
        .since("2.3")
        .whole()
        .meaningless("it is shown, not set"),
];

fn set_root_dse(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    config.root_dse_files.push(PathBuf::parse(statement)?);
    Ok(())
}

fn set_module(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let words = statement.some()?;
    let name = words.first().map_or("", String::as_str);
    let part = statement
        .parts
        .module(name)
        .ok_or_else(|| SettingError::UnknownPart(format!("module \"{name}\"")))?;
    if !parts::is_built(part) {
        let absent = part.absent(format!("module \"{name}\" ({})", part.name));
        let Some(line) = part.used_by() else {
            return Err(absent);
        };
        // Many configurations load what they do not use.
        statement.notice(format!("{absent}: `{line}` would be refused"));
    }
    config.modules.push(words.join(" "));
    Ok(())
}
