//! Variables of this image, and those that both other images or every container have.

use super::{
    Fate::{First, Fixed, Ignored, Obeyed},
    Image::{Both, Own},
    Variable,
};

pub(super) const ROWS: &[Variable] = &[
    Variable::new(
        "IRONBARK_IMAGE",
        Own,
        Fixed,
        "",
        "`bitnami` or `osixia`: whose defaults and paths hold. Without it, the names of the other variables say it; \
         bitnami if they do not.",
    ),
    Variable::new(
        "IRONBARK_DATA",
        Own,
        Fixed,
        "/data",
        "The folder of configuration, database and state. Without it: the folder of the other image, if it exists.",
    ),
    Variable::new(
        "IRONBARK_DEFAULT_PASSWORDS",
        Own,
        First,
        "no",
        "`yes`: passwords that are not given are the well-known ones of the other image. Without it a missing \
         password is an error, and bitnami's default users are not made.",
    ),
    Variable::new(
        "IRONBARK_IGNORE_UNKNOWN",
        Own,
        Obeyed,
        "no",
        "`yes`: a variable that is not in this table is named in a warning; otherwise in an error.",
    ),
    Variable::new(
        "IRONBARK_METRICS",
        Own,
        Obeyed,
        "0.0.0.0:9330",
        "Address and port of `/livez`, `/readyz` and `/metrics`; `none` for none.",
    ),
    Variable::new(
        "IRONBARK_ADDRESS",
        Own,
        Obeyed,
        "all",
        "The address that LDAP is served at.",
    ),
    Variable::new(
        "IRONBARK_MAX_SIZE",
        Own,
        Obeyed,
        "10737418240",
        "The most octets that the database may take. It takes only what its entries need.",
    ),
    Variable::new(
        "IRONBARK_IMPORT",
        Own,
        First,
        "",
        "A file that slapcat wrote, with which the database begins; loaded as by slapadd, before LDIF folders.",
    ),
    Variable::new(
        "IRONBARK_REPLICATION",
        Own,
        Obeyed,
        "multi-provider with IRONBARK_REPLICATION_HOSTS",
        "`none`, `multi-provider`: every host takes writes; `consumer`: the hosts are the providers of this copy.",
    ),
    Variable::new(
        "IRONBARK_REPLICATION_HOSTS",
        Own,
        Obeyed,
        "",
        "The URLs of all hosts in one order everywhere, separated by blanks or commas. The first one makes the entries.",
    ),
    Variable::new(
        "IRONBARK_REPLICATION_OPTIONS",
        Own,
        Obeyed,
        "bind as the administrator, StartTLS if there is TLS",
        "Further options of each `syncrepl` line, in place of the usual ones; `$LDAP_ADMIN_PASSWORD` stands for it.",
    ),
    Variable::new(
        "IRONBARK_CLUSTER",
        Own,
        Obeyed,
        "",
        "URLs of etcd's members (`http://etcd-1:2379,...`): this container is one of a cluster. `none`: no longer; \
         a start without the variable is refused then.",
    ),
    Variable::new(
        "IRONBARK_CLUSTER_FIRST",
        Own,
        Obeyed,
        "",
        "Needed with IRONBARK_CLUSTER, the same everywhere: HOSTNAME of the container that makes the entries if etcd \
         has no log yet. `none`: no container makes any.",
    ),
    Variable::new("IRONBARK_CLUSTER_USER", Own, Obeyed, "", "The user at etcd."),
    Variable::new(
        "IRONBARK_CLUSTER_PASSWORD",
        Own,
        Obeyed,
        "",
        "The password of that one; in slapd.d, because etcd needs it.",
    )
    .secret(),
    Variable::new(
        "IRONBARK_CLUSTER_TLS_CA_FILE",
        Own,
        Obeyed,
        "the image's",
        "The authorities of etcd's certificates.",
    ),
    Variable::new(
        "IRONBARK_CLUSTER_TLS_CERT_FILE",
        Own,
        Obeyed,
        "",
        "The certificate that is shown to etcd.",
    ),
    Variable::new("IRONBARK_CLUSTER_TLS_KEY_FILE", Own, Obeyed, "", "Its key."),
    Variable::new(
        "IRONBARK_CLUSTER_COPY",
        Own,
        Obeyed,
        "the address that reaches etcd, any port",
        "Host and port at which this container waits for a copy of another one's database, as the others reach it.",
    ),
    Variable::new(
        "IRONBARK_CLUSTER_OPTIONS",
        Own,
        Obeyed,
        "",
        "Further options of the `cluster` line: `prefix=`, `room=`, `timeout=`, `tls_reqcert=` and so on.",
    ),
    Variable::new(
        "LDAP_ADMIN_PASSWORD",
        Both,
        Obeyed,
        "none",
        "The password of the administrator of the database; stored hashed.",
    )
    .secret(),
    Variable::new(
        "KEEP_EXISTING_CONFIG",
        Both,
        Obeyed,
        "false",
        "`true`: an existing configuration is served as it is, whatever the other variables say.",
    ),
    Variable::new(
        "HOSTNAME",
        Both,
        Obeyed,
        "of the container",
        "The name by which this host finds itself among the hosts of replication, or as the first of a cluster.",
    ),
    Variable::new(
        "DISABLE_CHOWN",
        Both,
        Ignored,
        "",
        "No owner of a file is ever changed.",
    ),
];
