//! Limits of connections by source address, and proxies that may act for other addresses.

use crate::{
    GlobalConfig, SettingError,
    class::ConfigClass,
    global::sources::{BindFailureLimit, Network},
    rows::fields::global_field,
    setting::{Form, Handler, OWN, Setting, SettingLevel::Global},
    statement::Statement,
    value::parse_u32,
};

pub(crate) const ROWS: &[Setting] = &[
    Setting::new(Global, &["connection-limit"], &["olcConnectionLimit"])
        .olc("+21", Form::Integer)
        .allowed_by(&[ConfigClass::Global.at(300)])
        .takes("<n>", "0")
        .does(
            "Limits the connections that are open at the same time from one address, or from one IPv6 network of 64 \
             bits. Further connections are closed at once. 0 is no limit. Behind a proxy that speaks the proxy \
             protocol, the address is that of the client. Local sockets are not counted.",
        )
        .since(OWN)
        .like(&["200"])
        .obeyed(global_field!(connection_limit)),
    Setting::new(Global, &["bind-failure-limit"], &["olcBindFailureLimit"])
        .olc("+22", Form::Text)
        .allowed_by(&[ConfigClass::Global.at(310)])
        .takes("<count>/<seconds>", "")
        .does(
            "Slows down the guessing of passwords. When half of `count` binds from one address, or from one IPv6 \
             network of 64 bits, have failed with invalidCredentials within `seconds`, each further bind waits for a \
             second. At `count` failures, binds are refused with `busy` for `seconds`, right or wrong. The server \
             remembers the 4,096 addresses that fail most. Local sockets are not counted.",
        )
        .since(OWN)
        .like(&["20/60"])
        .obeyed(Handler::Global {
            set: set_bind_failure_limit,
            get: |config, _| {
                let limit = config.bind_failure_limit.iter();
                limit
                    .map(|limit| format!("{}/{}", limit.count, limit.seconds))
                    .collect()
            },
        }),
    Setting::new(Global, &["proxy-trusted"], &["olcProxyTrusted"])
        .olc("+23", Form::Texts)
        .allowed_by(&[ConfigClass::Global.at(320)])
        .takes("<address>[/<prefix>] ...", "")
        .does(
            "Names the proxies that may connect to listeners `pldap://` and `pldaps://`; other connections are closed. \
             Without this line any client may claim any address there, as in slapd: then only proxies must be able to \
             reach such a listener. The line may be repeated.",
        )
        .since(OWN)
        .like(&["192.0.2.1", "10.0.0.0/8", "2001:db8::/32"])
        .obeyed(Handler::Global {
            set: |config, statement| {
                for word in statement.some()? {
                    config.proxy_trusted.push(word.parse()?);
                }
                Ok(())
            },
            get: |config, _| config.proxy_trusted.iter().map(Network::to_string).collect(),
        }),
];

fn set_bind_failure_limit(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let text = statement.one()?;
    let parse = |text: &str| parse_u32(text).filter(|&number| number > 0);
    let limit = text.split_once('/').and_then(|(count, seconds)| {
        Some(BindFailureLimit {
            count: parse(count)?,
            seconds: parse(seconds)?,
        })
    });
    config.bind_failure_limit = Some(limit.ok_or_else(|| format!("\"{text}\" is not <count>/<seconds>"))?);
    Ok(())
}
