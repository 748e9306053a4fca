//! Whether both sides are ready for a move: providers run, no rollout is in progress, and what moves is healthy.
//!
//! The host checks what must always hold (provisioned, not paused, not being deleted) and, at the end, waits until what was true
//! in the source is true again in the target. This plugin knows Cluster API's providers: which Deployments run them, how a
//! rollout shows in each contract, which conditions indicate a problem. It checks the source before the pause, when waiting costs
//! nothing, and the target's providers too, because a controller that isn't running there would otherwise show only when the
//! source is already paused. And it checks the target after the resume, before anything is deleted.
//!
//! Problems that pass with time are waits; others are stops. A paused Cluster is not checked: no controller updates its status.

mod addons;
mod definitions;
mod groups;
mod health;
mod packages;
mod providers;
mod report;
mod rollouts;
mod scene;
mod settings;
mod status;
#[cfg(test)]
mod tests;

use pivot_sdk::Kind;
use pivot_sdk::prelude::*;

pub use groups::GROUPS;
pub use settings::{Area, Extra, Readiness};

use report::Report;
use scene::Scene;

impl Plugin for Readiness {
    fn about() -> About {
        let mut about = pivot_sdk::about!();
        for group in GROUPS {
            about = about.sees(group);
        }
        for side in Side::BOTH {
            for group in GROUPS {
                about = about.reads(side, group);
            }
            about = about
                .reads_in(side, providers::DEPLOYMENT, "*")
                .reads_in(side, definitions::DEFINITION, "*")
                .reads_in(side, packages::PACKAGE, "*");
        }
        about
    }

    fn configure() -> Result<Self> {
        let this: Self = config::get()?;
        this.validate()?;
        Ok(this)
    }

    fn check(&self, point: Point, moving: &Move) -> Result<Vec<Finding>> {
        let side = match point {
            Point::BeforePause => Side::Source,
            Point::AfterResume => Side::Target,
            _ => return Ok(Vec::new()),
        };
        let mut report = Report::new(self, side);
        if self.is_checked(Area::Providers) {
            providers::check_providers(point, &self.deployments, &mut report)?;
        }
        if self.is_checked(Area::Definitions) && point == Point::BeforePause {
            definitions::check_definitions(moving, &mut report)?;
        }
        if self.is_checked(Area::Packages) {
            packages::check_packages(side, &self.package_namespaces, &mut report)?;
        }
        let scene = Scene::read(side, moving, |kind| self.judges(kind))?;
        for object in scene.reconciled_objects() {
            health::check_conditions(object, point, &mut report);
            rollouts::check_rollout(object, point, &mut report);
            addons::check_addon(object, &mut report);
            self.check_extra(object, &mut report);
        }
        if point == Point::BeforePause {
            report.side = Side::Target;
            self.check_existing_target(moving, &mut report)?;
        }
        Ok(report.into_findings())
    }
}

impl Readiness {
    /// Checks packages of the target, and objects that the move finds there. Found after the resume, their problems would
    /// come too late.
    fn check_existing_target(&self, moving: &Move, report: &mut Report<'_>) -> Result<()> {
        if self.is_checked(Area::Packages) {
            packages::check_packages(report.side, &self.package_namespaces, report)?;
        }
        let judges = |kind: &Kind| {
            self.is_checked(Area::Addons) && addons::is_addon(kind) || self.wants_conditions(kind)
        };
        let scene = match Scene::read(report.side, moving, judges) {
            Err(error) if error.is_denied() || error.code == "forbidden" => {
                let message = format!("objects of the target are not checked: {}", error.message);
                let remedy = "grant the permission to list them, or skip the area in the configuration";
                report.add_finding(Area::Extra, Finding::warn("not-readable", message).with_remedy(remedy));
                return Ok(());
            }
            scene => scene?,
        };
        for object in scene.reconciled_objects() {
            addons::check_addon(object, report);
            self.check_extra(object, report);
        }
        Ok(())
    }

    /// Returns true if objects of this kind are checked.
    fn judges(&self, kind: &Kind) -> bool {
        scene::CHECKED_KINDS.contains(kind) || status::is_control_plane(kind) || self.wants_conditions(kind)
    }

    /// Returns true if the operator wants additional conditions of this kind.
    fn wants_conditions(&self, kind: &Kind) -> bool {
        self.extra.iter().any(|extra| extra.kind.matches(kind))
    }

    /// Checks the operator's additional conditions.
    fn check_extra(&self, object: &Object, report: &mut Report<'_>) {
        for extra in self.extra.iter().filter(|extra| extra.kind.matches(&object.kind())) {
            let wanted: Vec<&str> = extra.conditions.iter().map(String::as_str).collect();
            let open = status::unmet_conditions(object, &wanted, true);
            if !open.is_empty() {
                let message = format!("conditions are not true: {}", open.join(", "));
                let finding = Finding::new(extra.severity.into(), "condition-not-true", message);
                let finding = status::with_describe_command(
                    finding.on_object(object).with_remedy(status::SEE_CONDITIONS),
                    report.side,
                    object,
                );
                report.add_finding(Area::Extra, finding);
            }
        }
    }
}

pivot_sdk::export!(Readiness, hooks = [check], schema = include_bytes!("options.json"));
