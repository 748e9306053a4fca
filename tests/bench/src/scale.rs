//! Time and memory of one move as the number of objects grows.

use anyhow::{Result, ensure};

use crate::report::median;
use crate::rounds::{LARGE, Measured};

pub(crate) const HUGE: usize = 100_000;
/// The most memory that a move of so many objects takes, in MiB.
const MOST_MEMORY: [(usize, f64); 2] = [(LARGE, 300.0), (HUGE, 1024.0)];
/// Factor by which the processor time of an object may grow among five times as many. The machine may do other things, too.
const MOST_GROWTH: f64 = 1.5;

/// Cost of a move of so many objects.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    objects: usize,
    /// Milliseconds for each object: from start to end, and of the process's own processor time.
    wall: f64,
    cpu: f64,
    /// The largest resident set, in MiB.
    peak: f64,
}

/// The moves by pivot-host of many objects.
pub(crate) fn points(all: &[Measured]) -> Vec<Point> {
    let mut points = Vec::new();
    for Measured { scenario, contenders, .. } in all {
        let objects = scenario.objects;
        for (_, runs) in contenders.iter().filter(|(agent, _)| *agent == "pivot-host" && objects >= LARGE) {
            let each = |seconds: f64| seconds * 1000.0 / objects as f64;
            points.push(Point {
                objects,
                wall: each(median(runs.iter().map(|run| run.took.wall.as_secs_f64()))),
                cpu: each(median(runs.iter().map(|run| run.took.cpu.as_secs_f64()))),
                peak: median(runs.iter().map(|run| run.took.peak as f64 / 1024.0)),
            });
        }
    }
    points
}

/// A line that `cargo xtask nightly` puts on its page.
pub(crate) fn line(points: &[Point]) -> String {
    let point = |Point { objects, wall, cpu, peak }: &Point| {
        format!(
            "{objects} objects: {wall:.2} ms each ({cpu:.2} ms of its processor time), peak {peak:.0} MiB"
        )
    };
    format!("counted: {}", points.iter().map(point).collect::<Vec<_>>().join("; "))
}

/// Fails if a move takes too much memory, or if each of many objects takes longer than each of fewer. Only the process's own time
/// counts, because servers slow down as they store more.
pub(crate) fn check(points: &[Point]) -> Result<()> {
    for Point { objects, peak, .. } in points {
        let most =
            MOST_MEMORY.iter().find(|(many, _)| many == objects).map_or(f64::INFINITY, |(_, most)| *most);
        ensure!(*peak <= most, "{objects} objects took {peak:.0} MiB, more than {most:.0}");
    }
    if let [few, .., many] = points {
        let growth = many.cpu / few.cpu;
        ensure!(
            growth <= MOST_GROWTH,
            "each of {} objects took {growth:.2} times the processor time of each of {}",
            many.objects,
            few.objects
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEW: Point = Point { objects: LARGE, wall: 5.0, cpu: 0.5, peak: 200.0 };
    const MANY: Point = Point { objects: HUGE, wall: 6.0, cpu: 0.6, peak: 1000.0 };

    #[test]
    fn growth_in_proportion_passes() {
        check(&[FEW, MANY]).unwrap();
        check(&[FEW]).unwrap();
        check(&[]).unwrap();
        assert!(
            line(&[FEW, MANY]).starts_with("counted: 20000 objects: 5.00 ms each"),
            "{}",
            line(&[FEW, MANY])
        );
    }

    #[test]
    fn too_much_memory_or_time_fails() {
        assert!(check(&[Point { peak: 301.0, ..FEW }]).is_err());
        assert!(check(&[FEW, Point { peak: 1025.0, ..MANY }]).is_err());
        assert!(check(&[FEW, Point { cpu: 0.8, ..MANY }]).is_err());
    }
}
