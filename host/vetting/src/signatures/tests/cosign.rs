//! A bundle that cosign 3.1.3 signed with a P-256 key, byte for byte. `cargo xtask interop` creates it again.

use crate::signatures::envelope::Envelope;
use crate::signatures::key::PublicKey;
use crate::signatures::statement::{Claim, Statement};

#[test]
fn cosigns_bundle_is_verified() {
    let key = PublicKey::from_pem(include_str!("../../../samples/cosign-3.1.3.pub")).unwrap();
    let bundle = include_str!("../../../samples/cosign-3.1.3.json");
    let envelope = Envelope::parse(bundle).unwrap();
    let verified = envelope.verified_by([&key]).unwrap();
    let statement = Statement::parse(verified.payload()).unwrap();
    assert_eq!(statement.predicate().claim, Claim::Vetted);

    let signature = bundle.find("\"sig\":\"").unwrap() + 20;
    let mut other = bundle.as_bytes().to_vec();
    other[signature] = if other[signature] == b'A' { b'B' } else { b'A' };
    let other = Envelope::parse(&String::from_utf8(other).unwrap()).unwrap();
    assert!(other.verified_by([&key]).is_none());
}
