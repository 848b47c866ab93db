//! Whether the server would start: its certificates, the files of its root DSE, its overlays.

use std::{
    fs::File,
    io::ErrorKind,
    path::{Path, PathBuf},
};

use ironbark_config::TlsConfig;
use ironbark_server::{load_configuration, missing_folder, rehearse};

/// What a start would come to.
pub(super) enum Start {
    /// The configuration does not load.
    NotTried,
    /// Nothing stands in its way.
    Works,
    /// The reason.
    Fails(String),
    /// A file or folder is not there for the user who asks: on another machine, without its owner's rights, or before
    /// the script of init has made it.
    CannotTell(String),
}

/// Makes everything that a start makes, and nothing else.
pub(super) fn rehearsed(installation: &Path) -> Start {
    let (file, folder) = if installation.is_dir() {
        (None, Some(installation))
    } else {
        (Some(installation), None)
    };
    let loaded = match load_configuration(file, folder) {
        Ok(loaded) => loaded,
        Err(error) => return Start::Fails(error.to_string()),
    };
    let global = &loaded.configuration.global;
    let files = named(&global.tls).chain(global.root_dse_files.iter().map(PathBuf::as_path));
    let missing = files.into_iter().find_map(out_of_reach);
    if let Some(why) = missing {
        return Start::CannotTell(why);
    }
    match rehearse(&loaded) {
        Ok(None) => missing_folder(global).map_or(Start::Works, Start::CannotTell),
        Ok(Some(warning)) => Start::Fails(warning),
        Err(error) => Start::Fails(error.to_string()),
    }
}

fn named(tls: &TlsConfig) -> impl Iterator<Item = &Path> {
    let files = [
        &tls.ca_certificate_file,
        &tls.certificate_file,
        &tls.key_file,
        &tls.crl_file,
    ];
    let folders = tls.ca_certificate_path.as_deref().unwrap_or_default();
    let folders = folders.split(';').filter(|path| !path.is_empty()).map(Path::new);
    files.into_iter().flatten().map(PathBuf::as_path).chain(folders)
}

/// Why somebody cannot read a file, though it may be well.
fn out_of_reach(path: &Path) -> Option<String> {
    let error = File::open(path).err()?;
    let is_elsewhere = matches!(error.kind(), ErrorKind::NotFound | ErrorKind::PermissionDenied);
    is_elsewhere.then(|| format!("{}: {error}", path.display()))
}
