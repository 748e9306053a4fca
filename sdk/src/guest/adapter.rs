//! Adapts a plugin to the contract's interfaces.

use std::marker::PhantomData;

use super::bindings::{
    adapt::exports::pivot::provider::adapt, check::exports::pivot::provider::check,
    describe::exports::pivot::provider::describe, describe::pivot::provider::types,
    hold::exports::pivot::provider::hold, relate::exports::pivot::provider::relate,
    restore::exports::pivot::provider::restore, settle::exports::pivot::provider::settle,
};
use super::{convert, panic};
use crate::{Move, Object, Patch, Plugin, Point, Result, Settlement};

/// A plugin as the component's exports. [`export!`](crate::export!) names it.
#[derive(Debug)]
pub struct Adapter<P>(PhantomData<P>);

/// Runs before each call: an instance serves one call, so also once per instance.
fn plugin<P: Plugin>() -> Result<P, types::Error> {
    panic::speak();
    P::configure().map_err(convert::error)
}

fn object(text: &str) -> Result<Object, types::Error> {
    Object::parse(text).map_err(convert::error)
}

fn patch(answer: Result<Patch>) -> Result<Option<String>, types::Error> {
    let patch = answer.map_err(convert::error)?;
    Ok(patch.to_value().map(|value| value.to_string()))
}

impl<P: Plugin> describe::Guest for Adapter<P> {
    fn describe() -> describe::Description {
        panic::speak();
        convert::about(P::about())
    }
}

impl<P: Plugin> relate::Guest for Adapter<P> {
    fn relate(text: String) -> Result<Vec<relate::Relation>, types::Error> {
        let relations = plugin::<P>()?.relate(&object(&text)?).map_err(convert::error)?;
        Ok(relations.into_iter().map(convert::relation).collect())
    }
}

impl<P: Plugin> check::Guest for Adapter<P> {
    fn check(point: String, context: types::MoveContext) -> Result<Vec<types::Finding>, types::Error> {
        let types::MoveContext { move_id: id, namespaces, objects } = context;
        let namespaces = namespaces.into_iter().map(convert::namespace).collect();
        let objects = objects.into_iter().map(convert::key).collect();
        let moving = Move { id, namespaces, objects };
        let findings = plugin::<P>()?.check(Point::from_word(&point), &moving).map_err(convert::error)?;
        Ok(findings.into_iter().map(convert::finding).collect())
    }
}

impl<P: Plugin> hold::Guest for Adapter<P> {
    fn hold(text: String) -> Result<Option<String>, types::Error> {
        patch(plugin::<P>()?.hold(&object(&text)?))
    }
}

impl<P: Plugin> adapt::Guest for Adapter<P> {
    fn adapt(text: String) -> Result<Option<String>, types::Error> {
        patch(plugin::<P>()?.adapt(&object(&text)?))
    }
}

impl<P: Plugin> restore::Guest for Adapter<P> {
    fn restore(source: String, created: String) -> Result<Option<String>, types::Error> {
        patch(plugin::<P>()?.restore(&object(&source)?, &object(&created)?))
    }
}

impl<P: Plugin> settle::Guest for Adapter<P> {
    fn settle(text: String) -> Result<settle::Settlement, types::Error> {
        let settlement = plugin::<P>()?.settle(&object(&text)?).map_err(convert::error)?;
        Ok(match settlement {
            Settlement::Done => settle::Settlement::Done,
            Settlement::Patch(patch) => match patch.to_value() {
                Some(value) => settle::Settlement::Patch(value.to_string()),
                None => settle::Settlement::Done,
            },
            Settlement::Wait(finding) => settle::Settlement::Wait(convert::finding(finding)),
            Settlement::Stop(finding) => settle::Settlement::Stop(convert::finding(finding)),
        })
    }
}
