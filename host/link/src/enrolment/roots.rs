//! The authority of a controller as a value: the certificates that it signs, their validity, and the succession of roots.
//!
//! A new root is trusted for as long as a certificate lives before it signs: by then each agent that is still in date has renewed,
//! and got the bundle with it. So no agent ever meets a certificate of a root that it doesn't know.

use jiff::{SignedDuration, Timestamp};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer,
    KeyPair, KeyUsagePurpose, PublicKeyData, SanType, SerialNumber, date_time_ymd,
};
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::key::AgentKey;
use super::token::random_bytes;
use crate::clock::add_saturating;

const DAY: SignedDuration = SignedDuration::from_hours(24);
/// Lifetime of a certificate. A site may be offline for a while.
const CERTIFICATE: SignedDuration = days(30);
/// Lifetime of a root. Twice the necessary time, so that a controller that was away for months can still replace it.
const ROOT: SignedDuration = days(730);
/// The age at which the next one is made. It signs from a month later on.
const NEXT: SignedDuration = days(335);
/// A clock may be this slow.
const SLOW: SignedDuration = SignedDuration::from_hours(1);

const fn days(days: i64) -> SignedDuration {
    SignedDuration::from_secs(days * DAY.as_secs())
}

/// A certificate that signs, and its key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Root {
    made: Timestamp,
    certificate: String,
    key: String,
}

/// The roots of an authority, the oldest first.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct Roots(Vec<Root>);

/// A certificate, and the authorities for the other side's certificate.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Granted {
    pub(crate) certificate: String,
    pub(crate) authority: String,
    pub(crate) from: Timestamp,
    pub(crate) until: Timestamp,
}

impl Granted {
    /// When it is time for the next one: between two thirds and three quarters of its life, so that those that were made together
    /// are not renewed together. Which of these times is its own, however often it is asked.
    pub(crate) fn renewal_time(&self) -> Timestamp {
        let life = self.until.duration_since(self.from);
        let digest = digest(&SHA256, self.certificate.as_bytes());
        let spread = digest.as_ref().first().copied().unwrap_or_default();
        add_saturating(self.from, life * 2 / 3 + life / 12 / 256 * i32::from(spread))
    }
}

/// The reason why no certificate can be signed.
#[derive(Debug, thiserror::Error)]
#[error("no certificate can be made: {0}")]
pub(crate) struct Unsigned(String);

impl From<rcgen::Error> for Unsigned {
    fn from(error: rcgen::Error) -> Self {
        Self(error.to_string())
    }
}

impl Roots {
    /// Creates the roots of a new authority.
    pub(crate) fn new(now: Timestamp) -> Result<Self, Unsigned> {
        Ok(Self(vec![Root::new(now)?]))
    }

    /// Returns the roots with the next one if it is due, and without the expired ones. A program that trusts a root doesn't
    /// check the root's own dates. Returns none if nothing changes.
    pub(crate) fn renewed(&self, now: Timestamp) -> Result<Option<Self>, Unsigned> {
        let mut roots: Vec<Root> = self.0.iter().filter(|root| now < root.end_of_life()).cloned().collect();
        if roots.last().is_none_or(|newest| now >= add_saturating(newest.made, NEXT)) {
            roots.push(Root::new(now)?);
        } else if roots.len() == self.0.len() {
            return Ok(None);
        }
        Ok(Some(Self(roots)))
    }

    /// Returns the certificates that agents must trust, as PEM.
    pub(crate) fn to_bundle(&self) -> String {
        self.0.iter().map(|root| root.certificate.as_str()).collect()
    }

    /// The one that signs: the newest that everybody knows.
    fn signing_root(&self, now: Timestamp) -> Option<&Root> {
        let mut in_date = self.0.iter().filter(|root| now < root.end_of_life());
        in_date.clone().rfind(|root| now >= add_saturating(root.made, CERTIFICATE)).or_else(|| in_date.next())
    }

    /// A certificate for the key of an agent.
    pub(crate) fn sign_agent(&self, uri: &str, key: &AgentKey, now: Timestamp) -> Result<Granted, Unsigned> {
        let mut params = CertificateParams::default();
        params.subject_alt_names = vec![SanType::URI(uri.try_into()?)];
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
        self.sign(params, key, now)
    }

    /// A certificate for the end that agents call by these names, and its key.
    pub(crate) fn sign_controller(
        &self,
        hosts: &[String],
        now: Timestamp,
    ) -> Result<(Granted, String), Unsigned> {
        let mut params = CertificateParams::new(hosts)?;
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
        let key = KeyPair::generate()?;
        Ok((self.sign(params, &key, now)?, key.serialize_pem()))
    }

    fn sign(
        &self,
        mut params: CertificateParams,
        key: &impl PublicKeyData,
        now: Timestamp,
    ) -> Result<Granted, Unsigned> {
        let root = self.signing_root(now).ok_or_else(|| Unsigned("no root is in date".to_owned()))?;
        let until = add_saturating(now, CERTIFICATE).min(root.end_of_life());
        params.distinguished_name = DistinguishedName::new();
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        params.use_authority_key_identifier_extension = true;
        set_dates(&mut params, now, until)?;
        let signed = params.signed_by(key, &root.to_issuer()?)?;
        Ok(Granted { certificate: signed.pem(), authority: self.to_bundle(), from: now, until })
    }
}

impl Root {
    fn new(made: Timestamp) -> Result<Self, Unsigned> {
        let key = KeyPair::generate()?;
        let mut params = Self::certificate_params(made);
        set_dates(&mut params, made, add_saturating(made, ROOT))?;
        let certificate = params.self_signed(&key)?.pem();
        Ok(Self { made, certificate, key: key.serialize_pem() })
    }

    fn end_of_life(&self) -> Timestamp {
        add_saturating(self.made, ROOT)
    }

    /// Returns the content of the root's certificate except its key and its dates.
    fn certificate_params(made: Timestamp) -> CertificateParams {
        let mut params = CertificateParams::default();
        params.distinguished_name = DistinguishedName::new();
        params.distinguished_name.push(DnType::CommonName, format!("pivot-host agents {}", made.as_second()));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign];
        params
    }

    fn to_issuer(&self) -> Result<Issuer<'static, KeyPair>, Unsigned> {
        Ok(Issuer::new(Self::certificate_params(self.made), KeyPair::from_pem(&self.key)?))
    }
}

fn set_dates(params: &mut CertificateParams, from: Timestamp, until: Timestamp) -> Result<(), Unsigned> {
    let date = |time: Timestamp| {
        let since = u64::try_from(time.as_second()).unwrap_or_default();
        date_time_ymd(1970, 1, 1) + std::time::Duration::from_secs(since)
    };
    params.not_before = date(from.checked_sub(SLOW).unwrap_or(from));
    params.not_after = date(until);
    let serial = random_bytes().map_err(|error| Unsigned(error.to_string()))?;
    params.serial_number = Some(SerialNumber::from_slice(&serial));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn day(day: i64) -> Timestamp {
        add_saturating(Timestamp::from_second(1_800_000_000).unwrap(), days(day))
    }

    // proves: T62
    #[test]
    fn new_root_signs_after_older_certificates_end() {
        let mut roots = Roots::new(day(0)).unwrap();
        let mut bundles = Vec::new();
        let mut made = 1;
        for at in 0..3_000 {
            if let Some(next) = roots.renewed(day(at)).unwrap() {
                made += i32::from(next.0.last() != roots.0.last());
                roots = next;
            }
            assert!(roots.0.iter().all(|root| day(at) < root.end_of_life()), "on day {at}");
            let signing = roots.signing_root(day(at)).unwrap();
            // Who got the oldest certificate that is still in date knows the root that signs now, and that root outlives it.
            let oldest = usize::try_from((at - 29).max(0)).unwrap();
            bundles.push(roots.to_bundle());
            assert!(bundles[oldest].contains(&signing.certificate), "on day {at}");
            assert!(signing.end_of_life() >= add_saturating(day(at), CERTIFICATE), "on day {at}");
            assert!(roots.0.len() <= 3, "on day {at}");
        }
        assert_eq!(made, 9);
    }

    #[test]
    fn certificates_are_renewed_after_two_thirds() {
        let roots = Roots::new(day(0)).unwrap();
        let due = |_| roots.sign_controller(&["a".to_owned()], day(0)).unwrap().0.renewal_time();
        let mut times: Vec<Timestamp> = (0..32).map(due).collect();
        times.sort();
        assert!(
            times.iter().all(|due| (day(20)..add_saturating(day(22), DAY / 2)).contains(due)),
            "{times:?}"
        );
        times.dedup();
        assert!(times.len() > 16, "{times:?}");
    }

    #[test]
    fn absent_controller_continues_or_starts_over() {
        let roots = Roots::new(day(0)).unwrap();
        let late = roots.renewed(day(600)).unwrap().unwrap();
        assert!(late.signing_root(day(600)).unwrap() == &roots.0[0]);
        assert!(late.signing_root(day(630)).unwrap() == late.0.last().unwrap());
        let too_late = roots.renewed(day(800)).unwrap().unwrap();
        assert_eq!(too_late.0.len(), 1);
        assert!(too_late.signing_root(day(800)).unwrap() != &roots.0[0]);
    }
}
