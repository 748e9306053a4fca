use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use pivot_core::Kind;
use serde_json::json;
use tempfile::TempDir;

use super::*;
use crate::directory::{DirectoryPlace, Examined, Manifest, manifest};
use crate::place::{Begun, Change, Closing, Opening, Place};
use crate::testing::kind;

/// A pair of keys that everybody knows.
const IDENTITY: &str = "AGE-SECRET-KEY-1GFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPYYSJZGFPQ4EGAEX";
const RECIPIENT: &str = "age1zvkyg2lqzraa2lnjvqej32nkuu0ues2s82hzrye869xeexvn73equnujwj";
const VALUE: &str = "c3VwZXItc2VjcmV0LXZhbHVl";

fn recipients() -> Recipients {
    Recipients(vec![RECIPIENT.parse().unwrap()])
}

fn identities() -> Identities {
    Identities(vec![IDENTITY.parse().unwrap()])
}

fn strangers() -> Identities {
    Identities(vec![age::x25519::Identity::generate()])
}

fn secrets() -> std::sync::Arc<Kind> {
    kind("", "v1", "Secret", "secrets", true)
}

fn secret(name: &str) -> serde_json::Value {
    json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": name, "namespace": "a"}, "data": {"x": VALUE}})
}

async fn opened(path: &Path, move_id: &str) -> DirectoryPlace {
    let place = DirectoryPlace::to_encrypt(path, recipients()).unwrap();
    place.open(&Opening { move_id: move_id.to_owned(), begun: Begun::UnderWay }).await.unwrap();
    place
}

/// A directory with two Secrets.
async fn written() -> TempDir {
    let dir = TempDir::new().unwrap();
    let place = opened(dir.path(), "move-1").await;
    for name in ["s", "t"] {
        place.create(&secrets(), &secret(name), Change::Real).await.unwrap();
    }
    place.close(&Closing::Complete { handover: false, backup: None }).await.unwrap();
    dir
}

fn decrypted(path: &Path) -> Result<DirectoryPlace, DirectoryError> {
    DirectoryPlace::to_decrypt(path, identities())
}

fn refused(path: &Path) -> String {
    decrypted(path).err().unwrap().to_string()
}

fn names(path: &Path) -> Vec<String> {
    let names = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

fn manifest_of(path: &Path) -> Manifest {
    manifest::read_manifest(&super::super::files::DirectoryHandle::open(path).unwrap()).unwrap().unwrap()
}

// proves: T85
#[tokio::test]
async fn encrypted_files_need_only_the_key() {
    let dir = written().await;
    assert_eq!(names(dir.path()), ["Secret_a_s.json.age", "Secret_a_t.json.age", "manifest.json"]);
    for name in names(dir.path()) {
        let content = String::from_utf8_lossy(&fs::read(dir.path().join(&name)).unwrap()).into_owned();
        assert!(!content.contains(VALUE) && !content.contains("super-secret-value"), "{name}");
    }
    let manifest = manifest_of(dir.path());
    assert_eq!((manifest.encryption, manifest.count), (Some(Encryption::Age), 2));
    let read = decrypted(dir.path()).unwrap().list(&secrets(), None).await.unwrap().objects;
    assert_eq!(
        read.iter().map(|object| object.value().unwrap()["data"]["x"].clone()).collect::<Vec<_>>(),
        [VALUE; 2]
    );

    let told = DirectoryPlace::to_read(dir.path()).err().unwrap();
    assert!(matches!(told, DirectoryError::Encrypted { .. }), "{told}");
    let told = DirectoryPlace::to_decrypt(dir.path(), strangers()).err().unwrap().to_string();
    assert_eq!(told, "Secret_a_s.json.age: not encrypted to any of the identities");
}

/// A move that began with files continues with the same files, encrypted for whomever.
#[tokio::test]
async fn content_id_ignores_the_encryption() {
    let (dir, again) = (written().await, TempDir::new().unwrap());
    for name in names(dir.path()).iter().filter(|name| is_age(name)) {
        let content = identities().decrypt(&fs::read(dir.path().join(name)).unwrap()).unwrap();
        fs::write(again.path().join(name), recipients().encrypt(&content).unwrap()).unwrap();
        assert_ne!(fs::read(again.path().join(name)).unwrap(), fs::read(dir.path().join(name)).unwrap());
    }
    let digest = |path: &Path| decrypted(path).unwrap().shared.lock_contents().content_id();
    assert_eq!(digest(again.path()), digest(dir.path()));
    let plain = TempDir::new().unwrap();
    for name in names(dir.path()).iter().filter(|name| is_age(name)) {
        let content = identities().decrypt(&fs::read(dir.path().join(name)).unwrap()).unwrap();
        fs::write(plain.path().join(super::super::files::plain_name(name)), content).unwrap();
    }
    let read = DirectoryPlace::to_read(plain.path()).unwrap();
    assert_eq!(read.shared.lock_contents().content_id(), digest(dir.path()));
}

fn is_age(name: &str) -> bool {
    name.ends_with(ENDING)
}

#[tokio::test]
async fn checksums_need_no_key() {
    let dir = written().await;
    let without = Examined::examine(dir.path(), None).unwrap();
    assert!(
        without.encrypted && without.objects.is_none() && without.count == 2 && without.changed.is_empty()
    );
    let with = Examined::examine(dir.path(), Some(identities())).unwrap();
    assert_eq!((with.count, with.objects.unwrap().into_values().collect::<Vec<_>>()), (2, vec![2]));
    // Others who can read a file read nothing in it.
    assert!(with.exposed.is_empty());

    // An attacker who knows the recipient replaces a file, and the manifest's checksum doesn't match any more.
    let file = dir.path().join("Secret_a_s.json.age");
    fs::write(&file, recipients().encrypt(secret("s").to_string().as_bytes()).unwrap()).unwrap();
    assert_eq!(Examined::examine(dir.path(), None).unwrap().changed, ["Secret_a_s.json.age"]);
    fs::remove_file(&file).unwrap();
    assert_eq!(Examined::examine(dir.path(), None).unwrap().missing, ["Secret_a_s.json.age"]);
    // Without a manifest nothing can be said without a key.
    fs::remove_file(dir.path().join("manifest.json")).unwrap();
    let unknown = Examined::examine(dir.path(), None).unwrap_err();
    assert!(matches!(unknown, DirectoryError::Encrypted { .. }), "{unknown}");
}

// proves: T82
#[tokio::test]
async fn plain_files_among_encrypted_are_refused() {
    let dir = written().await;
    let plain = dir.path().join("note.yaml");
    fs::write(&plain, "{apiVersion: v1, kind: Secret, metadata: {name: n, namespace: a}}").unwrap();
    assert_eq!(
        refused(dir.path()),
        "note.yaml: not encrypted, while Secret_a_s.json.age is; either all files are, or none"
    );
    assert!(Examined::examine(dir.path(), None).is_err());
    assert!(DirectoryPlace::to_read(dir.path()).is_err());
    // The files replaced by plain ones, and the manifest by one that matches, except that it promises encryption.
    for name in names(dir.path()).iter().filter(|name| is_age(name)) {
        fs::remove_file(dir.path().join(name)).unwrap();
    }
    let mut forged = manifest_of(dir.path());
    (forged.files, forged.count) = (Default::default(), 0);
    fs::write(dir.path().join("manifest.json"), serde_json::to_vec(&forged).unwrap()).unwrap();
    assert!(refused(dir.path()).starts_with("note.yaml: not encrypted, although the manifest says"));
    // A user with a key expects files that it opens.
    fs::remove_file(dir.path().join("manifest.json")).unwrap();
    assert!(refused(dir.path()).ends_with("nothing in it is encrypted, so no identity is needed"));
}

// proves: T82
#[tokio::test]
async fn damaged_files_are_refused() {
    let content = secret("s").to_string();
    let whole = recipients().encrypt(content.as_bytes()).unwrap();
    assert_eq!(identities().decrypt(&whole).unwrap(), content.as_bytes());
    for index in 0..whole.len() {
        let mut flipped = whole.clone();
        flipped[index] ^= 1;
        let told = identities().decrypt(&flipped).expect_err(&format!("byte {index}"));
        assert!(told.len() < 100, "{told}");
        identities().decrypt(&whole[..index]).expect_err(&format!("cut at {index}"));
    }
    for more in [&b"\n"[..], &whole[..], &[0; 100][..]] {
        identities().decrypt(&[&whole, more].concat()).unwrap_err();
    }
    // A file of many chunks: cut between two of them, and with two exchanged.
    let large = recipients().encrypt(&vec![b'x'; 300_000]).unwrap();
    let chunk = (64 << 10) + 16;
    assert_eq!(identities().decrypt(&large).unwrap().len(), 300_000);
    identities().decrypt(&large[..large.len() - chunk]).unwrap_err();
    let header = large.windows(5).position(|window| window == b"\n--- ").unwrap() + 49 + 16;
    identities().decrypt(&large[..header + chunk]).unwrap_err();
    let mut exchanged = large.clone();
    exchanged[header..header + 2 * chunk].rotate_left(chunk);
    identities().decrypt(&exchanged).unwrap_err();

    let dir = written().await;
    let file = dir.path().join("Secret_a_t.json.age");
    let mut content = fs::read(&file).unwrap();
    *content.last_mut().unwrap() ^= 1;
    fs::write(&file, content).unwrap();
    assert_eq!(refused(dir.path()), "Secret_a_t.json.age: damaged, cut off or not encrypted with age");
}

/// Work that a file causes before anything in it is known to be genuine.
// proves: T76
#[test]
fn long_headers_are_refused() {
    let share = "CJM36AHmTbdHSuOQL+NESqyVQE75f2e610iRdLPEN20";
    let body = "C3ZAeY64NXS4QFrksLm3EGz+uPRyI0eQsWw7LWbbYig";
    let with = |stanzas: &str| {
        format!("age-encryption.org/v1\n{stanzas}--- {body}\n{}", "x".repeat(100)).into_bytes()
    };
    let begun = Instant::now();
    let many = |stanza: &str, count: usize| with(&stanza.repeat(count));
    let told = |file: Vec<u8>| identities().decrypt(&file).unwrap_err();
    let classic = format!("-> X25519 {share}\n{body}\n");
    assert!(told(many(&classic, 100)).starts_with("not encrypted to any"), "{}", told(many(&classic, 100)));
    assert_eq!(told(many(&classic, 500_000)), "its header is larger than 16384 bytes");
    assert_eq!(told(many("-> a\n\n", 200)), "its header names more than 128 recipients");
    assert_eq!(told(many("-> a\n\n", 10_000_000)), "its header is larger than 16384 bytes");
    assert_eq!(told(vec![b'x'; 64 << 20]), "damaged, cut off or not encrypted with age");
    let armored = b"-----BEGIN AGE ENCRYPTED FILE-----\nYWdl".to_vec();
    assert_eq!(told(armored), "armored, as text; only binary files are read");
    assert_eq!(told(Vec::new()), "damaged, cut off or not encrypted with age");
    // Passphrases, with all the work that a file can cause: it is never begun.
    let scrypt = format!("-> scrypt bBjlhJVYZeE4aqUdmtRHfw 63\n{body}\n");
    assert_eq!(told(with(&scrypt)), "encrypted with a passphrase, not to recipients");
    assert_eq!(told(with(&(scrypt + &classic))), "damaged, cut off or not encrypted with age");
    assert!(begun.elapsed() < Duration::from_secs(20), "{:?}", begun.elapsed());
}

/// Without a key that opens it, an earlier run's part is written again; nothing of it is left over.
#[tokio::test]
async fn resumed_move_writes_everything_again() {
    let dir = TempDir::new().unwrap();
    let first = opened(dir.path(), "move-1").await;
    for name in ["s", "gone"] {
        first.create(&secrets(), &secret(name), Change::Real).await.unwrap();
    }
    let part = names(dir.path());
    let told = decrypted(dir.path()).err().unwrap();
    assert!(matches!(told, DirectoryError::Incomplete { .. }), "{told}");
    let second = opened(dir.path(), "move-1").await;
    assert_eq!(names(dir.path()), part, "as long as it is all there is");
    second.create(&secrets(), &secret("s"), Change::Real).await.unwrap();
    second.close(&Closing::Complete { handover: false, backup: None }).await.unwrap();
    assert_eq!(names(dir.path()), ["Secret_a_s.json.age", "manifest.json"]);
    assert_eq!(decrypted(dir.path()).unwrap().shared.lock_contents().entries.len(), 1);
    // The run may have died before it recorded the end; then the move is rolled back.
    let third = opened(dir.path(), "move-1").await;
    third.close(&Closing::Abandoned).await.unwrap();
    assert!(names(dir.path()).is_empty());
}

#[tokio::test]
async fn move_resumes_only_with_its_encryption() {
    let written = async |place: Result<DirectoryPlace, DirectoryError>, id: &str| {
        let place = place.map_err(|error| error.to_string())?;
        let opening = Opening { move_id: id.to_owned(), begun: Begun::UnderWay };
        place.open(&opening).await.map_err(|error| error.to_string())?;
        place
            .create(&secrets(), &secret("s"), Change::Real)
            .await
            .map(drop)
            .map_err(|error| error.to_string())
    };
    let (plain, encrypted) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    written(DirectoryPlace::to_write(plain.path()), "m-1").await.unwrap();
    written(DirectoryPlace::to_encrypt(encrypted.path(), recipients()), "m-1").await.unwrap();
    let told = DirectoryPlace::to_encrypt(plain.path(), recipients()).err().unwrap().to_string();
    assert!(told.ends_with("move m-1 started it unencrypted, as far as the directory says"), "{told}");
    let told = DirectoryPlace::to_write(encrypted.path()).err().unwrap().to_string();
    assert!(told.ends_with("move m-1 started it encrypted"), "{told}");
    assert!(names(encrypted.path()).iter().all(|name| name != "Secret_a_s.json"));
    // Before its first file, too; but a mark alone, left by a dead run, keeps no other move out.
    let marked = TempDir::new().unwrap();
    drop(opened(marked.path(), "m-1").await);
    let told = written(DirectoryPlace::to_write(marked.path()), "m-1").await.unwrap_err();
    assert!(told.contains("started it encrypted"), "{told}");
    written(DirectoryPlace::to_write(marked.path()), "m-2").await.unwrap();
}

/// A user who can write to the directory must not get a checksum, which `verify` trusts, for their own file.
#[tokio::test]
async fn replaced_file_gets_no_checksum() {
    for encrypts in [true, false] {
        let dir = TempDir::new().unwrap();
        let new = || match encrypts {
            true => DirectoryPlace::to_encrypt(dir.path(), recipients()),
            false => DirectoryPlace::to_write(dir.path()),
        };
        let opening = Opening { move_id: "move-1".to_owned(), begun: Begun::UnderWay };
        let place = new().unwrap();
        place.open(&opening).await.unwrap();
        place.create(&secrets(), &secret("s"), Change::Real).await.unwrap();
        let name = if encrypts { "Secret_a_s.json.age" } else { "Secret_a_s.json" };
        let theirs = if encrypts { recipients().encrypt(b"{}").unwrap() } else { b"{}".to_vec() };
        fs::write(dir.path().join(name), theirs).unwrap();
        let told =
            place.close(&Closing::Complete { handover: false, backup: None }).await.unwrap_err().to_string();
        assert!(told.ends_with(&format!("{name}: replaced by someone else since it was written")), "{told}");
        assert!(!names(dir.path()).contains(&"manifest.json".to_owned()));
    }
}

#[tokio::test]
async fn foreign_files_stop_an_encrypting_move() {
    for name in ["note.yaml", "note.yaml.age", "below/Secret_a_s.json.age"] {
        let dir = TempDir::new().unwrap();
        drop(opened(dir.path(), "move-1").await);
        let file = dir.path().join(name);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(&file, "mine").unwrap();
        let place = DirectoryPlace::to_encrypt(dir.path(), recipients()).unwrap();
        let opening = Opening { move_id: "move-1".to_owned(), begun: Begun::UnderWay };
        let told = place.open(&opening).await.unwrap_err().to_string();
        assert!(told.contains(&format!("is not empty (it has {name})")), "{told}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "mine");
    }
}

fn key_file(dir: &TempDir, text: impl AsRef<[u8]>) -> PathBuf {
    let path = dir.path().join("keys.txt");
    fs::write(&path, text).unwrap();
    path
}

#[test]
fn key_files_have_keys_and_comments() {
    let dir = TempDir::new().unwrap();
    let text = format!(
        "# created: today\r\n\r\n  {RECIPIENT}  \n{}\n",
        age::x25519::Identity::generate().to_public()
    );
    let both = Recipients::read(&key_file(&dir, text)).unwrap();
    assert_eq!(both.0.len(), 2);
    let read = Identities::read(&key_file(&dir, format!("# public key: {RECIPIENT}\n{IDENTITY}\n"))).unwrap();
    assert_eq!(read.decrypt(&both.encrypt(b"x").unwrap()).unwrap(), b"x");
    // A key of many recipients is as good as any.
    let most = Recipients(vec![both.0[0].clone(); MAX_RECIPIENTS]);
    assert_eq!(read.decrypt(&most.encrypt(b"x").unwrap()).unwrap(), b"x");
}

// proves: I8, T129
#[test]
fn key_files_are_never_quoted() {
    let dir = TempDir::new().unwrap();
    let broken = IDENTITY.replace("GFPYY", "GFPYQ");
    let told = |result: Result<(), DirectoryError>| result.unwrap_err().to_string();
    let identities = |text: &[u8]| told(Identities::read(&key_file(&dir, text)).map(drop));
    let recipients = |text: &[u8]| told(Recipients::read(&key_file(&dir, text)).map(drop));
    let all = [
        (identities(broken.as_bytes()), "line 1 is not an X25519 identity"),
        (identities(format!("# a\n{RECIPIENT}").as_bytes()), "line 2 is a public key; an identity"),
        (identities(b"AGE-PLUGIN-YUBIKEY-1GFPYYSJ"), "keys of other kinds are not supported"),
        (
            identities(b"-----BEGIN OPENSSH PRIVATE KEY-----\nhunter2"),
            "keys of other kinds are not supported",
        ),
        (identities(b"age-encryption.org/v1\n\xff"), "encrypted itself; decrypt it first"),
        (identities(b"-----BEGIN AGE ENCRYPTED FILE-----\nx"), "encrypted itself; decrypt it first"),
        (identities(b"# nothing\n"), "no identities in it"),
        (identities(b"\xff\xfe"), "not UTF-8"),
        (identities(&vec![b'#'; 100_000]), "larger than 65536 bytes"),
        (identities(format!("{IDENTITY}\n").repeat(17).as_bytes()), "more than 16 identities"),
        (recipients(IDENTITY.as_bytes()), "line 1 is a secret key, and recipients are public keys"),
        (recipients(b"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5 hunter2"), "keys of other kinds are not supported"),
        (recipients(b""), "no recipients in it"),
        (recipients(format!("{RECIPIENT}\n").repeat(65).as_bytes()), "more than 64 recipients"),
        (told(Identities::read(dir.path()).map(drop)), "a directory, not a regular file"),
        (told(Identities::read(Path::new("/dev/zero")).map(drop)), "a device, not a regular file"),
        (told(Recipients::read(&dir.path().join("gone")).map(drop)), "gone: "),
    ];
    for (told, expected) in all {
        assert!(told.contains(expected), "{expected}: {told}");
        assert!(!["GFPY", "hunter2", "zvkyg"].iter().any(|part| told.contains(part)), "{told}");
    }
}
