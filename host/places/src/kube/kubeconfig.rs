//! Kubeconfigs as files: they may come from someone else, and they name files that are read with our permissions.
//!
//! Files that never end, or whose content expands without bound, are refused. kube panics on UTF-16 that ends midway, servers
//! that aren't URLs, and tokens of two lines: these are refused before kube sees them.

use std::path::{Path, PathBuf};

use ::kube::config::{AuthInfo, Cluster, Config, Kubeconfig, KubeconfigError};
use http::HeaderValue;
use http::uri::Scheme;
use tower::BoxError;

use super::error::ConnectError;
use crate::expansion::{Expansion, ExpansionError};
use crate::regular;

/// A kubeconfig, and where it was read from.
pub(super) struct LoadedKubeconfig {
    pub(super) file: String,
    /// The file, if it is the only one.
    pub(super) path: Option<PathBuf>,
    pub(super) kubeconfig: Kubeconfig,
}

/// Returns the current context of the kubeconfig that the usual rules find.
pub fn current_context() -> Option<String> {
    load_kubeconfig(None).ok()??.kubeconfig.current_context.filter(|name| !name.is_empty())
}

/// Loads the kubeconfig by the usual rules; none if there is no file but a pod's service account.
pub(super) fn load_kubeconfig(explicit: Option<PathBuf>) -> Result<Option<LoadedKubeconfig>, ConnectError> {
    if let Some(path) = explicit.filter(|path| !path.as_os_str().is_empty()) {
        return read_files(&[path]).map(Some);
    }
    let listed = std::env::var_os("KUBECONFIG").unwrap_or_default();
    let mut paths: Vec<PathBuf> =
        std::env::split_paths(&listed).filter(|path| !path.as_os_str().is_empty()).collect();
    if paths.is_empty() {
        paths.extend(std::env::home_dir().map(|home| home.join(".kube").join("config")));
    }
    // Like kubectl: files of the list that don't exist (yet) are no error.
    let (there, missing): (Vec<_>, Vec<_>) = paths.into_iter().partition(|path| path.exists());
    if !there.is_empty() {
        return read_files(&there).map(Some);
    }
    if std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        return Ok(None);
    }
    Err(ConnectError::Missing { looked: join_paths(&missing) })
}

fn read_files(paths: &[PathBuf]) -> Result<LoadedKubeconfig, ConnectError> {
    let (mut merged, mut expansion) = (Kubeconfig::default(), Expansion::default());
    for path in paths {
        let refused = |KubeconfigLoadError { reason, source }| ConnectError::Kubeconfig {
            file: path.display().to_string(),
            reason,
            source,
        };
        let mut next =
            parse_kubeconfig(read_bytes(path).map_err(refused)?, &mut expansion).map_err(refused)?;
        if let Some(folder) = path.parent() {
            file_fields(&mut next).for_each(|file| make_absolute(folder, file));
        }
        merged = merged.merge(next).map_err(|error| refused(describe_error(error)))?;
    }
    let path = if let [only] = paths { Some(only.clone()) } else { None };
    Ok(LoadedKubeconfig { file: join_paths(paths), path, kubeconfig: merged })
}

/// The reason why a kubeconfig can't be loaded.
pub(super) struct KubeconfigLoadError {
    pub(super) reason: String,
    source: Option<BoxError>,
}

impl From<&str> for KubeconfigLoadError {
    fn from(reason: &str) -> Self {
        Self { reason: reason.to_owned(), source: None }
    }
}

fn describe_error(error: KubeconfigError) -> KubeconfigLoadError {
    match error {
        // The parser's own text quotes lines of the file, including keys and tokens.
        KubeconfigError::Parse(error) => match error.location() {
            Some(at) => {
                let reason = format!("not readable as YAML at line {}, column {}", at.line(), at.column());
                KubeconfigLoadError { reason, source: None }
            }
            None => "not readable as YAML".into(),
        },
        other => KubeconfigLoadError { reason: other.to_string(), source: Some(other.into()) },
    }
}

/// Parses a kubeconfig. Refuses one that can't be expanded.
pub(super) fn parse_kubeconfig(
    content: Vec<u8>,
    expansion: &mut Expansion,
) -> Result<Kubeconfig, KubeconfigLoadError> {
    let text = decode_text(content).ok_or("not UTF-8")?;
    match expansion.charge(&text) {
        // Invalid YAML is reported by the parser.
        Ok(()) | Err(ExpansionError::Malformed(..)) => Kubeconfig::from_yaml(&text).map_err(describe_error),
        Err(ExpansionError::TooMuch) => Err(Expansion::exceeded_message().as_str().into()),
    }
}

/// Reads a file. Refuses one that can't be read to its end.
fn read_bytes(path: &Path) -> Result<Vec<u8>, KubeconfigLoadError> {
    regular::read_regular_file(path).map_err(|error| {
        let way = if is_pipe(path) {
            "; if a shell made it with <(...), write its content to a file first"
        } else {
            ""
        };
        KubeconfigLoadError { reason: format!("{error}{way}"), source: Some(error.into()) }
    })
}

/// A process substitution is a pipe. It can be read only once, but a kubeconfig is read for each side, and again by the next
/// command.
#[cfg(unix)]
fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| std::os::unix::fs::FileTypeExt::is_fifo(&metadata.file_type()))
}

#[cfg(not(unix))]
fn is_pipe(_: &Path) -> bool {
    false
}

/// Decodes UTF-8, or UTF-16 with a byte order mark, which Windows shells write.
fn decode_text(bytes: Vec<u8>) -> Option<String> {
    let wide = |bytes: &[u8], number: fn([u8; 2]) -> u16| {
        let (pairs, rest) = bytes.as_chunks();
        let numbers: Vec<u16> = pairs.iter().copied().map(number).collect();
        rest.is_empty().then(|| String::from_utf16(&numbers).ok())?
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => wide(rest, u16::from_le_bytes),
        [0xfe, 0xff, rest @ ..] => wide(rest, u16::from_be_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => str::from_utf8(rest).ok().map(str::to_owned),
        _ => String::from_utf8(bytes).ok(),
    }
}

/// Returns the fields with names of files, which are relative to the kubeconfig's folder.
fn file_fields(kubeconfig: &mut Kubeconfig) -> impl Iterator<Item = &mut String> {
    let Kubeconfig { clusters, auth_infos, .. } = kubeconfig;
    let clusters =
        clusters.iter_mut().filter_map(|named| named.cluster.as_mut()?.certificate_authority.as_mut());
    let users = auth_infos.iter_mut().filter_map(|named| named.auth_info.as_mut()).flat_map(|user| {
        let AuthInfo { client_certificate, client_key, token_file, exec, .. } = user;
        // A program name without a slash is looked up in PATH.
        let program = exec.as_mut().and_then(|exec| exec.command.as_mut()).filter(|name| name.contains('/'));
        [client_certificate.as_mut(), client_key.as_mut(), token_file.as_mut(), program].into_iter().flatten()
    });
    clusters.chain(users)
}

fn make_absolute(folder: &Path, file: &mut String) {
    if Path::new(file).is_relative()
        && let Some(joined) = folder.join(&*file).to_str()
    {
        *file = joined.to_owned();
    }
}

fn join_paths(paths: &[PathBuf]) -> String {
    paths.iter().map(|path| path.display().to_string()).collect::<Vec<_>>().join(", ")
}

/// Returns a file that the context names, that exists and can't be read to its end. A missing one is reported by the code that
/// reads it.
pub(super) fn find_unreadable_file<'a>(
    cluster: Option<&'a Cluster>,
    user: Option<&'a AuthInfo>,
) -> Option<(&'a String, std::io::Error)> {
    files_to_read(cluster, user).find_map(|file| match regular::read_regular_file(Path::new(file)) {
        Err(error) if error.kind() == std::io::ErrorKind::Other => Some((file, error)),
        _ => None,
    })
}

/// Returns the files that will be read.
fn files_to_read<'a>(
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

/// Returns the problem of a server's URL or of the credentials, if there is one. Neither is quoted: it may contain a password.
pub(super) fn odd_config(config: &Config) -> Option<String> {
    let url = &config.cluster_url;
    let known = url.scheme().is_some_and(|scheme| [Scheme::HTTP, Scheme::HTTPS].contains(scheme));
    if !known || url.host().is_none_or(str::is_empty) {
        return Some("its server is no URL that begins with https:// and a host".to_owned());
    }
    if url.authority().is_some_and(|authority| authority.as_str().contains('@')) {
        return Some(
            "its server's URL has a user in it: that belongs into a user of the kubeconfig".to_owned(),
        );
    }
    let proxy = config.proxy_url.as_ref().is_none_or(|url| {
        url.scheme_str().is_some_and(|scheme| ["http", "https", "socks5"].contains(&scheme))
    });
    if !proxy {
        return Some("its proxy is no URL that begins with http:// or socks5://".to_owned());
    }
    // The only access to a token that kube hides from logs.
    let user = serde_json::to_value(&config.auth_info).unwrap_or_default();
    let tokens = ["/token", "/auth-provider/config/id-token", "/auth-provider/config/access-token"];
    let mut sent = tokens.into_iter().filter_map(|path| user.pointer(path)?.as_str());
    let sendable = sent.all(|token| HeaderValue::from_str(token).is_ok());
    (!sendable).then(|| "its user's token has characters that can't be sent".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expansion::bomb;
    use crate::mutants;

    fn refused(file: &Path) -> String {
        load_kubeconfig(Some(file.to_owned())).err().unwrap().to_string()
    }

    // proves: T113
    #[test]
    fn endless_kubeconfigs_and_files_are_refused() {
        let zero = "/dev/zero".to_owned();
        assert_eq!(refused(Path::new(&zero)), "kubeconfig /dev/zero: a device, not a regular file");
        let certificate = AuthInfo { client_certificate: Some(zero.clone()), ..AuthInfo::default() };
        let key = AuthInfo { client_key: Some(zero.clone()), ..AuthInfo::default() };
        let token = AuthInfo { token_file: Some(zero.clone()), ..AuthInfo::default() };
        for user in [certificate, key, token] {
            let (file, error) = find_unreadable_file(None, Some(&user)).unwrap();
            assert_eq!((file, error.to_string().as_str()), (&zero, "a device, not a regular file"));
        }
        let mut cluster = Cluster { certificate_authority: Some(zero), ..Cluster::default() };
        assert!(find_unreadable_file(Some(&cluster), None).is_some());
        cluster.certificate_authority_data = Some("x".to_owned());
        assert!(find_unreadable_file(Some(&cluster), None).is_none(), "it is not read");
        cluster.certificate_authority = Some("/nowhere/at/all".to_owned());
        assert!(find_unreadable_file(Some(&cluster), None).is_none(), "whoever needs it reports that");
    }

    // proves: D3
    #[test]
    fn any_bytes_are_a_kubeconfig_or_refused() {
        const GOOD: &str = "apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters:\n- name: a\n  cluster: {server: https://a, \
            certificate-authority-data: eA==}\ncontexts:\n- name: a\n  context: {cluster: a, user: &u a}\nusers:\n- name: *u\n  \
            user: {token: t0ken, exec: {command: x, apiVersion: v1}}\n";
        let (mut good, mut refused) = (0, 0);
        mutants::each(&[GOOD.as_bytes()], 1_500, |bytes| {
            match parse_kubeconfig(bytes.to_vec(), &mut Expansion::default()) {
                Ok(_) => good += 1,
                Err(why) => {
                    refused += 1;
                    assert!(!why.reason.contains("t0ken"), "{}", why.reason);
                }
            }
        });
        assert!(good > 50 && refused > 300, "{good} good, {refused} refused");
    }

    #[test]
    fn pipes_as_kubeconfigs_are_refused_with_advice() {
        let folder = tempfile::tempdir().unwrap();
        let pipe = folder.path().join("63");
        assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
        assert!(
            refused(&pipe)
                .ends_with("63: a pipe, not a regular file; if a shell made it with <(...), write its content to a file first")
        );
    }

    #[test]
    fn aliases_are_bounded_in_every_encoding() {
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

    #[test]
    fn incomplete_utf_16_is_no_text() {
        let wide = |mark: [u8; 2], of: fn(u16) -> [u8; 2]| {
            let letters: Vec<u8> = "a: b".encode_utf16().flat_map(of).collect();
            [&mark[..], &letters].concat()
        };
        let (little, big) = (wide([0xff, 0xfe], u16::to_le_bytes), wide([0xfe, 0xff], u16::to_be_bytes));
        for good in [&little[..], &big, b"a: b", b"\xef\xbb\xbfa: b"] {
            assert_eq!(decode_text(good.to_vec()).as_deref(), Some("a: b"));
        }
        for bad in [&little[..5], &big[..5], b"\xff", b"\xff\xfe\0\xd8"] {
            assert_eq!(decode_text(bad.to_vec()), None);
        }
    }

    #[test]
    fn files_are_relative_to_the_kubeconfig() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("config");
        let yaml = "users:\n- name: u\n  user: {client-certificate: c.pem, client-key: /k.pem, exec: {command: ./login}}\n\
                    - name: v\n  user: {exec: {command: login}}\nclusters:\n- name: c\n  cluster: {certificate-authority: ca/ca.pem}\n";
        std::fs::write(&path, yaml).unwrap();
        let mut kubeconfig = read_files(&[path]).unwrap().kubeconfig;
        let folder = folder.path().to_str().unwrap();
        let found: Vec<String> =
            file_fields(&mut kubeconfig).map(|file| file.replace(folder, "FOLDER")).collect();
        assert_eq!(found, ["FOLDER/ca/ca.pem", "FOLDER/c.pem", "/k.pem", "FOLDER/./login"]);
        assert_eq!(
            kubeconfig.auth_infos[1].auth_info.as_ref().unwrap().exec.as_ref().unwrap().command.as_deref(),
            Some("login")
        );
    }
}
