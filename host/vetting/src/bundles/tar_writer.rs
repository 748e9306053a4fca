//! The tar as it is written: ustar, without anything that depends on the machine or the time.

use std::io::{self, Write};

use tar::{EntryType, Header};

/// The size of everything in a tar.
pub(crate) const BLOCK: usize = 512;

/// A tar that is being written.
pub(crate) struct TarWriter<W> {
    to: W,
}

impl<W: Write> TarWriter<W> {
    pub(crate) fn new(to: W) -> Self {
        Self { to }
    }

    /// Writes a directory, whose name ends with a slash.
    pub(crate) fn write_directory(&mut self, name: &str) -> io::Result<()> {
        self.write_header(name, EntryType::Directory, 0o755, 0)
    }

    /// Writes a file.
    pub(crate) fn write_file(&mut self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.write_header(name, EntryType::Regular, 0o644, bytes.len())?;
        self.to.write_all(bytes)?;
        let rest = bytes.len().next_multiple_of(BLOCK) - bytes.len();
        self.write_zeros(rest)
    }

    /// Writes the end.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.write_zeros(2 * BLOCK)?;
        self.to.flush()
    }

    fn write_header(&mut self, name: &str, kind: EntryType, mode: u32, size: usize) -> io::Result<()> {
        let mut header = Header::new_ustar();
        header.set_path(name)?;
        header.set_entry_type(kind);
        header.set_mode(mode);
        header.set_uid(0);
        header.set_gid(0);
        header.set_mtime(0);
        header.set_size(size as u64);
        header.set_cksum();
        self.to.write_all(header.as_bytes())
    }

    fn write_zeros(&mut self, count: usize) -> io::Result<()> {
        io::copy(&mut io::Read::take(io::repeat(0), count as u64), &mut self.to).map(drop)
    }
}
