//! Requests to one repository: with a token once the registry wants one, and with the redirects that a registry may make.

use bytes::Bytes;
use http::{Method, Request, Uri, header};
use http_body_util::Full;

use crate::connection::{Connections, RegistryAnswer, Timeouts};
use crate::error::{RegistryError, error_codes};
use crate::login::{Challenge, Login, TokenRequest};
use crate::reference::RegistryReference;

/// Most redirects of a blob.
const REDIRECTS: usize = 3;
/// Media type of a form.
const FORM: &str = "application/x-www-form-urlencoded";
/// The largest answer that is read for its error codes, or for a token.
pub(crate) const SMALL: u64 = 64 << 10;

/// Asks one registry about one repository.
pub(crate) struct Session {
    connections: Connections,
    pub(crate) reference: RegistryReference,
    /// Without TLS, if the user says so.
    plain: bool,
    push: bool,
    /// The header that lets this user in, once it is known.
    authorization: Option<String>,
}

/// One request to a registry.
pub(crate) struct ApiRequest<'q> {
    pub(crate) method: Method,
    pub(crate) address: String,
    pub(crate) what: &'static str,
    pub(crate) accept: &'q str,
    pub(crate) content: Option<(&'q str, Bytes)>,
    /// Most bytes of an answer that are read.
    pub(crate) most: u64,
    pub(crate) may_redirect: bool,
}

impl<'q> ApiRequest<'q> {
    pub(crate) fn new(method: Method, address: String, what: &'static str) -> Self {
        Self { method, address, what, accept: "*/*", content: None, most: SMALL, may_redirect: false }
    }

    pub(crate) fn with_content(self, media_type: &'q str, content: Bytes) -> Self {
        Self { content: Some((media_type, content)), ..self }
    }
}

impl Session {
    pub(crate) fn new(
        reference: RegistryReference,
        plain: bool,
        push: bool,
        timeouts: Timeouts,
    ) -> Result<Self, RegistryError> {
        Ok(Self { connections: Connections::new(timeouts)?, reference, plain, push, authorization: None })
    }

    pub(crate) fn host(&self) -> &str {
        &self.reference.host
    }

    /// An address below the repository.
    pub(crate) fn address_below(&self, below: &str) -> String {
        let RegistryReference { host, name, .. } = &self.reference;
        format!("{}://{host}/v2/{name}/{below}", self.scheme())
    }

    fn scheme(&self) -> &'static str {
        if self.plain { "http" } else { "https" }
    }

    /// The answer, if it has one of these statuses.
    pub(crate) async fn send_logged_in(
        &mut self,
        api_request: ApiRequest<'_>,
        fine: &[u16],
    ) -> Result<RegistryAnswer, RegistryError> {
        let (mut answer, mut by) = self.follow_redirects(&api_request).await?;
        // A token has an end, and a long transfer meets it: who has one already gets another, once.
        if answer.status == 401 && self.is_ours(&by) {
            self.log_in(&answer, api_request.what).await?;
            (answer, by) = self.follow_redirects(&api_request).await?;
        }
        // Who asks for credentials there is not whom they were given for.
        if matches!(answer.status, 401 | 403) && !self.is_ours(&by) {
            let there = by.authority().map(ToString::to_string).unwrap_or_default();
            return Err(self.bad_answer(format!("it sends to {there}, which answers {}", answer.status)));
        }
        let host = self.host().to_owned();
        match answer.status {
            status if fine.contains(&status) => Ok(answer),
            401 | 403 => Err(RegistryError::Unauthorized { host, what: api_request.what }),
            status => {
                let said = error_codes(&answer.body);
                Err(RegistryError::Refused { host, what: api_request.what, status, said })
            }
        }
    }

    /// The answer, and whose it is.
    async fn follow_redirects(
        &self,
        api_request: &ApiRequest<'_>,
    ) -> Result<(RegistryAnswer, Uri), RegistryError> {
        let mut address = self.parse_uri(&api_request.address)?;
        let mut redirects = 0;
        loop {
            let ours = self.is_ours(&address);
            let mut request = Request::builder().method(api_request.method.clone()).uri(address.clone());
            request =
                request.header(header::ACCEPT, api_request.accept).header(header::USER_AGENT, "pivot-host");
            // To whoever the registry sends this program, it is nobody.
            if let Some(authorization) = self.authorization.as_ref().filter(|_| ours) {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let content =
                api_request.content.as_ref().map(|(media_type, content)| (*media_type, content.clone()));
            let sent = content.as_ref().map_or(0, |(_, content)| content.len() as u64);
            if let Some((media_type, _)) = &content {
                request = request.header(header::CONTENT_TYPE, *media_type);
            }
            let body = Full::new(content.map(|(_, content)| content).unwrap_or_default());
            let request = request.body(body).map_err(|_| self.bad_answer("a header that is none"))?;
            let answer = self.connections.send(request, api_request.most, sent).await?;
            if !api_request.may_redirect || !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return Ok((answer, address));
            }
            redirects += 1;
            if redirects > REDIRECTS {
                return Err(self.bad_answer(format!("more than {REDIRECTS} redirects")));
            }
            let to =
                answer.header(header::LOCATION).ok_or_else(|| self.bad_answer("a redirect to nowhere"))?;
            address = self.resolve_location(&address, to)?;
        }
    }

    /// Returns the address of a redirect or an upload: on the same host, or on another one over TLS.
    pub(crate) fn resolve_location(&self, from: &Uri, to: &str) -> Result<Uri, RegistryError> {
        let here = from.authority().map(ToString::to_string).unwrap_or_default();
        let whole = match to.strip_prefix('/') {
            Some(rest) if !rest.starts_with('/') => {
                format!("{}://{here}{to}", from.scheme_str().unwrap_or("https"))
            }
            _ => to.to_owned(),
        };
        let uri = self.parse_uri(&whole)?;
        match uri.scheme_str() {
            Some("https") => Ok(uri),
            Some("http") if self.is_ours(&uri) => Ok(uri),
            _ => Err(self.bad_answer("it leads away from TLS")),
        }
    }

    pub(crate) fn parse_uri(&self, address: &str) -> Result<Uri, RegistryError> {
        let uri: Uri = address.parse().map_err(|_| self.bad_answer("an address that is none"))?;
        let authority = uri.authority().ok_or_else(|| self.bad_answer("an address without a host"))?;
        if authority.as_str().contains('@') || uri.scheme().is_none() {
            Err(self.bad_answer("an address with a user, or without a scheme"))
        } else {
            Ok(uri)
        }
    }

    /// Returns true if an address belongs to the registry that the user named, with the scheme that the user accepted.
    pub(crate) fn is_ours(&self, uri: &Uri) -> bool {
        let same = uri.authority().is_some_and(|there| there.as_str().eq_ignore_ascii_case(self.host()));
        same && uri.scheme_str() == Some(self.scheme())
    }

    async fn log_in(&mut self, answer: &RegistryAnswer, what: &'static str) -> Result<(), RegistryError> {
        let header = answer.header(header::WWW_AUTHENTICATE).unwrap_or_default();
        let challenge = Challenge::parse(header)
            .ok_or_else(|| self.bad_answer("a 401 that doesn't say how to log in"))?;
        let login = Login::load(self.host()).await?;
        self.authorization = Some(self.authorize(challenge, login, what).await?);
        Ok(())
    }

    /// Returns the header that lets this user in.
    pub(crate) async fn authorize(
        &self,
        challenge: Challenge,
        login: Option<Login>,
        what: &'static str,
    ) -> Result<String, RegistryError> {
        let host = self.host().to_owned();
        let (realm, service) = match challenge {
            Challenge::Bearer { realm, service } => (realm, service),
            Challenge::Basic => {
                let login = login.ok_or_else(|| RegistryError::Unauthorized { host: host.clone(), what })?;
                let why = "the stored login is an identity token, and the registry asks for a password";
                return login
                    .to_header()
                    .ok_or_else(|| RegistryError::Credentials { host, why: why.to_owned() });
            }
        };
        let repository = (self.reference.name.as_str(), self.push);
        let TokenRequest { address, authorization, form } =
            TokenRequest::new(&realm, service.as_deref(), repository, login.as_ref());
        let uri = self.parse_uri(&address)?;
        if uri.scheme_str() != Some("https") && !self.is_ours(&uri) {
            return Err(self.bad_answer("it wants credentials sent without TLS"));
        }
        let mut request = Request::builder().uri(uri).header(header::USER_AGENT, "pivot-host");
        if let Some(authorization) = authorization {
            request = request.header(header::AUTHORIZATION, authorization);
        }
        if form.is_some() {
            request = request.method(Method::POST).header(header::CONTENT_TYPE, FORM);
        }
        let form = Bytes::from(form.unwrap_or_default());
        let sent = form.len() as u64;
        let request = request.body(Full::new(form)).map_err(|_| self.bad_answer("a header that is none"))?;
        let answer = self.connections.send(request, SMALL, sent).await?;
        match answer.status {
            200 => Ok(format!("Bearer {}", self.parse_token(&answer.body)?)),
            401 | 403 => Err(RegistryError::Unauthorized { host, what }),
            status => {
                let said = error_codes(&answer.body);
                Err(RegistryError::Refused { host, what: "give a token", status, said })
            }
        }
    }

    fn parse_token(&self, body: &[u8]) -> Result<String, RegistryError> {
        let document: Option<serde_json::Value> = serde_json::from_slice(body).ok();
        let field = |name| document.as_ref().and_then(|document| document.get(name)?.as_str());
        let token = field("token").or_else(|| field("access_token")).unwrap_or_default();
        if !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()) {
            Ok(token.to_owned())
        } else {
            Err(self.bad_answer("a token that is none"))
        }
    }

    pub(crate) fn bad_answer(&self, why: impl Into<String>) -> RegistryError {
        RegistryError::bad_answer(self.host(), why)
    }
}
