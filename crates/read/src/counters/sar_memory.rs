//! sar's tables of memory (`-r`, `-S`) and swap traffic (`-W`).

use iowhy_model::typed::{BytesPerSecond, Share};
use iowhy_model::{Sink, typed};

use crate::counters::stated::Column;
use crate::facts::AddFact;

/// A page that `sar -W` counts, bytes: that of x86 and of most kernels for arm64.
const PAGE: f64 = 4096.0;

/// What the rows of these tables state.
#[derive(Default)]
pub(crate) struct SarMemory {
    columns: Vec<String>,
    /// The least share of memory that programs may have, and the largest of swap in use.
    available: Option<f64>,
    swapped: Option<f64>,
    /// Pages per second.
    swap_in: Column,
    swap_out: Column,
}

impl SarMemory {
    /// Whether these are the columns of one of the tables, after the time.
    pub(crate) fn has(columns: &[&str]) -> bool {
        matches!(
            columns,
            ["kbmemfree", ..] | ["kbswpfree", "kbswpused", ..] | ["pswpin/s", "pswpout/s"]
        )
    }

    /// The rows that follow have these columns.
    pub(crate) fn heading(&mut self, columns: Vec<String>) {
        self.columns = columns;
    }

    /// The columns of the rows that follow; none before the first table.
    pub(crate) fn columns(&self) -> &[String] {
        &self.columns
    }

    /// A row with as many values as the heading; the averages repeat the others, so they add
    /// nothing to the extremes.
    pub(crate) fn row(&mut self, values: &[f64], is_average: bool) {
        let of = |name: &str| {
            let place = self.columns.iter().position(|column| column == name)?;
            values.get(place).copied()
        };
        let share = |part: f64, all: f64| (all > 0.0).then(|| (part / all).clamp(0.0, 1.0));
        let memory = of("kbmemfree").zip(of("kbmemused")).and_then(|(free, used)| {
            let cached = of("kbbuffers").unwrap_or(0.0) + of("kbcached").unwrap_or(0.0);
            share(of("kbavail").unwrap_or(free + cached), free + used)
        });
        // A page in the swap cache is in memory as well.
        let swap = of("kbswpfree")
            .zip(of("kbswpused"))
            .and_then(|(free, used)| share(used - of("kbswpcad").unwrap_or(0.0), free + used));
        let traffic = of("pswpin/s").zip(of("pswpout/s"));
        self.available = memory.into_iter().chain(self.available).reduce(f64::min);
        self.swapped = swap.into_iter().chain(self.swapped).reduce(f64::max);
        if let Some((read, written)) = traffic.filter(|_| !is_average) {
            self.swap_in.take(read);
            self.swap_out.take(written);
        }
    }

    /// Adds the extremes of memory and swap, and the means of the traffic.
    pub(crate) fn state(&self, sink: &mut dyn Sink) {
        if let Some(share) = self.available {
            sink.add_fact(None, typed::MEMORY_AVAILABLE, Share(share));
        }
        if let Some(share) = self.swapped {
            sink.add_fact(None, typed::SWAP_USED_SHARE, Share(share));
        }
        for (column, name) in [(&self.swap_in, "si"), (&self.swap_out, "so")] {
            if let Some(pages) = column.mean() {
                let per_s = BytesPerSecond((pages * PAGE).round());
                sink.add_fact(None, typed::VMSTAT_MEAN.of(name), per_s);
            }
        }
    }
}
