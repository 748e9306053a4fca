//! Encrypts and decrypts with the library `age`.

use std::io::{Read as _, Write as _};

pub(super) use age::x25519::{Identity, Recipient};

pub(super) const IS_BUILT_IN: bool = true;

/// Encrypts a file's content. Returns None if the library refuses, which it does without recipients.
pub(super) fn encrypt(recipients: &[Recipient], content: &[u8]) -> Option<Vec<u8>> {
    let recipients = recipients.iter().map(|recipient| recipient as &dyn age::Recipient);
    let encryptor = age::Encryptor::with_recipients(recipients).ok()?;
    let mut encrypted = Vec::with_capacity(content.len());
    let mut writer = encryptor.wrap_output(&mut encrypted).ok()?;
    writer.write_all(content).ok()?;
    writer.finish().ok()?;
    Some(encrypted)
}

/// Decrypts a file that is complete. Never quotes the library's texts: they are translated, and may contain secrets.
pub(super) fn decrypt(identities: &[Identity], encrypted: &[u8]) -> Result<Vec<u8>, String> {
    let broken = || "damaged, cut off or not encrypted with age".to_owned();
    let decryptor = age::Decryptor::new_buffered(encrypted).map_err(|_| broken())?;
    if decryptor.is_scrypt() {
        return Err("encrypted with a passphrase, not to recipients".to_owned());
    }
    let identities = identities.iter().map(|identity| identity as &dyn age::Identity);
    let mut reader = decryptor.decrypt(identities).map_err(|error| match error {
        age::DecryptError::NoMatchingKeys => "not encrypted to any of the identities".to_owned(),
        _ => broken(),
    })?;
    let mut content = Vec::with_capacity(encrypted.len());
    reader.read_to_end(&mut content).map_err(|_| broken())?;
    Ok(content)
}
