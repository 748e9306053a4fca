//! Authentication at a registry: credentials from the files of `docker login` and similar tools, and tokens.

use std::fs::File;
use std::io::{BufReader, ErrorKind};
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use docker_credential::{CredentialRetrievalError, DockerCredential, get_credential_from_reader};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use pivot_core::messages::safe_text::escape_line;

use crate::error::RegistryError;

/// Characters that a query keeps unescaped in a value.
const KEPT: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Docker's user name for a token that replaces a password.
const IDENTITY: &str = "<token>";

/// Returns the files that store credentials: Docker's first, then Podman's.
fn credential_files() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).map(PathBuf::from);
    let docker = variable("DOCKER_CONFIG").or_else(|| variable("HOME").map(|home| home.join(".docker")));
    let podman = variable("REGISTRY_AUTH_FILE")
        .or_else(|| variable("XDG_RUNTIME_DIR").map(|dir| dir.join("containers/auth.json")));
    docker.map(|dir| dir.join("config.json")).into_iter().chain(podman).collect()
}

/// A user and a password.
pub(crate) struct Login {
    user: String,
    password: String,
}

impl Login {
    /// Returns the stored credentials for a host, or none if no user has logged in.
    pub(crate) async fn load(host: &str) -> Result<Option<Self>, RegistryError> {
        let name = host.to_owned();
        // It may start a helper, and waits for it.
        let found = tokio::task::spawn_blocking(move || {
            credential_files().iter().find_map(|place| Self::load_from(place, &name).transpose()).transpose()
        });
        let bad = |why: String| RegistryError::Credentials { host: host.to_owned(), why };
        found.await.map_err(|error| bad(error.to_string()))?.map_err(bad)
    }

    fn load_from(file: &Path, host: &str) -> Result<Option<Self>, String> {
        let of = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
        let reader = match File::open(file) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            opened => opened.map_err(|error| of(&error))?,
        };
        match get_credential_from_reader(BufReader::new(reader), host) {
            Ok(DockerCredential::UsernamePassword(user, password)) if user != IDENTITY => {
                Ok(Some(Self { user, password }))
            }
            Ok(_) => Err(of(&"it has an identity token, which this program can't use")),
            Err(CredentialRetrievalError::NoCredentialConfigured) => Ok(None),
            // The words of all helpers for it; they have no other way to say so.
            Err(CredentialRetrievalError::HelperFailure { stdout, .. })
                if stdout.contains("credentials not found") =>
            {
                Ok(None)
            }
            // Its own words could quote what a helper printed.
            Err(CredentialRetrievalError::HelperFailure { helper, .. }) => {
                Err(of(&format!("the helper {} failed", escape_line(&helper, 80))))
            }
            Err(CredentialRetrievalError::HelperCommunicationError) => Err(of(&format!(
                "the credential helper that it names for {host} can't be started: put it on the PATH, or log in without it"
            ))),
            Err(_) => Err(of(&"it can't be understood")),
        }
    }

    /// The value of the header for it.
    pub(crate) fn to_header(&self) -> String {
        format!("Basic {}", STANDARD.encode(format!("{}:{}", self.user, self.password)))
    }
}

/// The authentication scheme that a registry asks for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Challenge {
    Basic,
    /// With a token from there.
    Bearer {
        realm: String,
        service: Option<String>,
    },
}

impl Challenge {
    /// Reads the header of a 401.
    pub(crate) fn parse(header: &str) -> Option<Self> {
        let (scheme, rest) = header.trim().split_once(' ').unwrap_or((header.trim(), ""));
        if scheme.eq_ignore_ascii_case("basic") {
            return Some(Self::Basic);
        }
        if !scheme.eq_ignore_ascii_case("bearer") {
            return None;
        }
        let (mut realm, mut service) = (None, None);
        let mut rest = rest.trim_start();
        while !rest.is_empty() {
            let (name, after) = rest.split_once("=\"")?;
            let (value, after) = after.split_once('"')?;
            match name.trim().to_ascii_lowercase().as_str() {
                "realm" if realm.is_none() => realm = Some(value.to_owned()),
                "service" if service.is_none() => service = Some(value.to_owned()),
                "realm" | "service" => return None,
                _ => {}
            }
            rest = after.trim_start().trim_start_matches(',').trim_start();
        }
        Some(Self::Bearer { realm: realm?, service })
    }
}

/// Returns the address to ask for a token. The registry names the token server. This program chooses the scope and ignores the
/// registry's.
pub(crate) fn token_address(realm: &str, service: Option<&str>, name: &str, push: bool) -> String {
    let encoded = |text: &str| utf8_percent_encode(text, KEPT).to_string();
    let actions = if push { "pull,push" } else { "pull" };
    let scope = encoded(&format!("repository:{name}:{actions}"));
    let join = if realm.contains('?') { '&' } else { '?' };
    let service = service.map(|service| format!("service={}&", encoded(service))).unwrap_or_default();
    format!("{realm}{join}{service}scope={scope}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn challenge_names_the_token_server() {
        let bearer = |realm: &str, service: Option<&str>| {
            Some(Challenge::Bearer { realm: realm.into(), service: service.map(str::to_owned) })
        };
        let header = r#"Bearer realm="https://auth.example/token",service="r.example",scope="a:b:pull""#;
        assert_eq!(Challenge::parse(header), bearer("https://auth.example/token", Some("r.example")));
        assert_eq!(Challenge::parse(r#"bearer realm="https://a/t""#), bearer("https://a/t", None));
        assert_eq!(Challenge::parse(r#"Basic realm="x""#), Some(Challenge::Basic));
        assert_eq!(Challenge::parse("Basic"), Some(Challenge::Basic));
        for odd in [
            "",
            "Bearer",
            "Digest realm=\"x\"",
            "Bearer realm=unquoted",
            "Bearer realm=\"unclosed",
            "Bearer service=\"x\"",
            "Bearer realm=\"a\",realm=\"b\"",
            "Bearer realm=\"a\",service=\"b\",service=\"c\"",
        ] {
            assert_eq!(Challenge::parse(odd), None, "{odd}");
        }
    }

    #[test]
    fn login_is_found_in_dockers_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.json");
        let kept = |text: &str| {
            std::fs::write(&file, text).unwrap();
            Login::load_from(&file, "r.example").map(|login| login.map(|login| login.to_header()))
        };
        // "me:it:self"
        let auth = r#"{"auths":{"r.example":{"auth":"bWU6aXQ6c2VsZg=="}}}"#;
        assert_eq!(kept(auth).unwrap().unwrap(), "Basic bWU6aXQ6c2VsZg==");
        assert_eq!(kept(r#"{"auths":{"other.example":{"auth":"bWU6aXQ="}}}"#), Ok(None));
        assert_eq!(kept("{}"), Ok(None));
        for (bad, why) in [
            ("{", "it can't be understood"),
            (r#"{"auths":{"r.example":{"auth":"?"}}}"#, "it can't be understood"),
            (
                r#"{"auths":{"r.example":{"identitytoken":"hidden"}}}"#,
                "an identity token, which this program can't use",
            ),
            (
                r#"{"credsStore":"that-nobody-has"}"#,
                "for r.example can't be started: put it on the PATH, or log in without it",
            ),
        ] {
            let said = kept(bad).unwrap_err();
            assert!(said.ends_with(why) && !said.contains("hidden"), "{said}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(Login::load_from(&file, "r.example").unwrap().is_none());
    }

    #[test]
    fn token_is_for_one_repository_only() {
        let address = token_address("https://a.example/token", Some("x&scope=all"), "site/plugins", true);
        let scope = "scope=repository%3Asite%2Fplugins%3Apull%2Cpush";
        assert_eq!(address, format!("https://a.example/token?service=x%26scope%3Dall&{scope}"));
        let scope = "scope=repository%3Asite%2Fplugins%3Apull";
        assert_eq!(
            token_address("https://a/t?x=y", None, "site/plugins", false),
            format!("https://a/t?x=y&{scope}")
        );
    }
}
