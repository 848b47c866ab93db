//! The configuration as it is written, whether it loads or not.

use std::path::Path;

use ironbark_advisor::WrittenConfiguration;
use ironbark_config::olc::Folder;

/// The file, the directory, or what slapd would take if neither is named.
///
/// # Errors
/// The message for the user.
pub(crate) fn written(file: Option<&Path>, folder: Option<&Path>) -> Result<WrittenConfiguration, String> {
    let registry = ironbark_overlays::registry();
    let of_file = |file: &Path| WrittenConfiguration::of_file(file, &registry).map_err(|error| error.to_string());
    match (file, folder) {
        (Some(_), Some(_)) => Err("--explain takes -f or -F, not both".to_owned()),
        (Some(file), None) => of_file(file),
        (None, Some(folder)) => Ok(WrittenConfiguration::of_folder(folder.to_owned(), &registry)),
        (None, None) => {
            let usual = ironbark_server::usual_folder();
            if Folder::new(&usual, &registry).holds_configuration() {
                Ok(WrittenConfiguration::of_folder(usual, &registry))
            } else {
                of_file(&ironbark_server::usual_file())
            }
        }
    }
}
