//! Reasons to refuse a document.

use crate::json::JsonError;

/// The most bytes of a document.
pub const SIZE: usize = 1 << 20;

/// Reasons to refuse a document. The texts quote names, types and digests, never contents.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DocumentError {
    /// Too large.
    #[error("it has {0} bytes; at most {SIZE} are read")]
    Size(usize),
    /// Not text.
    #[error("it is not UTF-8")]
    NotText,
    /// Not the JSON it should be.
    #[error(transparent)]
    Json(#[from] JsonError),
    /// A version that is unknown here.
    #[error("`{0}` is not {1}")]
    Version(&'static str, &'static str),
    /// A document or blob of another type.
    #[error("`{0}` is `{1}`, not `{2}`")]
    MediaType(String, String, &'static str),
    /// An artifact of another type.
    #[error("its artifact type is `{0}`; it is not a bundle of plugins")]
    ArtifactType(String),
    /// An index in the index.
    #[error("`{0}` is another index; only manifests are read")]
    NestedIndex(String),
    /// No manifest of a bundle.
    #[error("it lists no bundle of plugins")]
    NoBundle,
    /// Several of them.
    #[error("it lists {0} bundles of plugins; exactly one is read")]
    Bundles(usize),
    /// A digest by another algorithm.
    #[error("`{0}` is not a SHA-256, the only digest that is read")]
    Algorithm(String),
    /// A digest that is none.
    #[error("`{0}` is not `sha256:` and 64 hexadecimal digits in lower case")]
    Digest(String),
    /// A blob of another size.
    #[error("{what} has {size} bytes, and is listed with {listed}")]
    WrongSize {
        /// The blob.
        what: String,
        /// Size in bytes.
        size: u64,
        /// Listed size in bytes.
        listed: u64,
    },
    /// One digest with two sizes.
    #[error("{0} is listed with two sizes")]
    TwoSizes(String),
    /// A blob with bytes that hash to something else.
    #[error("the bytes given for {0} have another digest")]
    WrongBlob(String),
    /// A blob that isn't there.
    #[error("{0} is listed and not there")]
    Missing(String),
    /// A blob that nothing refers to.
    #[error("{0} is there and not listed")]
    Stray(String),
    /// A configuration, where a bundle has none.
    #[error("its config is not the empty one")]
    Config,
    /// A file to be fetched from elsewhere.
    #[error("`{0}` has `urls`; a bundle's files are in the bundle")]
    Urls(String),
    /// A file inside the manifest.
    #[error("`{0}` has `data`; a bundle's files are blobs")]
    Data(String),
    /// A layer that is no file.
    #[error("`{0}` has no title, which is its file's name")]
    Untitled(String),
    /// A file that is listed twice.
    #[error("it has two layers with the title {0}")]
    TitleTwice(String),
}

impl DocumentError {
    /// A code for programs.
    pub fn code(&self) -> &'static str {
        match self {
            Self::Size(_) => "document-too-large",
            Self::NotText => "not-text",
            Self::Json(why) => why.code(),
            Self::Version(..) => "wrong-version",
            Self::MediaType(..) => "wrong-media-type",
            Self::ArtifactType(_) => "wrong-artifact-type",
            Self::NestedIndex(_) => "nested-index",
            Self::NoBundle => "no-bundle",
            Self::Bundles(_) => "two-bundles",
            Self::Algorithm(_) => "other-digest-algorithm",
            Self::Digest(_) => "not-a-digest",
            Self::WrongSize { .. } => "wrong-size",
            Self::TwoSizes(_) => "two-sizes",
            Self::WrongBlob(_) => "wrong-blob",
            Self::Missing(_) => "missing-blob",
            Self::Stray(_) => "stray-blob",
            Self::Config => "config-not-empty",
            Self::Urls(_) => "layer-with-urls",
            Self::Data(_) => "layer-with-data",
            Self::Untitled(_) => "layer-without-title",
            Self::TitleTwice(_) => "title-twice",
        }
    }
}
