//! Rows of overlay sock.

use ironbark_backends::sock::rows::{add_extensions, set_socket};
use ironbark_config::{Form, Setting, SettingError, SettingLevel, Statement, overlay_handler};
use ironbark_model::PosixRegex;

use super::settings::{Named, SockOverlayConfig, Words};

const SOCK: SettingLevel = SettingLevel::Overlay("sock");

pub(super) const ROWS: &[Setting] = &[
    Setting::new(SOCK, &["socketpath"], &["olcDbSocketPath"])
        .olc("2.7.1", Form::ExactText)
        .required()
        .whole()
        .takes("<pathname>", "")
        .does("The local socket on which the program listens, as in a `database sock`.")
        .since("2.4")
        .like(&["/run/program.sock"])
        .obeyed(overlay_handler!(
            SockOverlayConfig,
            |settings, statement| set_socket(&mut settings.program, statement),
            |settings, _| settings.program.socket_text(),
        )),
    Setting::new(SOCK, &["extensions"], &["olcDbSocketExtensions"])
        .olc("2.7.2", Form::Texts)
        .takes("binddn|peername|ssf|connid ...", "")
        .does("What the program is told of the client, as in a `database sock`.")
        .since("2.4")
        .like(&["binddn", "peername", "ssf", "connid"])
        .obeyed(overlay_handler!(
            SockOverlayConfig,
            |settings, statement| add_extensions(&mut settings.program, statement),
            |settings, _| settings.program.extensions.words(),
        )),
    Setting::new(SOCK, &["sockops"], &["olcOvSocketOps"])
        .olc("2.7.3", Form::Texts)
        .takes("bind|unbind|search|compare|modify|modrdn|add|delete|extended ...", "")
        .does(
            "Requests that the program is asked about before the database: it answers them, or lets them go on with \
             CONTINUE. Binds come with their passwords in clear.",
        )
        .since("2.4")
        .like(&["bind unbind", "search", "add delete modify modrdn"])
        .obeyed(overlay_handler!(
            SockOverlayConfig,
            |settings, statement| add(&mut settings.operations, statement),
            |settings, _| settings.operations.words(),
        )),
    Setting::new(SOCK, &["sockresps"], &["olcOvSocketResps"])
        .olc("2.7.4", Form::Texts)
        .takes("result|search ...", "")
        .does(
            "What the program is told of the answers: the results of operations, the entries that searches send. \
             Entries come whole, with their operational attributes, whatever the client may see of them.",
        )
        .since("2.5")
        .like(&["result", "search", "result search"])
        .obeyed(overlay_handler!(
            SockOverlayConfig,
            |settings, statement| add(&mut settings.responses, statement),
            |settings, _| settings.responses.words(),
        )),
    Setting::new(SOCK, &["sockdnpat"], &["olcOvSocketDNpat"])
        .olc("2.7.5", Form::Text)
        .whole()
        .takes("<regex>", "")
        .does(
            "The program is asked only about requests whose entry has a normalized name in which this expression is \
             found; case does not matter. An unbind has the empty name. `sockresps` does not look at it.",
        )
        .since("2.4")
        .like(&["ou=people,dc=example,dc=com$", "^cn=a b"])
        .obeyed(overlay_handler!(
            SockOverlayConfig,
            |settings, statement| {
                let text = statement.one()?;
                let pattern =
                    PosixRegex::new(text).map_err(|error| format!("invalid expression \"{text}\": {error}"))?;
                settings.pattern = Some(pattern);
                statement.notice_lost_escape(0);
                Ok(())
            },
            |settings, _| settings
                .pattern
                .iter()
                .map(|pattern| pattern.as_str().to_owned())
                .collect(),
        )),
];

fn add<T: Named>(words: &mut Words<T>, statement: &Statement<'_>) -> Result<(), SettingError> {
    let arguments = statement.some()?.iter();
    arguments
        .flat_map(|argument| argument.split_whitespace())
        .try_for_each(|word| words.add(word))
}
