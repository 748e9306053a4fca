//! Adapts a plugin to the contract's interfaces.

use std::marker::PhantomData;

use super::bindings::{
    adapt::exports::pivot::provider::adapt, check::exports::pivot::provider::check,
    configure::exports::pivot::provider::configure, describe::exports::pivot::provider::describe,
    describe::pivot::provider::types, hold::exports::pivot::provider::hold,
    relate::exports::pivot::provider::relate, restore::exports::pivot::provider::restore,
    settle::exports::pivot::provider::settle,
};
use super::{convert, imports, panic};
use crate::{Move, Object, Patch, Plugin, Point, Restoration, Result, Settlement};

/// A plugin as the component's exports. [`export!`](crate::export!) names it.
#[derive(Debug)]
pub struct Adapter<P>(PhantomData<P>);

/// Runs before each call: an instance serves one call, so also once per instance.
fn configure_plugin<P: Plugin>() -> Result<P, types::Error> {
    panic::log_panics();
    P::configure().map_err(convert::error_to_wit)
}

fn parse_object(text: &str) -> Result<Object, types::Error> {
    Object::parse(text).map_err(convert::error_to_wit)
}

fn patch_text(answer: Result<Patch>) -> Result<Option<String>, types::Error> {
    let patch = answer.map_err(convert::error_to_wit)?;
    Ok(patch.to_value().map(|value| value.to_string()))
}

impl<P: Plugin> describe::Guest for Adapter<P> {
    fn plugin() -> describe::Description {
        panic::log_panics();
        convert::description_to_wit(P::about())
    }
}

impl<P: Plugin> configure::Guest for Adapter<P> {
    fn check() -> Result<(), types::Error> {
        configure_plugin::<P>().map(drop)
    }
}

impl<P: Plugin> relate::Guest for Adapter<P> {
    fn relations(text: String) -> Result<Vec<relate::Relation>, types::Error> {
        let relations =
            configure_plugin::<P>()?.relate(&parse_object(&text)?).map_err(convert::error_to_wit)?;
        Ok(relations.into_iter().map(convert::relation_to_wit).collect())
    }
}

impl<P: Plugin> check::Guest for Adapter<P> {
    fn findings(point: String) -> Result<Vec<check::Finding>, types::Error> {
        let (id, namespaces, objects) =
            (imports::move_id(), imports::moving_namespaces(), imports::moving_objects());
        let moving = Move { id, namespaces, objects };
        let findings = configure_plugin::<P>()?
            .check(Point::from_word(&point), &moving)
            .map_err(convert::error_to_wit)?;
        Ok(findings.into_iter().map(convert::finding_to_wit).collect())
    }
}

impl<P: Plugin> hold::Guest for Adapter<P> {
    fn patch(text: String) -> Result<Option<String>, types::Error> {
        patch_text(configure_plugin::<P>()?.hold(&parse_object(&text)?))
    }
}

impl<P: Plugin> adapt::Guest for Adapter<P> {
    fn patch(text: String) -> Result<Option<String>, types::Error> {
        patch_text(configure_plugin::<P>()?.adapt(&parse_object(&text)?))
    }
}

impl<P: Plugin> restore::Guest for Adapter<P> {
    fn status(source: String, created: String) -> Result<restore::Restoration, types::Error> {
        let restoration = configure_plugin::<P>()?.restore(&parse_object(&source)?, &parse_object(&created)?);
        let Restoration { copy, patch } = restoration.map_err(convert::error_to_wit)?;
        Ok(restore::Restoration { copy, patch: patch.map(|patch| patch.to_string()), extra: Vec::new() })
    }
}

impl<P: Plugin> settle::Guest for Adapter<P> {
    fn next(text: String) -> Result<settle::Settlement, types::Error> {
        let settlement =
            configure_plugin::<P>()?.settle(&parse_object(&text)?).map_err(convert::error_to_wit)?;
        Ok(match settlement {
            Settlement::Done => settle::Settlement::Done,
            Settlement::Patch(patch) => match patch.to_value() {
                Some(value) => settle::Settlement::Patch(value.to_string()),
                None => settle::Settlement::Done,
            },
            Settlement::Wait(problem) => settle::Settlement::Wait(convert::problem_to_wit(problem)),
            Settlement::Stop(problem) => settle::Settlement::Stop(convert::problem_to_wit(problem)),
        })
    }
}
