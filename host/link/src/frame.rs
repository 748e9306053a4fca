//! Answers are a sequence of frames: a letter, a length, and as many bytes. Bodies of objects are sent as the place returned them.

use bytes::{Buf, BufMut, Bytes, BytesMut};

/// The largest frame: several times the largest object that an API server stores.
const LARGEST: usize = 16 << 20;
/// The largest answer that has an end: five times the lists of 20,000 objects. An agent that was taken over could send without end,
/// and the controller holds all of it.
pub(crate) const MOST: u64 = 512 << 20;
/// A letter and a length.
const HEAD: usize = 5;

/// The type of a frame's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tag {
    /// The whole answer, as JSON.
    Answer,
    /// An object's body.
    Object,
    /// An object's metadata.
    Meta,
    /// The version of a list; its last frame.
    Version,
    /// An object that was added or changed.
    Applied,
    /// The last state of an object that was deleted.
    Deleted,
    /// The reason why the answer ends here.
    Error,
}

impl Tag {
    fn letter(self) -> u8 {
        match self {
            Self::Answer => b'a',
            Self::Object => b'o',
            Self::Meta => b'm',
            Self::Version => b'v',
            Self::Applied => b'+',
            Self::Deleted => b'-',
            Self::Error => b'e',
        }
    }

    fn from_letter(letter: u8) -> Option<Self> {
        [Self::Answer, Self::Object, Self::Meta, Self::Version, Self::Applied, Self::Deleted, Self::Error]
            .into_iter()
            .find(|tag| tag.letter() == letter)
    }
}

/// Reasons to refuse bytes as frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum FrameError {
    #[error("an answer has a part of an unknown type")]
    Tag,
    #[error("an answer has a part that is too large")]
    Large,
    #[error("an answer has no end")]
    Endless,
}

/// A frame as bytes, to be sent as one piece after the other: the body of an object isn't copied.
pub(crate) fn encode_frame(tag: Tag, content: Bytes) -> [Bytes; 2] {
    let mut head = BytesMut::with_capacity(HEAD);
    head.put_u8(tag.letter());
    // Longer than that is refused where it is read.
    head.put_u32(u32::try_from(content.len()).unwrap_or(u32::MAX));
    [head.freeze(), content]
}

/// Collects bytes until they are a frame.
#[derive(Debug)]
pub(crate) struct Frames {
    bytes: BytesMut,
    /// Most further bytes.
    left: Option<u64>,
}

impl Frames {
    /// Reads the frames of an answer of limited size.
    pub(crate) fn with_limit(bytes: u64) -> Self {
        Self { bytes: BytesMut::new(), left: Some(bytes) }
    }

    /// Reads the frames of an answer without an end.
    pub(crate) fn without_limit() -> Self {
        Self { bytes: BytesMut::new(), left: None }
    }

    pub(crate) fn push(&mut self, bytes: &[u8]) -> Result<(), FrameError> {
        if let Some(left) = &mut self.left {
            *left = u64::try_from(bytes.len())
                .ok()
                .and_then(|more| left.checked_sub(more))
                .ok_or(FrameError::Endless)?;
        }
        self.bytes.extend_from_slice(bytes);
        Ok(())
    }

    /// Returns true if no bytes are left over.
    pub(crate) fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// The next whole frame, if it is there.
    pub(crate) fn next(&mut self) -> Result<Option<(Tag, Bytes)>, FrameError> {
        let Some((&letter, rest)) = self.bytes.split_first() else { return Ok(None) };
        let tag = Tag::from_letter(letter).ok_or(FrameError::Tag)?;
        let Some(length) = rest.first_chunk::<4>() else { return Ok(None) };
        let length = usize::try_from(u32::from_be_bytes(*length)).unwrap_or(usize::MAX);
        if length > LARGEST {
            return Err(FrameError::Large);
        }
        if self.bytes.len() < HEAD + length {
            self.bytes.reserve(HEAD + length - self.bytes.len());
            return Ok(None);
        }
        self.bytes.advance(HEAD);
        Ok(Some((tag, self.bytes.split_to(length).freeze())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutants;

    #[test]
    fn frames_survive_any_split() {
        let sent = [(Tag::Object, "{}"), (Tag::Meta, ""), (Tag::Version, "17"), (Tag::Error, "no")];
        let bytes: Vec<u8> = sent
            .iter()
            .flat_map(|(tag, text)| encode_frame(*tag, Bytes::from_static(text.as_bytes())))
            .flat_map(|piece| piece.to_vec())
            .collect();
        for size in 1..=bytes.len() {
            let mut frames = Frames::without_limit();
            let mut got = Vec::new();
            for piece in bytes.chunks(size) {
                frames.push(piece).unwrap();
                while let Some((tag, content)) = frames.next().unwrap() {
                    got.push((tag, String::from_utf8(content.to_vec()).unwrap()));
                }
            }
            let expected: Vec<_> = sent.iter().map(|(tag, text)| (*tag, (*text).to_owned())).collect();
            assert_eq!(got, expected, "in pieces of {size}");
            assert!(frames.is_empty());
        }
    }

    #[test]
    fn any_bytes_are_frames_or_refused() {
        let sent = [(Tag::Object, "{\"a\":1}"), (Tag::Meta, ""), (Tag::Version, "17"), (Tag::Answer, "[]")];
        let good: Vec<u8> = sent
            .into_iter()
            .flat_map(|(tag, text)| encode_frame(tag, Bytes::from_static(text.as_bytes())))
            .flat_map(|piece| piece.to_vec())
            .collect();
        let (mut whole, mut refused) = (0, 0);
        mutants::each(&[&good], 5_000, |bytes| {
            let read = |size: usize| {
                let (mut frames, mut got) = (Frames::with_limit(MOST), Vec::new());
                for piece in bytes.chunks(size) {
                    frames.push(piece).unwrap();
                    loop {
                        match frames.next() {
                            Ok(Some((tag, content))) => got.push((tag, content)),
                            Ok(None) => break,
                            Err(error) => return (got, Err(error)),
                        }
                    }
                }
                (got, Ok(frames.bytes.to_vec()))
            };
            // However they come: the same frames, which are all that came.
            let (got, rest) = read(bytes.len().max(1));
            assert_eq!((got.clone(), rest.clone()), read(1));
            match rest {
                Err(_) => refused += 1,
                Ok(rest) => {
                    whole += usize::from(rest.is_empty());
                    let again = got.into_iter().flat_map(|(tag, content)| encode_frame(tag, content));
                    let again = again.flat_map(|piece| piece.to_vec()).chain(rest);
                    assert_eq!(again.collect::<Vec<_>>(), bytes);
                }
            }
        });
        assert!(whole > 100 && refused > 500, "{whole} whole, {refused} refused");
    }

    #[test]
    fn invalid_frames_are_refused_early() {
        let mut frames = Frames::without_limit();
        frames.push(b"?").unwrap();
        assert_eq!(frames.next(), Err(FrameError::Tag));
        let mut frames = Frames::without_limit();
        frames.push(b"o\xff\xff\xff\xff").unwrap();
        assert_eq!(frames.next(), Err(FrameError::Large));
    }

    // proves: T68
    #[test]
    fn endless_answers_are_refused_unless_allowed() {
        let piece = encode_frame(Tag::Object, Bytes::from_static(b"{}")).concat();
        let takes = |mut frames: Frames| {
            let mut took = 0;
            while took < 100 && frames.push(&piece).is_ok() {
                assert!(frames.next().unwrap().is_some() && frames.is_empty());
                took += 1;
            }
            took
        };
        assert_eq!(takes(Frames::with_limit(7 * 10)), 10);
        assert_eq!(takes(Frames::with_limit(7 * 10 - 1)), 9);
        assert_eq!(takes(Frames::without_limit()), 100);
    }
}
