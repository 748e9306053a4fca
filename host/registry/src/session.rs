//! Requests to one repository: with a token once the registry wants one, and with the redirects that a registry may make.

use bytes::Bytes;
use http::{Method, Request, Uri, header};
use http_body_util::Full;

use crate::connection::{Answer, Connections, Patience};
use crate::error::{RegistryError, said};
use crate::login::{Challenge, Login, token_address};
use crate::reference::Reference;

/// How often a blob may be somewhere else.
const REDIRECTS: usize = 3;
/// The largest answer that is read for its error codes, or for a token.
pub(crate) const SMALL: u64 = 64 << 10;

/// Asks one registry about one repository.
pub(crate) struct Session {
    connections: Connections,
    pub(crate) reference: Reference,
    /// Without TLS, if the user says so.
    plain: bool,
    push: bool,
    /// The header that lets this user in, once it is known.
    authorization: Option<String>,
}

/// What is asked.
pub(crate) struct Question<'q> {
    pub(crate) method: Method,
    pub(crate) address: String,
    pub(crate) what: &'static str,
    pub(crate) accept: &'q str,
    pub(crate) content: Option<(&'q str, Bytes)>,
    /// How much of an answer is read.
    pub(crate) most: u64,
    pub(crate) may_redirect: bool,
}

impl<'q> Question<'q> {
    pub(crate) fn new(method: Method, address: String, what: &'static str) -> Self {
        Self { method, address, what, accept: "*/*", content: None, most: SMALL, may_redirect: false }
    }

    pub(crate) fn with(self, media_type: &'q str, content: Bytes) -> Self {
        Self { content: Some((media_type, content)), ..self }
    }
}

impl Session {
    pub(crate) fn new(
        reference: Reference,
        plain: bool,
        push: bool,
        patience: Patience,
    ) -> Result<Self, RegistryError> {
        Ok(Self { connections: Connections::new(patience)?, reference, plain, push, authorization: None })
    }

    pub(crate) fn host(&self) -> &str {
        &self.reference.host
    }

    /// An address below the repository.
    pub(crate) fn address(&self, below: &str) -> String {
        let Reference { host, name, .. } = &self.reference;
        format!("{}://{host}/v2/{name}/{below}", self.scheme())
    }

    fn scheme(&self) -> &'static str {
        if self.plain { "http" } else { "https" }
    }

    /// The answer, if it has one of these statuses.
    pub(crate) async fn ask(
        &mut self,
        question: Question<'_>,
        fine: &[u16],
    ) -> Result<Answer, RegistryError> {
        let (mut answer, mut by) = self.send(&question).await?;
        // A token has an end, and a long transfer meets it: who has one already gets another, once.
        if answer.status == 401 && self.is_ours(&by) {
            self.log_in(&answer, question.what).await?;
            (answer, by) = self.send(&question).await?;
        }
        // Who asks for credentials there is not whom they were given for.
        if matches!(answer.status, 401 | 403) && !self.is_ours(&by) {
            let there = by.authority().map(ToString::to_string).unwrap_or_default();
            return Err(self.odd(format!("it sends to {there}, which answers {}", answer.status)));
        }
        let host = self.host().to_owned();
        match answer.status {
            status if fine.contains(&status) => Ok(answer),
            401 | 403 => Err(RegistryError::Unauthorized { host, what: question.what }),
            status => {
                let said = said(&answer.body);
                Err(RegistryError::Refused { host, what: question.what, status, said })
            }
        }
    }

    /// The answer, and whose it is.
    async fn send(&self, question: &Question<'_>) -> Result<(Answer, Uri), RegistryError> {
        let mut address = self.uri(&question.address)?;
        let mut redirects = 0;
        loop {
            let ours = self.is_ours(&address);
            let mut request = Request::builder().method(question.method.clone()).uri(address.clone());
            request =
                request.header(header::ACCEPT, question.accept).header(header::USER_AGENT, "pivot-host");
            // To whoever the registry sends this program, it is nobody.
            if let Some(authorization) = self.authorization.as_ref().filter(|_| ours) {
                request = request.header(header::AUTHORIZATION, authorization);
            }
            let content =
                question.content.as_ref().map(|(media_type, content)| (*media_type, content.clone()));
            let sent = content.as_ref().map_or(0, |(_, content)| content.len() as u64);
            if let Some((media_type, _)) = &content {
                request = request.header(header::CONTENT_TYPE, *media_type);
            }
            let body = Full::new(content.map(|(_, content)| content).unwrap_or_default());
            let request = request.body(body).map_err(|_| self.odd("a header that is none"))?;
            let answer = self.connections.send(request, question.most, sent).await?;
            if !question.may_redirect || !matches!(answer.status, 301 | 302 | 303 | 307 | 308) {
                return Ok((answer, address));
            }
            redirects += 1;
            if redirects > REDIRECTS {
                return Err(self.odd(format!("more than {REDIRECTS} redirects")));
            }
            let to = answer.header(header::LOCATION).ok_or_else(|| self.odd("a redirect to nowhere"))?;
            address = self.target(&address, to)?;
        }
    }

    /// Where a redirect or an upload leads: to the same host, or to another one by TLS.
    pub(crate) fn target(&self, from: &Uri, to: &str) -> Result<Uri, RegistryError> {
        let here = from.authority().map(ToString::to_string).unwrap_or_default();
        let whole = match to.strip_prefix('/') {
            Some(rest) if !rest.starts_with('/') => {
                format!("{}://{here}{to}", from.scheme_str().unwrap_or("https"))
            }
            _ => to.to_owned(),
        };
        let uri = self.uri(&whole)?;
        match uri.scheme_str() {
            Some("https") => Ok(uri),
            Some("http") if self.is_ours(&uri) => Ok(uri),
            _ => Err(self.odd("it leads away from TLS")),
        }
    }

    pub(crate) fn uri(&self, address: &str) -> Result<Uri, RegistryError> {
        let uri: Uri = address.parse().map_err(|_| self.odd("an address that is none"))?;
        let authority = uri.authority().ok_or_else(|| self.odd("an address without a host"))?;
        match authority.as_str().contains('@') || uri.scheme().is_none() {
            true => Err(self.odd("an address with a user, or without a scheme")),
            false => Ok(uri),
        }
    }

    /// Whether it is the registry that the user named, over a line that the user accepted.
    pub(crate) fn is_ours(&self, uri: &Uri) -> bool {
        let same = uri.authority().is_some_and(|there| there.as_str().eq_ignore_ascii_case(self.host()));
        same && uri.scheme_str() == Some(self.scheme())
    }

    async fn log_in(&mut self, answer: &Answer, what: &'static str) -> Result<(), RegistryError> {
        let host = self.host().to_owned();
        let header = answer.header(header::WWW_AUTHENTICATE).unwrap_or_default();
        let challenge =
            Challenge::read(header).ok_or_else(|| self.odd("a 401 that doesn't say how to log in"))?;
        let login = Login::kept(&host).await?;
        self.authorization = Some(match challenge {
            Challenge::Basic => login.ok_or(RegistryError::Unauthorized { host, what })?.header(),
            Challenge::Bearer { realm, service } => {
                let address = token_address(&realm, service.as_deref(), &self.reference.name, self.push);
                let uri = self.uri(&address)?;
                if uri.scheme_str() != Some("https") && !self.is_ours(&uri) {
                    return Err(self.odd("it wants credentials sent without TLS"));
                }
                let mut request = Request::builder().uri(uri).header(header::USER_AGENT, "pivot-host");
                if let Some(login) = login {
                    request = request.header(header::AUTHORIZATION, login.header());
                }
                let request = request.body(Full::default()).map_err(|_| self.odd("a header that is none"))?;
                let answer = self.connections.send(request, SMALL, 0).await?;
                match answer.status {
                    200 => format!("Bearer {}", self.token(&answer.body)?),
                    401 | 403 => return Err(RegistryError::Unauthorized { host, what }),
                    status => {
                        let said = said(&answer.body);
                        return Err(RegistryError::Refused { host, what: "give a token", status, said });
                    }
                }
            }
        });
        Ok(())
    }

    fn token(&self, body: &[u8]) -> Result<String, RegistryError> {
        let document: Option<serde_json::Value> = serde_json::from_slice(body).ok();
        let field = |name| document.as_ref().and_then(|document| document.get(name)?.as_str());
        let token = field("token").or_else(|| field("access_token")).unwrap_or_default();
        match !token.is_empty() && token.bytes().all(|b| b.is_ascii_graphic()) {
            true => Ok(token.to_owned()),
            false => Err(self.odd("a token that is none")),
        }
    }

    pub(crate) fn odd(&self, why: impl Into<String>) -> RegistryError {
        RegistryError::answer(self.host(), why)
    }
}
