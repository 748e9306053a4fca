//! The messages of an enrolment: one request and one answer, each prefixed with its length.

use std::io;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::roots::Granted;
use super::token::Token;
use crate::connection::Connection;
use crate::name::AgentName;

/// The largest of both.
const LARGEST: usize = 16 << 10;

/// The agent's request. The connection proves the agent's key.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EnrolQuestion {
    pub(crate) agent: AgentName,
    pub(crate) token: Token,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) enum EnrolAnswer {
    Granted(Granted),
    /// For one reason as for any other.
    Refused,
}

/// The next message. The error has nothing of it.
pub(crate) async fn receive<T: DeserializeOwned>(connection: &mut impl Connection) -> io::Result<T> {
    let length = usize::try_from(connection.read_u32().await?).unwrap_or(usize::MAX);
    if length > LARGEST {
        return Err(io::Error::new(io::ErrorKind::InvalidData, "a message that is too large"));
    }
    let mut bytes = vec![0; length];
    connection.read_exact(&mut bytes).await?;
    serde_json::from_slice(&bytes)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "a message that can't be read"))
}

pub(crate) async fn send_message(
    connection: &mut impl Connection,
    message: &impl Serialize,
) -> io::Result<()> {
    let bytes = serde_json::to_vec(message)?;
    let length = u32::try_from(bytes.len()).map_err(io::Error::other)?;
    connection.write_all(&[&length.to_be_bytes(), bytes.as_slice()].concat()).await?;
    connection.flush().await
}

#[cfg(test)]
mod tests {
    use tokio::io::duplex;

    use super::*;
    use crate::mutants;

    /// A message is read up to its stated length only, and errors don't repeat its content.
    #[tokio::test]
    async fn any_bytes_are_a_question_or_refused() {
        let good =
            r#"{"agent":{"namespace":"edge","name":"one"},"token":"0123456789abcdef0123456789abcdef"}"#;
        let head = u32::try_from(good.len()).unwrap().to_be_bytes();
        let good = [&head, good.as_bytes()].concat();
        let mut all = Vec::new();
        mutants::each(&[&good], 2_000, |bytes| all.push(bytes.to_vec()));
        let (mut asked, mut refused) = (0, 0);
        for bytes in all.into_iter().chain([good]) {
            let (mut near, mut far) = duplex(1 << 20);
            far.write_all(&bytes).await.unwrap();
            drop(far);
            match receive::<EnrolQuestion>(&mut near).await {
                Ok(question) => {
                    asked += 1;
                    let text = serde_json::to_vec(&question).unwrap();
                    assert!(text.len() <= LARGEST, "{}", text.len());
                }
                Err(error) => {
                    refused += 1;
                    assert!(!format!("{error:?}").contains("0123456789"), "{error:?}");
                }
            }
        }
        assert!(asked > 30 && refused > 500, "{asked} asked, {refused} refused");
    }
}
