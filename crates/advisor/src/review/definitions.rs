//! Who may write what is computed for entries of others. The server's own evaluator applies the access rules to sample
//! entries.

use ironbark_config::access::Privileges;
use ironbark_directory::Appraisal;

use super::{
    passwords::sample,
    samples::{Samples, is_complete},
};
use crate::{
    finding::{FindingClass, Findings},
    written::WrittenConfiguration,
};

/// Overlays that compute by what entries say, and the attributes that say it.
const DEFINING: &[(&str, &[&str])] = &[
    ("cos", &["cosExpression", "cosTemplateDn", "cosIndirectSpecifier"]),
    ("roles", &["nsRoleFilter", "nsRoleDN"]),
    ("nestgroup", &["member", "uniqueMember"]),
    ("autogroup", &["memberURL", "labeledURI"]),
    ("dyngroup", &["memberURL", "labeledURI"]),
    ("dynlist", &["memberURL", "labeledURI", "dgIdentity"]),
    ("collective", &["subtreeSpecification"]),
];

/// Adds the definitions that users may write.
pub(super) fn find(written: &WrittenConfiguration, findings: &mut Findings) {
    let configuration = &written.configuration;
    // This fails only for a schema without the built-in part. No configuration has such a schema.
    let Ok(appraisal) = Appraisal::new(configuration) else {
        return;
    };
    for (number, database) in (1..).zip(&configuration.databases) {
        let overlays = database.overlays.iter().chain(&configuration.frontend.overlays);
        let mut defining = overlays.filter_map(|one| DEFINING.iter().find(|(name, _)| *name == one.name()));
        let samples = Samples {
            appraisal: &appraisal,
            configuration,
            database,
            number,
        };
        if database.disabled || !is_complete(written, number) {
            continue;
        }
        if let Some((reason, attributes)) = defining.find_map(|(name, attributes)| open(&samples, name, attributes)) {
            let advice = format!(
                "let administrators alone write these: {}",
                written.line("access", &format!("to attrs={attributes} by * read"))
            );
            let place = written.place(&database.location);
            findings.note(FindingClass::Unsafe, place, written.name("access"), reason, advice);
        }
    }
}

/// The reason to warn of, and the attributes that are to be protected; `None`: no user may write them.
fn open(samples: &Samples<'_>, overlay: &str, names: &[&str]) -> Option<(String, String)> {
    let schema = &*samples.configuration.schema;
    let known: Vec<_> = names
        .iter()
        .filter_map(|name| Some((*name, schema.attribute_description(name.as_bytes()).ok()?)))
        .collect();
    for dn in samples.places() {
        let entry = sample(schema, dn, &[]);
        for (who, subject) in samples.subjects(&entry.dn) {
            let is_open = |(_, attribute): &&(_, _)| {
                let granted = samples
                    .appraisal
                    .granted(samples.number, &subject, &entry, Some(attribute));
                samples.may_modify(&subject) && granted.privileges.contains(Privileges::ADD)
            };
            if let Some((name, _)) = known.iter().find(is_open) {
                let example = entry.dn.pretty();
                let reason = format!(
                    "{who} may write {name}, for one of {example}: with overlay {overlay} it says what other entries \
                     have (though never more than its author may read)"
                );
                let all: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
                return Some((reason, all.join(",")));
            }
        }
    }
    None
}
