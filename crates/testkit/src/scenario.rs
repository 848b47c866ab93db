//! The same test against our server and against Debian's slapd.

use crate::{Flavor, Oracle, Server, TestkitError, Transcript, difference, oracle};

/// Runs a scenario against our server and fails when the result differs from slapd's, which is recorded; see
/// [`Oracle`]. The scenario must be the same in each run, and not depend on the environment.
///
/// The scenario returns text that does not depend on ports, times and identifiers; [`crate::NormalizedLdif`] helps.
#[track_caller]
pub fn assert_same(mut scenario: impl FnMut(Flavor) -> Result<String, TestkitError>) {
    let recording = oracle::next_file();
    let problem = compare(Flavor::ALL, |flavor| match (flavor, &recording) {
        (Flavor::OpenLdap, Some(file)) => Oracle::of_environment()?.answer(file, || scenario(flavor)),
        _ => scenario(flavor),
    });
    assert!(problem.is_none(), "{}", problem.unwrap_or_default());
}

/// As [`assert_same`], and asks slapd in each run: for scenarios that make something anew each time (salts, keys), or
/// in which slapd itself is the subject.
#[track_caller]
pub fn assert_same_now(scenario: impl FnMut(Flavor) -> Result<String, TestkitError>) {
    let problem = compare(Flavor::ALL, scenario);
    assert!(problem.is_none(), "{}", problem.unwrap_or_default());
}

/// Starts a server of each flavor with this slapd.conf and the LDIF in its database, and runs the same steps. Fails
/// when an exit status, an output or an error message of a client differs.
#[track_caller]
pub fn assert_same_answers(
    configuration: &str,
    ldif: &str,
    mut steps: impl FnMut(&mut Transcript<'_>) -> Result<(), TestkitError>,
) {
    assert_same(|flavor| {
        let mut server = Server::prepare(flavor, configuration)?;
        if !ldif.is_empty() {
            server.slapadd(ldif)?;
        }
        server.launch()?;
        let mut transcript = Transcript::new(&server);
        steps(&mut transcript)?;
        Ok(transcript.finish())
    });
}

/// The difference between the flavors, or the flavor that failed.
fn compare(flavors: [Flavor; 2], scenario: impl FnMut(Flavor) -> Result<String, TestkitError>) -> Option<String> {
    let outcomes = flavors.map(scenario);
    let failed = flavors
        .iter()
        .zip(&outcomes)
        .find_map(|(flavor, outcome)| Some((flavor, outcome.as_ref().err()?)));
    if let Some((flavor, error)) = failed {
        return Some(format!("the scenario failed with {flavor}: {error}"));
    }
    match (flavors, outcomes) {
        ([left_flavor, right_flavor], [Ok(left), Ok(right)]) if left != right => {
            let difference = difference(&left_flavor.to_string(), &left, &right_flavor.to_string(), &right);
            Some(format!("the servers differ:\n{difference}"))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_answers_pass_and_different_ones_are_shown() {
        assert_eq!(compare(Flavor::ALL, |_| Ok("dn: x\n".to_owned())), None);
        let problem = compare(Flavor::ALL, |flavor| Ok(format!("dn: x\nfrom: {flavor}\n"))).unwrap();
        assert!(problem.contains("--- openldap\n+++ ironbark\n"), "{problem}");
        assert!(problem.contains("-from: openldap\n+from: ironbark\n"), "{problem}");
    }

    #[test]
    fn the_flavor_that_failed_is_named() {
        let problem = compare(Flavor::ALL, |flavor| match flavor {
            Flavor::OpenLdap => Ok(String::new()),
            Flavor::Ironbark => Err(TestkitError::Build("no such thing".to_owned())),
        });
        assert!(
            problem
                .unwrap()
                .starts_with("the scenario failed with ironbark: the binary could not be built")
        );
    }
}
