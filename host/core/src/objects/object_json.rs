//! Objects in transit between processes: the kind, and the body as the bytes that its place returned.
//!
//! Not a parsed tree: the text is passed on unchanged, including big numbers and the order of fields.

use std::sync::Arc;

use bytes::Bytes;
use serde::de::Error as _;
use serde::ser::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::value::RawValue;

use crate::objects::kind::Kind;
use crate::objects::object::Object;

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Wire<'a> {
            kind: &'a Kind,
            body: &'a RawValue,
        }
        // Without any part of the body: it may be a Secret's.
        let unreadable = |_| S::Error::custom("an object's body is not JSON");
        let body = serde_json::from_slice(self.raw()).map_err(unreadable)?;
        Wire { kind: &self.kind, body }.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        struct Wire {
            kind: Kind,
            body: Box<RawValue>,
        }
        let Wire { kind, body } = Wire::deserialize(deserializer)?;
        let raw = Bytes::from(String::from(Box::<str>::from(body)));
        Self::parse(Arc::new(kind), raw).map_err(D::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::kind;

    #[test]
    fn an_object_arrives_as_the_same_bytes() {
        let text = r#"{"metadata":{"name":"a","uid":"u"},"spec":{"z":9007199254740993,"a":1.10}}"#;
        let object = Object::parse(kind("Widget"), Bytes::from(text)).unwrap();
        let sent = serde_json::to_string(&object).unwrap();
        let arrived: Object = serde_json::from_str(&sent).unwrap();
        assert_eq!((arrived.raw(), arrived.key()), (object.raw(), object.key()));
        assert_eq!(arrived.kind, object.kind);
    }
}
