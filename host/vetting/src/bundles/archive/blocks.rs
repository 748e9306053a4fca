//! The blocks that a tar is made of: headers, contents, and the zeros at its end.

use std::io::{BufReader, Read};

use pivot_core::messages::safe_text::escape_line;
use tar::Header;

use super::error::{ArchiveError, NAME};
use crate::bundles::tar_writer::BLOCK;

/// The most zeros after the end: GNU tar fills up to a multiple of 10 KiB, tapes had more.
const FILLING: usize = 1 << 20;

/// A tar that is being read.
pub(super) struct TarReader<R> {
    from: BufReader<R>,
    /// Number of bytes that have been read.
    pub(super) at: u64,
}

impl<R: Read> TarReader<R> {
    pub(super) fn new(from: R) -> Self {
        Self { from: BufReader::new(from), at: 0 }
    }

    /// The next header and where it is, or nothing at the first of the zeros that end a tar.
    pub(super) fn next_header(&mut self) -> Result<Option<(u64, Header)>, ArchiveError> {
        let at = self.at;
        let mut header = Header::new_old();
        let bytes = self.read_up_to(BLOCK as u64)?;
        if at == 0
            && let Some(name) = detect_compression(&bytes)
        {
            return Err(ArchiveError::Compressed(name));
        }
        for (to, from) in header.as_mut_bytes().iter_mut().zip(&bytes) {
            *to = *from;
        }
        match bytes.len() {
            BLOCK if bytes.iter().all(|byte| *byte == 0) => Ok(None),
            BLOCK if header.as_ustar().is_none() && header.as_gnu().is_none() => Err(ArchiveError::NotTar),
            BLOCK if header.cksum().is_ok_and(|sum| sum == header_checksum(&bytes)) => Ok(Some((at, header))),
            BLOCK => Err(ArchiveError::Damaged(at)),
            _ => Err(ArchiveError::Truncated),
        }
    }

    /// Reads the bytes of an entry. Memory grows with the bytes that arrive, not with the size that the header claims.
    pub(super) fn read_data(&mut self, size: u64) -> Result<Vec<u8>, ArchiveError> {
        let padded = size.next_multiple_of(BLOCK as u64);
        let mut data = self.read_up_to(size)?;
        let filling = self.read_up_to(padded - size)?;
        data.shrink_to_fit();
        if (data.len() + filling.len()) as u64 == padded { Ok(data) } else { Err(ArchiveError::Truncated) }
    }

    /// Fails unless only zeros are left, and at least one more block of them.
    pub(super) fn expect_only_zeros(mut self) -> Result<(), ArchiveError> {
        let rest = self.read_up_to(FILLING as u64)?;
        if rest.len() == FILLING || rest.iter().any(|byte| *byte != 0) {
            return Err(ArchiveError::Trailing);
        }
        if rest.is_empty() || !rest.len().is_multiple_of(BLOCK) {
            Err(ArchiveError::Truncated)
        } else {
            Ok(())
        }
    }

    /// So many bytes, or all that are left.
    fn read_up_to(&mut self, count: u64) -> Result<Vec<u8>, ArchiveError> {
        let mut bytes = Vec::new();
        self.at += self.from.by_ref().take(count).read_to_end(&mut bytes)? as u64;
        Ok(bytes)
    }
}

/// The sum of a header's bytes, with spaces for the sum itself.
fn header_checksum(header: &[u8]) -> u32 {
    let bytes = header.iter().enumerate();
    bytes.map(|(at, byte)| if (148..156).contains(&at) { 32 } else { u32::from(*byte) }).sum()
}

/// The program that compressed something that begins so.
fn detect_compression(bytes: &[u8]) -> Option<&'static str> {
    let magic: [(&[u8], _); 3] =
        [(b"\x1f\x8b", "gzip"), (b"\x28\xb5\x2f\xfd", "zstd"), (b"\xfd7zXZ\0", "xz")];
    magic.into_iter().find(|(magic, _)| bytes.starts_with(magic)).map(|(_, name)| name)
}

/// Checks an extension header: Go writes one where times have fractions of a second.
pub(super) fn check_only_times(data: &[u8], at: u64) -> Result<(), ArchiveError> {
    let mut rest = data;
    while !rest.is_empty() {
        let (body, after) = split_record(rest).ok_or(ArchiveError::BadExtension(at))?;
        let key = body.split(|byte| *byte == b'=').next().unwrap_or_default();
        if !matches!(key, b"mtime" | b"atime" | b"ctime") {
            return Err(ArchiveError::Extension(escape_line(&String::from_utf8_lossy(key), NAME)));
        }
        rest = after;
    }
    Ok(())
}

/// Splits off the first record (`20 key=value\n`, where 20 is the length of the whole record) and returns the rest.
fn split_record(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let space = data.iter().position(|byte| *byte == b' ')?;
    let digits = data.get(..space).filter(|digits| digits.iter().all(u8::is_ascii_digit))?;
    let length: usize = str::from_utf8(digits).ok()?.parse().ok()?;
    let body = data.get(space + 1..length)?.strip_suffix(b"\n")?;
    body.contains(&b'=').then_some((body, data.get(length..)?))
}
