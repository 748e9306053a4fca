//! The operator's files as TOML, read strictly.
//!
//! serde accepts a list of values for a table, toml accepts a table for a word and a date for a table, and JSON has neither dates
//! nor `nan`. A value that would be read as something else is refused, by its position and key. Lines are not quoted: somebody
//! else may have written them.

use std::fmt;
use std::marker::PhantomData;
use std::ops::Range;

use pivot_core::messages::safe_text::to_line;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, IntoDeserializer, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};
use toml::Spanned;
use toml::de::{DeTable, DeValue, Error};

/// Deepest nesting of a configuration.
const DEPTH: usize = 100;
/// Most characters of a key, and of a fault, that are printed.
const KEY: usize = 200;
const WHY: usize = 1_000;

/// Parses a file. The error has the position and the fault.
pub(super) fn parse_strictly<T: DeserializeOwned>(text: &str) -> Result<T, String> {
    let parse =
        || DeTable::parse(text).map_err(|error| describe_fault(text, error.span(), None, error.message()));
    let table = parse()?;
    let odd = |steps: &[Step<'_>], _: Range<usize>, value: &Value<'_>| {
        reason_to_refuse(steps.len(), value.get_ref()).map(|why| (value.span(), format_path(steps), why))
    };
    if let Some((span, key, why)) = search_table(table.get_ref(), &mut Vec::new(), &mut { odd }) {
        return Err(describe_fault(text, Some(span), Some(key), why));
    }
    T::deserialize(toml::Deserializer::from(table)).map_err(|error| {
        let key = parse().ok().and_then(|table| key_of(table.get_ref(), &error));
        describe_fault(text, error.span(), key, error.message())
    })
}

fn describe_fault(text: &str, span: Option<Range<usize>>, key: Option<String>, why: &str) -> String {
    let place = span.and_then(|span| text.get(..span.start)).map(|before| {
        let line = before.matches('\n').count() + 1;
        let column = before.chars().rev().take_while(|c| *c != '\n').count() + 1;
        format!("line {line}, column {column}: ")
    });
    let key = key.map(|key| format!("{}: ", to_line(&key, KEY)));
    // It repeats what it doesn't know.
    let why = to_line(why, WHY);
    format!("{}{}{why}", place.unwrap_or_default(), key.unwrap_or_default())
}

type Value<'i> = Spanned<DeValue<'i>>;

/// One step of the path to a value.
#[derive(Clone, Copy)]
enum Step<'t> {
    Key(&'t str),
    Item(usize),
}

/// Called with a value, the steps to it, and the position of its key; ends the search by returning something.
type Look<'l, R> = dyn FnMut(&[Step<'_>], Range<usize>, &Value<'_>) -> Option<R> + 'l;

fn search_table<'t, R>(
    table: &'t DeTable<'_>,
    steps: &mut Vec<Step<'t>>,
    look: &mut Look<'_, R>,
) -> Option<R> {
    table
        .iter()
        .find_map(|(key, value)| search_value(Step::Key(key.get_ref()), key.span(), value, steps, look))
}

fn search_value<'t, R>(
    step: Step<'t>,
    key: Range<usize>,
    value: &'t Value<'_>,
    steps: &mut Vec<Step<'t>>,
    look: &mut Look<'_, R>,
) -> Option<R> {
    steps.push(step);
    let found = look(steps, key, value).or_else(|| match value.get_ref() {
        DeValue::Table(table) => search_table(table, steps, look),
        DeValue::Array(items) => items
            .iter()
            .enumerate()
            .find_map(|(n, item)| search_value(Step::Item(n), item.span(), item, steps, look)),
        _ => None,
    });
    steps.pop();
    found
}

/// `plugins.hosts.reads[0].side`.
fn format_path(steps: &[Step<'_>]) -> String {
    let mut path = String::new();
    for step in steps {
        match step {
            Step::Key(key) if path.is_empty() => path.push_str(key),
            Step::Key(key) => path.extend([".", key]),
            Step::Item(n) => path.push_str(&format!("[{n}]")),
        }
    }
    path
}

/// Returns the reason why a value can't occur in these files.
fn reason_to_refuse(depth: usize, value: &DeValue<'_>) -> Option<&'static str> {
    match value {
        _ if depth > DEPTH => Some("nested too deep"),
        DeValue::Datetime(_) => Some("a date, which nothing here can be; write it in quotes"),
        DeValue::Float(number) if number.as_str().contains('n') => Some("not a number"),
        _ => None,
    }
}

/// The key that an error is about: the innermost of several at one position.
fn key_of(table: &DeTable<'_>, error: &Error) -> Option<String> {
    let (span, mut found) = (error.span()?, None);
    let mut look = |steps: &[Step<'_>], key: Range<usize>, value: &Value<'_>| {
        if key == span || value.span() == span {
            found = Some(format_path(steps));
        }
        None::<()>
    };
    search_table(table, &mut Vec::new(), &mut look);
    found
}

/// A table and nothing else.
#[derive(Default)]
pub(super) struct Table<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Table<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a table")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map))
            }
        }
        value.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// One word out of several and nothing else.
#[derive(Default)]
pub(super) struct Word<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Word<T> {
    fn deserialize<D: Deserializer<'de>>(value: D) -> Result<Self, D::Error> {
        // Read by a visitor, because otherwise toml's errors don't say where in a list they occurred.
        struct Letters<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Letters<T> {
            type Value = T;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a word")
            }

            fn visit_str<E: serde::de::Error>(self, word: &str) -> Result<T, E> {
                T::deserialize(word.into_deserializer())
            }
        }
        value.deserialize_str(Letters(PhantomData)).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(rename_all = "lowercase")]
    enum Colour {
        Red,
    }

    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Fields {
        #[serde(default)]
        colours: Vec<Word<Colour>>,
        #[serde(default)]
        more: BTreeMap<String, Table<Fields>>,
        #[serde(default)]
        any: toml::Table,
    }

    fn why(text: &str) -> String {
        parse_strictly::<Fields>(text).map(|_| ()).unwrap_err()
    }

    #[test]
    fn valid_values_of_every_type_are_read() {
        let fields: Fields =
            parse_strictly("colours = ['red']\n[more.a.more.b]\nany = { x = 1e3, y = [{}] }").unwrap();
        assert_eq!(fields.colours[0].0, Colour::Red);
        assert_eq!(fields.more["a"].0.more["b"].0.any.len(), 2);
    }

    #[test]
    fn wrong_type_error_has_position_and_key() {
        for (text, said) in [
            ("more.a = []", "line 1, column 10: more.a: invalid type: sequence, expected a table"),
            ("more.a = [['red']]", "column 10: more.a: invalid type: sequence, expected a table"),
            ("[more]\na = { more = { b = 'x' } }", "line 2, column 20: more.a.more.b: invalid type: string"),
            ("[more.a]\ncolour = 1", "line 2, column 1: more.a.colour: unknown field `colour`"),
            ("colours = [{ red = {} }]", "line 1, column 12: colours[0]: invalid type: map, expected a word"),
            ("colours = ['red', 'blue']", "line 1, column 19: colours[1]: unknown variant `blue`"),
            ("any = 2026-01-01", "line 1, column 7: any: a date, which nothing here can be"),
            ("any.x = [1, { y = 12:00:00 }]", "column 19: any.x[1].y: a date, which nothing here can be"),
            ("more = 2026-01-01", "column 8: more: a date, which nothing here can be"),
            ("any.x = nan", "column 9: any.x: not a number"),
            ("any.x = [-inf]", "column 10: any.x[0]: not a number"),
        ] {
            let why = why(text);
            assert!(why.contains(said), "{text}: {why}");
        }
        let long = why(&format!("any.{} = nan", "k".repeat(1_000)));
        assert!(long.len() < 300, "{long}");
    }

    /// toml limits how deeply values are nested and how many parts a key has, but not the product of both.
    #[test]
    fn excessive_nesting_is_refused() {
        let key = format!("{}a", "a.".repeat(30));
        let deep = |levels: usize| {
            format!("any.{}{key} = 1{}", format!("{key} = {{ ").repeat(levels), " }".repeat(levels))
        };
        assert!(parse_strictly::<Fields>(&deep(2)).is_ok());
        let why = why(&deep(4));
        assert!(why.ends_with(": nested too deep"), "{why}");
    }
}
