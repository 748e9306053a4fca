//! Reading kubeconfigs, and looking at the files that they name: none that never ends, and none that grows without bound.

use std::borrow::Cow;
use std::path::{Path, PathBuf};

use ::kube::config::{AuthInfo, Cluster, Kubeconfig, KubeconfigError};
use tower::BoxError;

use super::error::ConnectError;
use crate::expansion::{Expansion, Refused};
use crate::regular;

/// What was read, and from where.
pub(super) struct Loaded {
    pub(super) file: String,
    pub(super) kubeconfig: Kubeconfig,
}

/// The kubeconfig by the usual rules; none where there is none but a pod's service account is.
pub(super) fn load(explicit: Option<PathBuf>) -> Result<Option<Loaded>, ConnectError> {
    if let Some(path) = explicit.filter(|path| !path.as_os_str().is_empty()) {
        return read(&[path]).map(Some);
    }
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let mut paths: Vec<PathBuf> =
        std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect();
    if paths.is_empty() {
        paths.extend(std::env::home_dir().map(|home| home.join(".kube").join("config")));
    }
    // As kubectl does: files of the list that are not there (yet) are no error.
    let (there, missing): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.exists());
    if !there.is_empty() {
        return read(&there).map(Some);
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Ok(None);
    }
    Err(ConnectError::Missing { looked: names(&missing) })
}

fn read(paths: &[PathBuf]) -> Result<Loaded, ConnectError> {
    let (mut kubeconfig, mut expansion) = (Kubeconfig::default(), Expansion::default());
    for path in paths {
        look(path, &mut expansion)?;
        kubeconfig =
            Kubeconfig::read_from(path).and_then(|next| kubeconfig.merge(next)).map_err(|error| {
                let (reason, source): (_, Option<BoxError>) = match error {
                    KubeconfigError::ReadConfig(error, _) => (error.to_string(), Some(error.into())),
                    // The parser's own words quote lines of the file, keys and tokens included.
                    KubeconfigError::Parse(error) => match error.location() {
                        Some(at) => {
                            let (line, column) = (at.line(), at.column());
                            (format!("not readable as YAML at line {line}, column {column}"), None)
                        }
                        None => ("not readable as YAML".to_owned(), None),
                    },
                    other => (other.to_string(), Some(other.into())),
                };
                ConnectError::Kubeconfig { file: path.display().to_string(), reason, source }
            })?;
    }
    Ok(Loaded { file: names(paths), kubeconfig })
}

/// Refuses a file that could not be read to its end, or not be expanded.
fn look(path: &Path, expansion: &mut Expansion) -> Result<(), ConnectError> {
    let refused =
        |reason, source| ConnectError::Kubeconfig { file: path.display().to_string(), reason, source };
    let content = regular::read(path).map_err(|error| refused(error.to_string(), Some(error.into())))?;
    match expansion.take(&text(&content)) {
        // What isn't YAML is reported where it is read.
        Ok(()) | Err(Refused::Malformed(..)) => Ok(()),
        Err(Refused::TooMuch) => Err(refused(Expansion::exceeded(), None)),
    }
}

/// The text that kube reads: UTF-8, or UTF-16 with a mark.
fn text(content: &[u8]) -> Cow<'_, str> {
    let units = |unit: fn([u8; 2]) -> u16| {
        content.chunks_exact(2).map(move |pair| unit(pair.try_into().unwrap_or_default())).collect::<Vec<_>>()
    };
    match content {
        [0xff, 0xfe, ..] => String::from_utf16_lossy(&units(u16::from_le_bytes)).into(),
        [0xfe, 0xff, ..] => String::from_utf16_lossy(&units(u16::from_be_bytes)).into(),
        _ => String::from_utf8_lossy(content),
    }
}

fn names(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// A file that the context names, is there and could not be read to its end. One that is missing is reported by whoever needs
/// it.
pub(super) fn unreadable<'a>(
    cluster: Option<&'a Cluster>,
    user: Option<&'a AuthInfo>,
) -> Option<(&'a String, std::io::Error)> {
    files_of(cluster, user).find_map(|file| match regular::read(Path::new(file)) {
        Err(error) if error.kind() == std::io::ErrorKind::Other => Some((file, error)),
        _ => None,
    })
}

/// The files that will be read.
fn files_of<'a>(
    cluster: Option<&'a Cluster>,
    user: Option<&'a AuthInfo>,
) -> impl Iterator<Item = &'a String> {
    let of_cluster = cluster.and_then(|cluster| match cluster.certificate_authority_data {
        Some(_) => None,
        None => cluster.certificate_authority.as_ref(),
    });
    let of_user = user.into_iter().flat_map(|user| {
        let certificate = user.client_certificate.as_ref().filter(|_| user.client_certificate_data.is_none());
        let key = user.client_key.as_ref().filter(|_| user.client_key_data.is_none());
        [certificate, key, user.token_file.as_ref()]
    });
    of_cluster.into_iter().chain(of_user.flatten()).filter(|file| !file.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion::bomb;

    fn refused(file: &Path) -> String {
        load(Some(file.to_owned())).err().unwrap().to_string()
    }

    #[test]
    fn a_kubeconfig_or_a_file_it_names_that_never_ends_is_refused() {
        let zero = "/dev/zero".to_owned();
        assert_eq!(refused(Path::new(&zero)), "kubeconfig /dev/zero: a device, not a regular file");
        let certificate = AuthInfo { client_certificate: Some(zero.clone()), ..AuthInfo::default() };
        let key = AuthInfo { client_key: Some(zero.clone()), ..AuthInfo::default() };
        let token = AuthInfo { token_file: Some(zero.clone()), ..AuthInfo::default() };
        for user in [certificate, key, token] {
            let (file, error) = unreadable(None, Some(&user)).unwrap();
            assert_eq!((file, error.to_string().as_str()), (&zero, "a device, not a regular file"));
        }
        let mut cluster = Cluster { certificate_authority: Some(zero), ..Cluster::default() };
        assert!(unreadable(Some(&cluster), None).is_some());
        cluster.certificate_authority_data = Some("x".to_owned());
        assert!(unreadable(Some(&cluster), None).is_none(), "it is not read");
        cluster.certificate_authority = Some("/nowhere/at/all".to_owned());
        assert!(unreadable(Some(&cluster), None).is_none(), "whoever needs it reports that");
    }

    #[test]
    fn the_aliases_of_a_kubeconfig_are_bounded_in_every_encoding() {
        let units = || [0xfeff_u16].into_iter().chain(bomb(9).encode_utf16().collect::<Vec<_>>());
        let little = units().flat_map(u16::to_le_bytes).collect();
        let big = units().flat_map(u16::to_be_bytes).collect();
        for content in [bomb(9).into_bytes(), little, big] {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), content).unwrap();
            let told = refused(file.path());
            assert!(told.ends_with("expand to more than 64 MiB"), "{told}");
        }
    }
}
