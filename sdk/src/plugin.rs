//! The one trait a plugin implements.

use crate::{About, Finding, Hook, Move, Object, Patch, Point, Relation, Result, Settlement, config};

/// A plugin: what it is, and the hooks it has.
///
/// Write those you need and name them in [`export!`](crate::export!); the host calls no others. A hook may be called
/// any number of times, for any objects, each time in a fresh instance: nothing is kept between calls but
/// what a hook writes on an object with [`Patch::remember`]. The same input must give the same output.
///
/// An `Err` stops the move (`check` may be set to warn instead), and names the plugin, the hook and the object.
pub trait Plugin: Default {
    /// What it is and what it asks for. The host calls this when it loads the plugin, and grants nothing that is
    /// not said here.
    fn about() -> About;

    /// The plugin with its configuration. Write `pivot_sdk::config::get()` here where it has one and `Self`
    /// is `Deserialize`; otherwise an operator who configures it is told that there is nothing to configure.
    ///
    /// # Errors
    /// Where the configuration is not what it should be.
    fn configure() -> Result<Self> {
        config::nothing()?;
        Ok(Self::default())
    }

    /// How the object belongs together with others. Pure: asks the host nothing.
    ///
    /// # Errors
    /// Stop the move before anything is changed.
    fn relate(&self, object: &Object) -> Result<Vec<Relation>> {
        let _ = object;
        Ok(Vec::new())
    }

    /// Whether the move may go on. May read objects and probe endpoints.
    ///
    /// # Errors
    /// Count as a finding that stops, unless the operator lets them warn.
    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        let _ = (point, moving);
        Ok(Vec::new())
    }

    /// The provider's own pause of a source object: labels and annotations. The host takes it back in the
    /// source where the move is given up, and in the target when it is through. Pure.
    ///
    /// # Errors
    /// Stop the move; everything is undone.
    fn hold(&self, object: &Object) -> Result<Patch> {
        let _ = object;
        Ok(Patch::none())
    }

    /// A change to an object about to be created in the target: not its identity, owners, status or a Cluster's
    /// pause. Pure.
    ///
    /// # Errors
    /// Stop the move. Asked before anything is changed, too.
    fn adapt(&self, object: &Object) -> Result<Patch> {
        let _ = object;
        Ok(Patch::none())
    }

    /// The status of an object just created: a patch of `created`, below `/status`. Pure.
    ///
    /// # Errors
    /// Stop the move; the source is still the truth.
    fn restore(&self, source: &Object, created: &Object) -> Result<Patch> {
        let _ = (source, created);
        Ok(Patch::none())
    }

    /// What is still to be done before an object is released, when everything has moved: labels and annotations.
    /// Asked until it says `Done`, for one object first and then for several at once: see [`Patch::settle_group`]. May read
    /// and probe. The source is gone by then.
    ///
    /// # Errors
    /// Leave this object as it is; the others go on, one at a time.
    fn settle(&self, object: &Object) -> Result<Settlement> {
        let _ = object;
        Ok(Settlement::Done)
    }

    /// The annotation under which the plugin remembers something on an object: see [`Patch::remember`].
    fn memory(key: &str) -> String {
        format!("{}/{key}", pivot_bounds::names::memory_prefix(&Self::about().name))
    }
}

/// The hooks a plugin exports. Written by [`export!`](crate::export!).
pub trait Exported: Plugin {
    /// They.
    const HOOKS: &'static [Hook];
}
