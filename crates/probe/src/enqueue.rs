//! Writes that were enqueued one after another: when each was enqueued, and when it completed.
//!
//! The picture is that of a mail to the kernel list (M. Sustrik, July 2008): one column per write,
//! time down, a cross where a write was enqueued, a circle where its completion was seen.

use std::fmt::Write;

use iowhy_model::Unit;

use crate::engine::Run;
use crate::outcome::{Cell, Table, time};

/// The writes of a run, in the order they were enqueued: when, and when done, ns.
pub(crate) struct WriteQueue(Vec<(u64, u64)>);

/// What completions did while writes were still enqueued, and afterwards.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Phases {
    /// Completions while writes were enqueued, and how many per second.
    pub during: (usize, f64),
    /// Completions after the last was enqueued.
    pub after: usize,
    /// How long the first of these took, ms.
    pub first_ms: f64,
    /// And how much longer the last of them, ms.
    pub rest_ms: f64,
    /// In how many bursts they came: a turning disk may do a few of them in the revolution it is
    /// in.
    pub bursts: usize,
    /// The most writes enqueued later that were done before an earlier one.
    pub overtaken: usize,
}

/// Completions with a longer gap than this are in two bursts: half a revolution of the fastest
/// disk.
const PAUSE_NS: u64 = 2_000_000;
/// Completions on either side that make a pace.
const PACE_COMPLETIONS: usize = 4;
/// A rate is mentioned if it is this many times higher.
const FASTER_RATIO: f64 = 2.0;
/// Size of the picture, in characters: it fits beside its axis into 80 columns, and on a screen.
const COLUMNS: usize = 68;
const ROWS: usize = 24;
/// Of a long run only the end is drawn: this many times the number in flight.
const SHOWN: usize = 4;

impl Phases {
    /// Whether the I/Os left in the queue completed at a higher rate than before.
    pub(crate) fn speeds_up(&self) -> bool {
        let pace_ms = self.rest_ms / self.after.saturating_sub(1).max(1) as f64;
        pace_ms * FASTER_RATIO < 1e3 / self.during.1
    }
}

impl WriteQueue {
    /// The writes of a run.
    pub(crate) fn of(run: &Run) -> WriteQueue {
        let good = run.ios.iter().filter(|io| io.error == 0);
        let mut writes: Vec<_> =
            good.map(|io| (io.issued_ns, io.offset, io.completed_ns)).collect();
        writes.sort_unstable();
        WriteQueue(writes.into_iter().map(|(issued, _, completed)| (issued, completed)).collect())
    }

    /// What completions did; `None` with no writes.
    pub(crate) fn phases(&self) -> Option<Phases> {
        let (first_in, last_in) = (self.0.first()?.0, self.0.last()?.0);
        let mut done: Vec<(u64, usize)> =
            self.0.iter().enumerate().map(|(place, (_, done))| (*done, place)).collect();
        done.sort_unstable();
        let overtaken = done
            .iter()
            .enumerate()
            .map(|(after, (_, place))| after.saturating_sub(*place))
            .max()?;
        let during = done.iter().filter(|(ns, _)| *ns <= last_in).count();
        let after = done.get(during..).unwrap_or_default();
        let (first, last) = (after.first()?.0, after.last()?.0);
        let per_s = |n: usize, ns: u64| n as f64 * 1e9 / ns.max(1) as f64;
        Some(Phases {
            during: (during, per_s(during, last_in - first_in)),
            after: after.len(),
            first_ms: (first - last_in) as f64 / 1e6,
            rest_ms: (last - first) as f64 / 1e6,
            bursts: starts(after.iter().map(|(ns, _)| *ns)).len(),
            overtaken,
        })
    }

    /// The same in sentences.
    pub(crate) fn words(&self) -> Vec<String> {
        let Some(phases) = self.phases() else { return Vec::new() };
        let (during, per_s) = phases.during;
        let mut words = Vec::new();
        let left = phases.after;
        let first = time(phases.first_ms);
        if during >= PACE_COMPLETIONS && left >= PACE_COMPLETIONS {
            let speed = if phases.speeds_up() { "speed up" } else { "do not speed up" };
            // One look at the queue finds all that is done: the last may be seen with the first.
            let rest = if phases.rest_ms > 0.0 { time(phases.rest_ms) } else { "no time".into() };
            let bursts = match phases.bursts {
                1 => "in one burst".to_string(),
                many => format!("in {many} bursts"),
            };
            words.push(format!(
                "completions {speed} once enqueueing stops: one every {} while writes were \
                 enqueued; of the {left} left in the queue the first completed after {first}, all \
                 others within {rest} of it, {bursts}",
                time(1e3 / per_s)
            ));
        } else {
            words.push(format!(
                "{during} writes completed while others were enqueued, {left} afterwards, the \
                 first of these after {first}: too few to compare"
            ));
        }
        if phases.overtaken > 0 {
            words.push(format!(
                "up to {} writes enqueued later completed before an earlier one",
                phases.overtaken
            ));
        }
        words
    }

    /// Time from burst to burst, if completions come in bursts, ns: on a disk that misses its
    /// sector, the revolutions.
    pub(crate) fn beats(&self) -> Vec<u64> {
        let mut done: Vec<u64> = self.0.iter().map(|(_, done)| *done).collect();
        done.sort_unstable();
        starts(done.into_iter()).windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Every write as data.
    pub(crate) fn table(&self) -> Table {
        let columns = [("write", Unit::Count), ("enqueued", Unit::Ms), ("completed", Unit::Ms)];
        let mut table = Table::new("enqueue", &columns);
        let start = self.0.first().map_or(0, |(ns, _)| *ns);
        let ms = |ns: u64| Cell::from(ns.saturating_sub(start) as f64 / 1e6);
        table.rows = self
            .0
            .iter()
            .enumerate()
            .map(|(place, (enqueued, done))| vec![(place as u64).into(), ms(*enqueued), ms(*done)])
            .collect();
        table
    }

    /// Crosses and circles, of the end of the run if there are many more writes than in flight.
    pub(crate) fn picture(&self, depth: u32) -> String {
        let shown = self.0.len().min((depth as usize * SHOWN).max(COLUMNS));
        let skipped = self.0.len() - shown;
        let writes = self.0.get(skipped..).unwrap_or_default();
        let start = writes.first().map_or(0, |(ns, _)| *ns);
        let end = writes.iter().map(|(_, done)| *done).max().unwrap_or(start);
        let row_ns = ((end - start) / ROWS as u64).max(1);
        let columns = shown.min(COLUMNS);
        let mut grid = vec![vec![' '; columns]; ROWS + 1];
        let mut mark = |place: usize, ns: u64, sign: char| {
            let row = (ns.saturating_sub(start) / row_ns) as usize;
            let column = place * columns / shown.max(1);
            if let Some(cell) = grid.get_mut(row).and_then(|row| row.get_mut(column)) {
                *cell = if *cell == ' ' || *cell == sign { sign } else { '*' };
            }
        };
        for (place, (enqueued, done)) in writes.iter().enumerate() {
            mark(place, *enqueued, 'x');
            mark(place, *done, 'o');
        }
        let mut text = format!(
            "enqueue x, completion o, both *; writes {} to {} from left to right, time downwards\n",
            skipped + 1,
            self.0.len()
        );
        for (row, line) in grid.iter().enumerate() {
            let at = row as f64 * row_ns as f64 / 1e6;
            let line: String = line.iter().collect();
            let _ = writeln!(text, "{:>8} |{}", format!("{at:.1} ms"), line.trim_end());
        }
        text
    }
}

/// The completions with which a burst begins; ns, in order.
fn starts(done: impl Iterator<Item = u64>) -> Vec<u64> {
    let (mut starts, mut before) = (Vec::new(), None);
    for ns in done {
        if before.is_none_or(|before| ns - before > PAUSE_NS) {
            starts.push(ns);
        }
        before = Some(ns);
    }
    starts
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four writes per revolution of 8 ms while more are enqueued, then eight at a stroke.
    fn bursts() -> WriteQueue {
        let mut writes = Vec::new();
        for write in 0..40u64 {
            let revolution = write / 4 + 1;
            writes.push((write * 2_000_000, revolution * 8_000_000 + (write % 4) * 20_000));
        }
        for write in 40..48u64 {
            writes.push((80_000_000 + write, 88_000_000 + write * 20_000));
        }
        WriteQueue(writes)
    }

    #[test]
    fn completions_are_counted_before_and_after_the_last_was_enqueued() {
        let phases = bursts().phases().unwrap();
        assert_eq!((phases.during.0, phases.after), (37, 11));
        assert!((phases.during.1 - 37.0 / 0.080_000_047).abs() < 0.01, "{phases:?}");
        // Three of the revolution in which the last was enqueued, and eight.
        assert_eq!((phases.overtaken, phases.bursts), (0, 2));
        let words = bursts().words();
        assert!(words[0].starts_with("completions speed up once enqueueing stops"), "{words:?}");
        assert_eq!(bursts().table().rows.len(), 48);
        assert_eq!(WriteQueue(Vec::new()).phases(), None);
    }

    #[test]
    fn the_picture_has_a_cross_and_a_circle_per_write() {
        let picture = bursts().picture(8);
        let lines: Vec<&str> = picture.lines().collect();
        assert_eq!(lines.len(), ROWS + 2);
        let count = |sign: char| {
            lines[1..].iter().flat_map(|line| line.chars()).filter(|c| *c == sign).count()
        };
        // 48 writes fit side by side; a star is both. The `|` and `ms` of the axis are neither.
        assert_eq!(count('x') + count('*'), 48, "{picture}");
        assert_eq!(count('o') + count('*'), 48, "{picture}");
        assert!(lines[1].contains('x') && lines.last().unwrap().ends_with('o'), "{picture}");
    }

    #[test]
    fn writes_that_overtake_are_counted() {
        let writes = vec![(0, 90), (1, 20), (2, 30), (3, 40), (4, 100), (5, 110), (6, 120)];
        assert_eq!(WriteQueue(writes).phases().unwrap().overtaken, 3);
    }
}
