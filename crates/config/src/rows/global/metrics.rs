//! `metrics-listener`.

use core::net::{IpAddr, Ipv4Addr, SocketAddr};

use crate::{
    GlobalConfig, SettingError,
    class::ConfigClass,
    setting::{Form, Handler, OWN, Setting, SettingLevel::Global},
    statement::Statement,
};

pub(crate) const ROWS: &[Setting] = &[Setting::new(Global, &["metrics-listener"], &["olcMetricsListener"])
    .olc("+2", Form::Text)
    .allowed_by(&[ConfigClass::Global.at(290)])
    .of_each_server()
    .takes("<address>:<port>", "")
    .does(
        "Serves figures for Prometheus at `/metrics`, and `/livez` and `/readyz` for probes, over HTTP on a port of \
         its own. A port alone is a port of 127.0.0.1; an IPv6 address has brackets. There is neither TLS nor a \
         password, so use loopback or a network of administrators.",
    )
    .since(OWN)
    .like(&["127.0.0.1:9389", "[::1]:9389"])
    .obeyed(Handler::Global {
        set,
        get: |config, _| config.metrics_listener.iter().map(SocketAddr::to_string).collect(),
    })];

fn set(config: &mut GlobalConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let text = statement.one()?;
    let on_loopback = |port| SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port);
    let port = text.strip_prefix(':').unwrap_or(text).parse().map(on_loopback);
    let address = text.parse().or(port);
    let wrong = |_| format!("invalid value \"{text}\": an address with a port expected");
    config.metrics_listener = Some(address.map_err(wrong)?);
    Ok(())
}
