//! Rows of slapd-sock(5).

use std::path::PathBuf;

use ironbark_config::{Form, Setting, SettingError, SettingLevel, Statement, database_handler};

use super::settings::SockConfig;

const SOCK: SettingLevel = SettingLevel::DatabaseOf(&["sock"]);

/// Octets that the name of a local socket may have.
const MOST_SOCKET_OCTETS: usize = 107;

pub(super) const ROWS: &[Setting] = &[
    Setting::new(SOCK, &["socketpath"], &["olcDbSocketPath"])
        .olc("2.7.1", Form::ExactText)
        .required()
        .whole()
        .takes("<pathname>", "")
        .does(
            "The local socket on which the program listens. A connection is made for each request; it may be there later than the \
             server. The name has 107 octets at most.",
        )
        .since("2.4")
        .like(&["/run/program.sock"])
        .obeyed(database_handler!(SockConfig, set_socket, |settings, _| {
            settings.socket_text()
        })),
    Setting::new(SOCK, &["extensions"], &["olcDbSocketExtensions"])
        .olc("2.7.2", Form::Texts)
        .takes("binddn|peername|ssf|connid ...", "")
        .does(
            "What the program is told of the client with each request: the name that it is bound as, its address, the security strength \
             factor, the number of its connection.",
        )
        .since("2.4")
        .like(&["binddn", "peername", "ssf", "connid"])
        .obeyed(database_handler!(SockConfig, add_extensions, |settings, _| {
            settings.extensions.words()
        })),
];

/// Obeys `socketpath`.
///
/// # Errors
/// It cannot be the name of a local socket.
pub fn set_socket(settings: &mut SockConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let path = statement.one()?;
    if path.is_empty() || path.len() > MOST_SOCKET_OCTETS || path.contains('\0') {
        return Err(format!("\"{path}\" cannot be the name of a local socket").into());
    }
    settings.socket = PathBuf::from(path);
    Ok(())
}

/// Obeys `extensions`.
///
/// # Errors
/// A word is unknown.
pub fn add_extensions(settings: &mut SockConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    for word in statement
        .some()?
        .iter()
        .flat_map(|argument| argument.split_whitespace())
    {
        let switch = settings.extensions.switch(word);
        *switch.ok_or_else(|| format!("unknown extension \"{word}\""))? = true;
    }
    Ok(())
}
