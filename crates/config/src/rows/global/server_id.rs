//! `serverID`.

use ironbark_model::ldap_url::LdapUrl;

use crate::{
    GlobalConfig, SettingError,
    class::ConfigClass,
    global::server_id::ServerId,
    setting::{Form, Handler, Setting, SettingLevel::Global},
    statement::Statement,
    value::parse_u32,
};

pub(crate) const ROWS: &[Setting] = &[Setting::new(Global, &["serverID"], &["olcServerID"])
    .olc("0.81", Form::Texts)
    .allowed_by(&[ConfigClass::Global.at(530)])
    .takes("<number> [<url>]", "")
    .does(
        "Sets this server's number in the CSNs of its writes: 0 to 4095, decimal or `0x`. A line with a URL may be \
         repeated; the line whose URL is one of this server's listeners counts. As in slapd, a URL is compared with \
         the listeners letter by letter. If its host is empty, localhost or the name of this machine, scheme and port \
         are compared, and also the host if both have one. A server without a number does not start. If a change takes \
         the number of a running server away, the server keeps it and writes a line to the log.",
    )
    .since("2.4")
    .like(&["1", "0x2 ldap://ldap2.example.com"])
    .obeyed(Handler::Global {
        set,
        get: |config, _| config.server_ids.iter().map(text).collect(),
    })];

fn set(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let (number, url) = match statement.some()? {
        [number] => (number, None),
        [number, url] => (number, Some(url.clone())),
        _ => return Err(format!("extra cruft after {}", statement.grammar).into()),
    };
    let id = parse_u32(number)
        .and_then(|id| u16::try_from(id).ok())
        .filter(|&id| id <= 4095)
        .ok_or_else(|| format!("illegal server ID \"{number}\""))?;
    if let Some(url) = &url
        // `pldap`: the scheme of a listener for proxies.
        && LdapUrl::parse(url.strip_prefix('p').unwrap_or(url)).is_err()
    {
        return Err(format!("invalid URL \"{url}\"").into());
    }
    let single = url.is_none() || config.server_ids.iter().any(|other| other.url.is_none());
    if single && !config.server_ids.is_empty() {
        return Err("a server ID without URL must be the only one".into());
    }
    if config.server_ids.iter().any(|other| other.url == url) {
        return Err(format!("duplicate server ID for \"{}\"", url.unwrap_or_default()).into());
    }
    config.server_ids.push(ServerId { id, url });
    Ok(())
}

fn text(server: &ServerId) -> String {
    match &server.url {
        Some(url) => format!("{} {url}", server.id),
        None => server.id.to_string(),
    }
}
