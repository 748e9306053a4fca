//! Collects findings, with the severity that the operator wants, and no more of one sort than a person reads.

use std::collections::BTreeMap;

use pivot_sdk::{Finding, Severity, Side};

use crate::settings::{Area, Readiness};

/// Most findings of one sort that are reported one by one. The host accepts a thousand in all, and a single cause, a provider
/// that is down, yields as many findings as there are machines.
const MAX_PER_SORT: usize = 20;

/// The findings so far.
pub(crate) struct Report<'a> {
    settings: &'a Readiness,
    /// The side that is looked at.
    pub(crate) side: Side,
    found: Vec<Finding>,
}

impl<'a> Report<'a> {
    pub(crate) fn new(settings: &'a Readiness, side: Side) -> Self {
        Self { settings, side, found: Vec::new() }
    }

    /// Adds a finding, unless its area is skipped.
    pub(crate) fn add_finding(&mut self, area: Area, mut finding: Finding) {
        if self.settings.is_checked(area) {
            if let Some(weight) = self.settings.severity.get(&area) {
                finding.severity = Severity::from(*weight);
            }
            // A finding without an object can occur many times, for example about a kind without permission.
            if !finding.objects.is_empty() || !self.found.contains(&finding) {
                self.found.push(finding);
            }
        }
    }

    /// Returns the findings, with the rest of each sort summed up in one line.
    pub(crate) fn into_findings(self) -> Vec<Finding> {
        let mut sorts: BTreeMap<(Severity, String, String), Vec<Finding>> = BTreeMap::new();
        for finding in self.found {
            let kind = finding.objects.first().map(|key| key.kind.to_string()).unwrap_or_default();
            sorts.entry((finding.severity, finding.code.to_string(), kind)).or_default().push(finding);
        }
        let mut findings = Vec::new();
        // The most severe first.
        for ((severity, code, kind), mut found) in sorts.into_iter().rev() {
            let more = found.len().saturating_sub(MAX_PER_SORT);
            let remedy = found.first().map(|finding| finding.remedy.clone()).unwrap_or_default();
            found.truncate(MAX_PER_SORT);
            findings.extend(found);
            if more > 0 {
                let message = format!("and likewise {more} more objects of kind {kind}");
                findings.push(Finding::new(severity, code, message).with_remedy(remedy));
            }
        }
        findings
    }
}
