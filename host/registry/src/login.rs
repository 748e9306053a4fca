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

/// A stored login. It can't be printed.
#[derive(PartialEq, Eq)]
pub(crate) enum Login {
    Password {
        user: String,
        password: String,
    },
    /// A token that a token server exchanges for others, as Azure's registries give it.
    IdentityToken(String),
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
            // A helper has no other way to say so.
            Ok(DockerCredential::UsernamePassword(user, token)) if user == IDENTITY => {
                Ok(Some(Self::IdentityToken(token)))
            }
            Ok(DockerCredential::UsernamePassword(user, password)) => {
                Ok(Some(Self::Password { user, password }))
            }
            Ok(DockerCredential::IdentityToken(token)) => Ok(Some(Self::IdentityToken(token))),
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

    /// The value of the header for it; none if only a token server takes it.
    pub(crate) fn to_header(&self) -> Option<String> {
        match self {
            Self::Password { user, password } => {
                Some(format!("Basic {}", STANDARD.encode(format!("{user}:{password}"))))
            }
            Self::IdentityToken(_) => None,
        }
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

/// A request for a token, which a token server gives for one repository. This program chooses the scope and ignores the registry's.
#[derive(PartialEq, Eq)]
pub(crate) struct TokenRequest {
    pub(crate) address: String,
    pub(crate) authorization: Option<String>,
    /// A form, which is sent as a POST.
    pub(crate) form: Option<String>,
}

impl TokenRequest {
    /// `realm` is the token server that the registry names.
    pub(crate) fn new(
        realm: &str,
        service: Option<&str>,
        (name, push): (&str, bool),
        login: Option<&Login>,
    ) -> Self {
        let encoded = |text: &str| utf8_percent_encode(text, KEPT).to_string();
        let actions = if push { "pull,push" } else { "pull" };
        let scope = encoded(&format!("repository:{name}:{actions}"));
        let service = service.map(|service| format!("service={}&", encoded(service))).unwrap_or_default();
        let query = format!("{service}scope={scope}");
        if let Some(Login::IdentityToken(token)) = login {
            let token = encoded(token);
            let form = format!("grant_type=refresh_token&client_id=pivot-host&{query}&refresh_token={token}");
            return Self { address: realm.to_owned(), authorization: None, form: Some(form) };
        }
        let join = if realm.contains('?') { '&' } else { '?' };
        let authorization = login.and_then(Login::to_header);
        Self { address: format!("{realm}{join}{query}"), authorization, form: None }
    }
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
            Login::load_from(&file, "r.example")
        };
        // "me:it:self"
        let auth = r#"{"auths":{"r.example":{"auth":"bWU6aXQ6c2VsZg=="}}}"#;
        let login = kept(auth).ok().flatten().unwrap();
        assert_eq!(login.to_header().unwrap(), "Basic bWU6aXQ6c2VsZg==");
        let token = r#"{"auths":{"r.example":{"identitytoken":"hidden"}}}"#;
        assert!(kept(token) == Ok(Some(Login::IdentityToken("hidden".into()))));
        assert!(kept(r#"{"auths":{"other.example":{"auth":"bWU6aXQ="}}}"#) == Ok(None));
        assert!(kept("{}") == Ok(None));
        for (bad, why) in [
            ("{", "it can't be understood"),
            (r#"{"auths":{"r.example":{"auth":"?"}}}"#, "it can't be understood"),
            (
                r#"{"credsStore":"that-nobody-has"}"#,
                "for r.example can't be started: put it on the PATH, or log in without it",
            ),
        ] {
            let said = kept(bad).err().unwrap();
            assert!(said.ends_with(why) && !said.contains("hidden"), "{said}");
        }
        std::fs::remove_file(&file).unwrap();
        assert!(Login::load_from(&file, "r.example").unwrap().is_none());
    }

    #[test]
    fn token_is_for_one_repository_only() {
        let address =
            |realm, service, push| TokenRequest::new(realm, service, ("site/plugins", push), None).address;
        let scope = "scope=repository%3Asite%2Fplugins%3Apull%2Cpush";
        assert_eq!(
            address("https://a.example/token", Some("x&scope=all"), true),
            format!("https://a.example/token?service=x%26scope%3Dall&{scope}")
        );
        let scope = "scope=repository%3Asite%2Fplugins%3Apull";
        assert_eq!(address("https://a/t?x=y", None, false), format!("https://a/t?x=y&{scope}"));
    }

    #[test]
    fn identity_token_is_sent_in_a_form() {
        let login = Login::IdentityToken("a&b".into());
        let request = TokenRequest::new("https://a/t", Some("r"), ("site/plugins", false), Some(&login));
        let form = "grant_type=refresh_token&client_id=pivot-host&service=r&scope=repository%3Asite%2Fplugins%3Apull&refresh_token=a%26b";
        let expected =
            TokenRequest { address: "https://a/t".into(), authorization: None, form: Some(form.into()) };
        assert!(request == expected);
    }
}
