//! `cluster`: a database that several servers have together (docs/cluster.md).

use crate::{
    DatabaseConfig, SettingError,
    class::ConfigClass,
    cluster::ClusterConfig,
    database::EntryPlace,
    setting::{Form, Handler, OWN, Setting, SettingLevel::DatabaseOf},
    statement::Statement,
};

pub(crate) const ROWS: &[Setting] = &[Setting::new(
    DatabaseOf(&["mdb", "config"]),
    &["cluster"],
    &["olcDbCluster"],
)
.olc("+132", Form::ExactText)
.allowed_by(&[ConfigClass::Database.at(360)])
.takes("<http[s]://host:port>[,...] [<keyword>=<value>]...", "")
.of_each_server()
.does(
    "Makes the database one of several equal copies on other servers. A change counts when a majority of etcd has it, \
     and any of the servers takes writes. The URLs are those of etcd's members. Keywords: `prefix` (what the names of \
     keys in etcd begin with, `/ironbark`), `user` and `password` of etcd, `timeout` (seconds that a write waits for \
     etcd, 5), `room` (MiB that etcd may take before the older half of the log is deleted from it, 512), `age` \
     (seconds: searches, compares and binds are answered `busy` while the database may lack changes that are older; \
     by default they are answered), `copy` (host:port at which this server waits for a copy of another server's \
     database if it needs one; by default the address from which it reaches etcd, and any port), and those of TLS as \
     in `syncrepl`: `tls_cacert`, `tls_cert`, `tls_key`, `tls_reqcert` and so on. In `database config` the line makes \
     cn=config that of the cluster; it needs a configuration directory, and neither `age` nor `copy` has a meaning \
     there. docs/cluster.md tells the rest.",
)
.since(OWN)
.like(&[
    "http://etcd1.example.com:2379,http://etcd2.example.com:2379,http://etcd3.example.com:2379",
    "https://10.0.0.1:2379 user=ironbark password=secret tls_cacert=/etc/ssl/etcd.pem prefix=/directory timeout=10",
])
.obeyed(Handler::Database {
    set,
    get: |config, _| config.cluster.iter().map(ClusterConfig::text).collect(),
})];

fn set(config: &mut DatabaseConfig, statement: &Statement<'_>) -> Result<(), SettingError> {
    let line = ClusterConfig::parse(statement)?;
    if config.kind.entries == EntryPlace::Memory && (line.age.is_some() || line.copy.is_some()) {
        return Err("age and copy have no meaning for cn=config".into());
    }
    config.cluster = Some(line);
    Ok(())
}
