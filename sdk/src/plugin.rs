//! The one trait a plugin implements.

use crate::{
    About, Finding, Hook, Move, Object, Patch, Point, Relation, Restoration, Result, Settlement, config,
};

/// A plugin: its description, and its hooks.
///
/// Implement those you need and name them in [`export!`](crate::export!); the host calls no others. A hook may be called any
/// number of times, for any objects, each time in a fresh instance: no state is kept between calls except what a hook stores on
/// an object with [`Patch::store_value`]. The same input must give the same output.
///
/// An `Err` stops the move (`check` may be set to warn instead), and names the plugin, the hook and the object.
pub trait Plugin: Default {
    /// Describes the plugin and what it asks for. The host calls this when it loads the plugin, and grants only what is declared
    /// here.
    fn about() -> About;

    /// Creates the plugin from its configuration. The host calls this when it loads the plugin, so an invalid configuration is
    /// refused before anything moves, and again before each hook. Call `pivot_sdk::config::get()` here if it has one and `Self`
    /// is `Deserialize`; otherwise an operator who configures it gets an error that there is nothing to configure.
    ///
    /// # Errors
    /// If the configuration is invalid.
    fn configure() -> Result<Self> {
        config::ensure_empty()?;
        Ok(Self::default())
    }

    /// Returns the object's relations to others. Pure: asks the host nothing.
    ///
    /// # Errors
    /// Stop the move before anything is changed.
    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        let _ = object;
        Ok(Vec::new())
    }

    /// Returns findings that decide whether the move may continue. May read objects and probe endpoints.
    ///
    /// # Errors
    /// Count as a finding that stops, unless the operator turns them into warnings.
    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        let _ = (point, moving);
        Ok(Vec::new())
    }

    /// Returns the provider-specific pause of a source object: labels and annotations. The host undoes it in the source if the
    /// move is rolled back, and in the target once `settle` returned `Done`. Pure.
    ///
    /// # Errors
    /// Stop the move; everything is undone.
    fn hold(&self, object: &Object) -> Result<Patch> {
        let _ = object;
        Ok(Patch::empty())
    }

    /// Returns a change to an object about to be created in the target: not its identity, owners, status or a Cluster's pause.
    /// Pure.
    ///
    /// # Errors
    /// Stop the move. Also called before anything is changed.
    fn adapt(&self, object: &Object) -> Result<Patch> {
        let _ = object;
        Ok(Patch::empty())
    }

    /// Returns the status of an object just created: fields that the host copies from the source's status, or a patch of
    /// `created` below `/status` (`.into()`). Pure.
    ///
    /// # Errors
    /// Stop the move; the source is still authoritative.
    fn restore(&self, source: &Object, created: &Object) -> Result<Restoration> {
        let _ = (source, created);
        Ok(Restoration::default())
    }

    /// Returns the next step before an object is released, when everything has moved: labels and annotations. Called until it
    /// returns `Done`, for one object first and then for several at once: see [`Patch::settle_group`]. May read and probe. The
    /// source is gone by then, or can't be reached: a child that finishes a committed move alone settles while the source still
    /// has its objects, held.
    ///
    /// # Errors
    /// Leave this object as it is; the others continue, one at a time.
    fn settle(&self, object: &Object) -> Result<Settlement> {
        let _ = object;
        Ok(Settlement::Done)
    }

    /// Returns the annotation under which the plugin stores a value on an object: see [`Patch::store_value`].
    fn storage_annotation(key: &str) -> String {
        format!("{}/{key}", pivot_bounds::names::memory_prefix(&Self::about().name))
    }
}

/// The hooks a plugin exports. Implemented by [`export!`](crate::export!).
pub trait Exported: Plugin {
    /// The hooks.
    const HOOKS: &'static [Hook];
    /// JSON Schema of the configuration, if the plugin declares one.
    const SCHEMA: Option<&'static [u8]> = None;
}
