//! `ironbark replica forget-sid`: a modify of `contextCSN` under the relax rules control. slapd 2.5 refuses it.

use ironbark_client::{Change, ConnectSettings};
use ironbark_ldap_proto::{
    ModifyOperation,
    controls::{Control, RelaxRules},
};
use ironbark_store::Csn;

use crate::shared::replicas::{connect, contexts, read_one};

/// Takes the CSN of a server out of the context vector.
pub(super) async fn run(sid: u16, url: &str, base: Option<&str>, settings: &ConnectSettings) -> Result<(), String> {
    let (of_url, client) = connect(url, settings).await?;
    let failed = |error: String| format!("{url}: {error}");
    let contexts = contexts(&client).await.map_err(failed)?;
    let base = match (of_url.dn.as_str(), base, contexts.as_slice()) {
        ("", None, [only]) => only.clone(),
        ("", None, _) => {
            return Err(format!(
                "{url}: say which naming context with -b: {}",
                contexts.join("; ")
            ));
        }
        ("", Some(base), _) => base.to_owned(),
        (named, ..) => named.to_owned(),
    };
    let entry = read_one(&client, &base, &["contextCSN"]).await.map_err(failed)?;
    let values = entry.values("contextCSN");
    let is_its = |value: &&Vec<u8>| Csn::parse(value).is_some_and(|csn| csn.server_id() == sid);
    let Some(obsolete) = values.iter().find(is_its) else {
        return Err(format!("{url}: {base} has no contextCSN of server {sid:03x}"));
    };
    let change = Change {
        operation: ModifyOperation::Delete,
        attribute: "contextCSN",
        values: &[obsolete],
    };
    let relax = Control::critical(RelaxRules);
    let result = client.modify(&base, &[change], &[&relax]).await;
    let result = result.map_err(|error| failed(error.to_string()))?;
    result.success().map_err(|error| failed(error.to_string()))?;
    println!(
        "{url}: {} is no longer in the contextCSN of {base}",
        String::from_utf8_lossy(obsolete)
    );
    Ok(())
}
