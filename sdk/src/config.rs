//! The plugin's own section of `plugins.toml`.

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{Error, Result, host, object};

/// Returns the configuration as a type of yours. Give it `#[serde(default, deny_unknown_fields)]`: misspelt fields are then
/// reported to the operator, who only writes what differs from the defaults.
///
/// ```no_run
/// #[derive(Default, serde::Deserialize)]
/// #[serde(default, deny_unknown_fields, rename_all = "kebab-case")]
/// struct Config { ironic_port: u16 }
/// let config: Config = pivot_sdk::config::get()?;
/// # Ok::<_, pivot_sdk::Error>(())
/// ```
///
/// # Errors
/// If the configuration doesn't match the type. The message names the field.
pub fn get<T: DeserializeOwned>() -> Result<T> {
    object::deserialize_value(&get_json()?).map_err(|(field, error)| {
        let place = if field.is_empty() { String::new() } else { format!("{field}: ") };
        Error::invalid(format!("configuration: {place}{error}"))
    })
}

/// Returns the configuration as JSON: an object, empty if the operator wrote none.
///
/// # Errors
/// If the host did not return JSON.
pub fn get_json() -> Result<Value> {
    Ok(serde_json::from_str(&host::read_config())?)
}

/// Fails if an operator configures a plugin that has nothing to configure.
pub(crate) fn ensure_empty() -> Result<()> {
    match get_json()? {
        Value::Object(fields) if fields.is_empty() => Ok(()),
        _ => Err(Error::invalid("configuration: this plugin has nothing to configure")),
    }
}
