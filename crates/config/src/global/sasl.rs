//! SASL and authorization mapping: no SASL mechanism is built, so what only tunes one has no effect.

use crate::setting::{Level::Global, Setting};

const NO_MECHANISM: &str = "no SASL mechanism is offered yet, so that it can have no effect";

pub(super) const ROWS: &[Setting] = &[
    Setting::new(Global, &["authid-rewrite", "authid-rewrite*"], &["olcAuthIDRewrite"])
        .takes("<argument> ...", "")
        .does("Rewrites SASL user names into DNs.")
        .since("2.3")
        .meaningless(NO_MECHANISM),
    Setting::new(Global, &["authz-policy", "sasl-authz-policy"], &["olcAuthzPolicy"])
        .takes("none|from|to|any|all", "none")
        .does("Says whose rules decide about proxied authorization.")
        .meaningless("proxied authorization is for the rootdn alone until authorization rules are built"),
    Setting::new(
        Global,
        &["authz-regexp", "sasl-regexp", "saslRegexp"],
        &["olcAuthzRegexp"],
    )
    .takes("<pattern> <replacement>", "")
    .does("Maps SASL user names to DNs.")
    .meaningless(NO_MECHANISM),
    Setting::new(Global, &["sasl-auxprops"], &["olcSaslAuxprops"])
        .takes("<plug-in> ...", "")
        .does("Names the plug-ins that look up SASL secrets.")
        .since("2.4")
        .meaningless(NO_MECHANISM),
    Setting::new(Global, &["sasl-auxprops-dontusecopy"], &["olcSaslAuxpropsDontUseCopy"])
        .takes("<attribute> ...", "")
        .does("Names SASL secrets that must be read from the provider.")
        .since("2.4")
        .meaningless(NO_MECHANISM),
    Setting::new(
        Global,
        &["sasl-auxprops-dontusecopy-ignore"],
        &["olcSaslAuxpropsDontUseCopyIgnore"],
    )
    .takes("on|off", "FALSE")
    .does("Reads such secrets locally when the provider is away.")
    .since("2.4")
    .meaningless(NO_MECHANISM),
    Setting::new(Global, &["sasl-cbinding"], &["olcSaslCBinding"])
        .takes("none|tls-unique|tls-endpoint", "none")
        .does("Chooses the channel binding of SASL mechanisms.")
        .since("2.5")
        .refused("SASL"),
    Setting::new(Global, &["sasl-host"], &["olcSaslHost"])
        .takes("<name>", "")
        .does("Is the host name that SASL mechanisms use.")
        .meaningless(NO_MECHANISM),
    Setting::new(Global, &["sasl-realm"], &["olcSaslRealm"])
        .takes("<realm>", "")
        .does("Is the SASL realm.")
        .meaningless(NO_MECHANISM),
    Setting::new(Global, &["sasl-secprops"], &["olcSaslSecProps"])
        .takes("<property>[,...]", "noplain,noanonymous")
        .does("Sets what SASL mechanisms must provide.")
        .refused("SASL"),
];
