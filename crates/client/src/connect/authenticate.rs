//! The bind of a new connection.

use ironbark_ldap_proto::{Filter, ResultCode, Scope};
use ironbark_runtime::process::full_host_name;

use super::{blocking, socket::Address};
use crate::{
    BindMethod, BindReply, BindSettings, Client, ClientError, Search,
    sasl::{Exchange, Mechanism, SaslFailure, Situation, choose},
};

/// Binds as the settings say.
pub(super) async fn bind(client: &Client, settings: &BindSettings, address: &Address) -> Result<(), ClientError> {
    match settings.method {
        BindMethod::None => Ok(()),
        BindMethod::Simple => {
            let result = client.simple_bind(&settings.dn, &settings.credentials.0, &[]).await?;
            if result.code == ResultCode::SUCCESS {
                return Ok(());
            }
            Err(ClientError::BindRefused(Box::new(result)))
        }
        BindMethod::Sasl => bind_sasl(client, settings, address).await,
    }
}

async fn bind_sasl(client: &Client, settings: &BindSettings, address: &Address) -> Result<(), ClientError> {
    let offered = if settings.mechanisms.trim().is_empty() {
        Some(offered(client).await?)
    } else {
        None
    };
    let host = match address.host() {
        "" => blocking(full_host_name).await?,
        host => host.to_owned(),
    };
    let situation = Situation {
        host: &host,
        is_local: matches!(address, Address::Unix(_)),
        tls: client.tls(),
        offered: offered.as_deref(),
    };
    let mechanism = choose(settings, situation)?;
    let exchange = mechanism.start(settings, situation);
    let exchange = exchange.map_err(|failure| failed(mechanism, failure))?;
    negotiate(client, mechanism, exchange).await
}

/// The mechanisms of the root DSE (RFC 4512 §5.1).
async fn offered(client: &Client) -> Result<Vec<String>, ClientError> {
    let search = Search::new("", Scope::BaseObject, Filter::Present(b"objectClass".into()));
    let search = search.with_attributes(&[MECHANISMS]);
    let outcome = client.search(&search, &[])?.collect().await?;
    outcome.result.success()?;
    let values = outcome
        .entries
        .first()
        .map(|root| root.values(MECHANISMS))
        .unwrap_or_default();
    let names = values.iter().map(|value| String::from_utf8_lossy(value).into_owned());
    Ok(names.collect())
}

const MECHANISMS: &str = "supportedSASLMechanisms";

/// Exchanges messages until the server has answered with a result. A step may compute for seconds, or ask a KDC.
async fn negotiate(client: &Client, mechanism: &Mechanism, exchange: Box<dyn Exchange>) -> Result<(), ClientError> {
    let (mut exchange, first) = step(exchange, |exchange| exchange.begin()).await?;
    let mut message = first.map_err(|failure| failed(mechanism, failure))?;
    for _ in 0..MOST_STEPS {
        let reply = client.sasl_bind(mechanism.name, message.as_deref(), &[]).await?;
        let BindReply {
            result,
            server_sasl_credentials: data,
        } = reply;
        match result.code {
            ResultCode::SASL_BIND_IN_PROGRESS => {
                let answer;
                (exchange, answer) = step(exchange, move |exchange| exchange.step(&data.unwrap_or_default())).await?;
                message = Some(answer.map_err(|failure| failed(mechanism, failure))?);
            }
            ResultCode::SUCCESS => {
                return exchange
                    .end(data.as_deref())
                    .map_err(|failure| failed(mechanism, failure));
            }
            _ => return Err(ClientError::BindRefused(Box::new(result))),
        }
    }
    Err(failed(mechanism, SaslFailure::unexpected()))
}

/// Does one step on a thread that may block, and gives the exchange back.
async fn step<T: Send + 'static>(
    mut exchange: Box<dyn Exchange>,
    work: impl FnOnce(&mut dyn Exchange) -> T + Send + 'static,
) -> Result<(Box<dyn Exchange>, T), ClientError> {
    blocking(move || {
        let outcome = work(exchange.as_mut());
        (exchange, outcome)
    })
    .await
}

fn failed(mechanism: &Mechanism, failure: SaslFailure) -> ClientError {
    ClientError::Sasl {
        mechanism: mechanism.name.to_owned(),
        reason: failure.0,
    }
}

/// More than any mechanism has.
const MOST_STEPS: usize = 10;
