//! The differences between what `clusterctl describe cluster` and pivot-host show, each with a name and a reason.
//!
//! docs/describe.md lists them too.

use std::fmt;

use super::table::{COLUMNS, Row};

/// What differs between the two tables of a Cluster.
#[derive(Debug)]
pub(crate) struct Found<'a> {
    /// The Cluster, by its namespace.
    pub(crate) of: &'a str,
    pub(crate) flags: &'a str,
    pub(crate) what: What<'a>,
}

#[derive(Debug)]
pub(crate) enum What<'a> {
    /// A cell of a row that both have: which column, clusterctl's, ours.
    Cell(&'a Row, &'static str, &'a str, &'a str),
    OnlyTheirs(&'a Row),
    OnlyOurs(&'a Row),
}

/// A difference that is meant to be.
pub(crate) struct Difference {
    pub(crate) name: &'static str,
    /// Why pivot-host does it differently.
    pub(crate) why: &'static str,
    pub(crate) explains: fn(&Found<'_>) -> bool,
}

pub(crate) const DIFFERENCES: [Difference; 12] = [
    Difference {
        name: "machine-pools",
        why: "a MachinePool has counters and conditions as a MachineDeployment has",
        explains: |found| {
            found.cell().is_some_and(|(row, _, theirs, _)| {
                row.name().starts_with("MachinePool ") && theirs.is_empty()
            })
        },
    },
    Difference {
        name: "resource-sets",
        why: "the binding says whether a set of resources is applied to this Cluster",
        explains: |found| match &found.what {
            What::Cell(row, _, theirs, _) => {
                row.name().starts_with("ClusterResourceSet ") && theirs.is_empty()
            }
            What::OnlyOurs(row) => {
                row.above(1).starts_with("ClusterResourceSet ") && row.name() == "ResourcesApplied"
            }
            What::OnlyTheirs(_) => false,
        },
    },
    Difference {
        name: "missing-objects",
        why: "that an object is referenced and doesn't exist is worth knowing",
        explains: |found| matches!(&found.what, What::OnlyOurs(row) if found.of == "young" && row.cells[5] == "NotFound"),
    },
    Difference {
        name: "deployments-without-machines",
        why: "why there are no Machines is what people ask then",
        explains: |found| {
            found.is_ours_alone(
                &["young"],
                &["Workers", "MachineDeployment ns/md", "Templates", "Lab", "Available"],
            )
        },
    },
    Difference {
        name: "machines-without-control-plane",
        why: "Machines of a control plane have a place although the Cluster names none",
        explains: |found| {
            found.is_ours_alone(
                &["headless"],
                &["ControlPlane", "2 Machines...", "Machine ", "Lab", "Available", "Ready", "UpToDate"],
            )
        },
    },
    Difference {
        name: "machinesets-without-deployment",
        why: "a MachineSet is shown although no MachineDeployment made it, with its Machines below it and not as others",
        explains: |found| match &found.what {
            What::OnlyOurs(row) => {
                found.of == "orphaned" && row.path.iter().any(|name| name.contains("/lost"))
            }
            What::OnlyTheirs(row) => found.of == "orphaned" && row.path.iter().any(|name| name == "Other"),
            What::Cell(..) => false,
        },
    },
    Difference {
        name: "kinds-without-contract",
        why: "an object is shown although the definition of its kind claims no contract",
        explains: |found| matches!(&found.what, What::OnlyOurs(row) if row.path.iter().any(|name| name.starts_with("BareCluster "))),
    },
    Difference {
        name: "members-without-label",
        why: "spec.clusterName says as well as the label to which Cluster an object belongs",
        explains: |found| match &found.what {
            What::OnlyOurs(row) => {
                found.of == "unlabelled" && row.path.iter().any(|name| name.starts_with("MachineDeployment "))
            }
            What::OnlyTheirs(row) => found.of == "unlabelled" && row.path.iter().any(|name| name == "Other"),
            What::Cell(..) => false,
        },
    },
    Difference {
        name: "no-version",
        why: "without a version there is no comma",
        explains: |found| matches!(&found.what, What::Cell(_, "NAME", theirs, ours) if theirs.strip_suffix(',') == Some(ours)),
    },
    Difference {
        name: "odd-conditions",
        why: "a condition that says nothing valid hides itself, and not all others of its object",
        explains: |found| match &found.what {
            What::OnlyOurs(row) => {
                found.of == "sloppy" && row.path.iter().any(|name| name == "LabMachine sloppy/w-2")
            }
            What::Cell(row, _, theirs, _) => row.name() == "LabMachine sloppy/w-2" && theirs.is_empty(),
            What::OnlyTheirs(_) => false,
        },
    },
    Difference {
        name: "no-time",
        why: "what has no time isn't centuries old",
        explains: |found| matches!(&found.what, What::Cell(_, "SINCE", theirs, ours) if theirs.len() == 4 && theirs.ends_with('y') && ours.is_empty()),
    },
    Difference {
        name: "older-counters",
        why: "counters that mean what the columns mean are preferred to those of the older contract, which mean something else",
        explains: |found| {
            found.cell().is_some_and(|(row, column, ..)| {
                row.name().starts_with("OldControlPlane ")
                    && ["AVAILABLE", "READY", "UP TO DATE"].contains(&column)
            })
        },
    },
];

impl Found<'_> {
    fn cell(&self) -> Option<(&Row, &'static str, &str, &str)> {
        match self.what {
            What::Cell(row, column, theirs, ours) => Some((row, column, theirs, ours)),
            What::OnlyTheirs(_) | What::OnlyOurs(_) => None,
        }
    }

    /// Whether only pivot-host has a row of such a name, in one of these Clusters.
    fn is_ours_alone(&self, of: &[&str], names: &[&str]) -> bool {
        let What::OnlyOurs(row) = &self.what else { return false };
        let name = row.name().replace(&format!(" {}/", self.of), " ns/");
        of.contains(&self.of) && names.iter().any(|begin| name.starts_with(begin))
    }
}

impl fmt::Display for Found<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { of, flags, what } = self;
        match what {
            What::Cell(row, column, theirs, ours) => {
                write!(formatter, "{of} {flags}: {row}: {column}: clusterctl {theirs:?}, pivot-host {ours:?}")
            }
            What::OnlyTheirs(row) => write!(formatter, "{of} {flags}: only clusterctl: {row}"),
            What::OnlyOurs(row) => write!(formatter, "{of} {flags}: only pivot-host: {row}"),
        }
    }
}

/// All differences of two tables.
pub(crate) fn found<'a>(of: &'a str, flags: &'a str, theirs: &'a [Row], ours: &'a [Row]) -> Vec<Found<'a>> {
    // Two groups of as many Machines have the same name: the second is compared with the second.
    let key = |rows: &'a [Row], index: usize| {
        let path = |row: &'a Row| -> Vec<&'a str> {
            row.path.iter().map(|name| name.trim_end_matches(',')).collect()
        };
        let same = rows[..index].iter().filter(|row| path(row) == path(&rows[index])).count();
        (path(&rows[index]), same)
    };
    let find = |rows: &'a [Row], wanted: &(Vec<&'a str>, usize)| {
        (0..rows.len()).find(|index| key(rows, *index) == *wanted)
    };
    let mut all = Vec::new();
    for (index, row) in theirs.iter().enumerate() {
        let Some(at) = find(ours, &key(theirs, index)) else {
            all.push(What::OnlyTheirs(row));
            continue;
        };
        let own = &ours[at];
        if row.name() != own.name() {
            all.push(What::Cell(row, COLUMNS[0], row.name(), own.name()));
        }
        for ((theirs, ours), column) in row.cells.iter().zip(&own.cells).zip(&COLUMNS[1..]) {
            if theirs != ours {
                all.push(What::Cell(row, column, theirs, ours));
            }
        }
    }
    all.extend(
        (0..ours.len())
            .filter(|index| find(theirs, &key(ours, *index)).is_none())
            .map(|index| What::OnlyOurs(&ours[index])),
    );
    all.into_iter().map(|what| Found { of, flags, what }).collect()
}
