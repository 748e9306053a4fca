//! Reads when a client certificate expires: the field that explains most rejected credentials.
//!
//! A management cluster's kubeconfig is often an administrator's from a year ago, and an API server reports only "Unauthorized".
//! Only the validity is read, so walking over five DER elements is enough; a whole X.509 parser would be a large dependency for
//! one date. A certificate that can't be parsed is no error here: the TLS library decides.

use ::kube::config::AuthInfo;
use base64::Engine as _;
use jiff::Timestamp;

const SEQUENCE: u8 = 0x30;
const INTEGER: u8 = 0x02;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// Returns the time at which the user's certificate expires; none if there is none, or if it can't be parsed.
pub(super) fn expiry_time(user: &AuthInfo) -> Option<Timestamp> {
    let text = match (&user.client_certificate_data, &user.client_certificate) {
        (Some(data), _) if !data.is_empty() => {
            base64::engine::general_purpose::STANDARD.decode(data.trim()).ok()?
        }
        (_, Some(path)) if !path.is_empty() => std::fs::read(path).ok()?,
        _ => return None,
    };
    let pem = pem::parse_many(text).ok()?;
    parse_not_after(pem.iter().find(|block| block.tag() == "CERTIFICATE")?.contents())
}

fn parse_not_after(certificate: &[u8]) -> Option<Timestamp> {
    let (certificate, _) = der_element(certificate, SEQUENCE)?;
    let (signed, _) = der_element(certificate, SEQUENCE)?;
    let rest = der_element(signed, VERSION).map_or(signed, |(_, rest)| rest);
    let (_serial, rest) = der_element(rest, INTEGER)?;
    let (_algorithm, rest) = der_element(rest, SEQUENCE)?;
    let (_issuer, rest) = der_element(rest, SEQUENCE)?;
    let (validity, _) = der_element(rest, SEQUENCE)?;
    let (_not_before, rest) = der_time(validity)?;
    let (not_after, _) = der_time(rest)?;
    parse_time(not_after)
}

/// Returns the content of the first element, which must have this tag, and the rest of the input.
fn der_element(input: &[u8], tag: u8) -> Option<(&[u8], &[u8])> {
    let (&found, rest) = input.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = match first {
        0..=0x7f => (usize::from(first), rest),
        0x81..=0x84 => {
            let (bytes, rest) = rest.split_at_checked(usize::from(first & 0x7f))?;
            (bytes.iter().fold(0, |length, byte| length << 8 | usize::from(*byte)), rest)
        }
        _ => return None,
    };
    (found == tag).then(|| rest.split_at_checked(length)).flatten()
}

/// Returns a time with its century, and the rest of the input.
fn der_time(input: &[u8]) -> Option<(String, &[u8])> {
    if let Some((text, rest)) = der_element(input, GENERALIZED_TIME) {
        return Some((str::from_utf8(text).ok()?.to_owned(), rest));
    }
    let (text, rest) = der_element(input, UTC_TIME)?;
    let text = str::from_utf8(text).ok()?;
    // RFC 5280, 4.1.2.5.1.
    let century = if text.get(..2)?.parse::<u8>().ok()? < 50 { "20" } else { "19" };
    Some((format!("{century}{text}"), rest))
}

/// Parses `20270131235959Z`.
fn parse_time(text: String) -> Option<Timestamp> {
    let (date, time) = (text.get(..8)?, text.get(8..14)?);
    format!("{date}T{time}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_years_are_parsed() {
        for (year, text) in [(2031, "2031-02-03T04:05:06Z"), (2075, "2075-02-03T04:05:06Z")] {
            let key = rcgen::KeyPair::generate().unwrap();
            let mut params = rcgen::CertificateParams::new(Vec::new()).unwrap();
            params.not_after =
                rcgen::date_time_ymd(year, 2, 3) + std::time::Duration::from_secs(4 * 3600 + 5 * 60 + 6);
            let pem = params.self_signed(&key).unwrap().pem();
            let user = AuthInfo {
                client_certificate_data: Some(base64::engine::general_purpose::STANDARD.encode(pem)),
                ..AuthInfo::default()
            };
            assert_eq!(expiry_time(&user).unwrap().to_string(), text);
        }
    }

    #[test]
    fn invalid_certificates_have_no_expiry_time() {
        for bytes in [&b""[..], b"\x30", b"\x30\x84\xff\xff\xff\xff", b"\x30\x03\x30\x01\x02"] {
            assert_eq!(parse_not_after(bytes), None);
        }
    }
}
