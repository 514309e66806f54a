//! Facts that no detector uses, each as a line with its meaning.
//!
//! Nothing here accuses: a user who pastes a listing sees what was read in it, what it may mean,
//! and what decides.

use iowhy_model::typed::WriteCache;
use iowhy_model::{FactKey, Observation, Unit, Verdict, key};

use crate::analysis::{Analysis, Host};
use crate::evidence::builder::of_disk;
use crate::facts::About;
use crate::facts::reading::FactReading;
use crate::phrase;

/// Share of available memory from which down it is short (a choice: a page cache of a few per cent
/// contains no program's working set).
pub(crate) const LITTLE: f64 = 0.1;
/// Waits of a process or query from which on they are shown, s (a choice: the limit from which on
/// MongoDB logs a query).
const LONG_S: f64 = 0.1;
/// Names in one line.
const NAMES: usize = 3;

/// These facts of an input, and of these disks.
pub(crate) fn seen(analysis: &Analysis, host: Host, disks: &[String]) -> Vec<Observation> {
    let about = analysis.machine(host);
    let of_machine = slow_commits(analysis, about)
        .into_iter()
        .chain(read_by_a_query(analysis, about))
        .chain(waited_for_io(analysis, about))
        .chain(checkpoints(analysis, host))
        .chain(request_sizes(analysis, host))
        .chain(memory(analysis, about));
    let of_disks = disks.iter().flat_map(|disk| {
        let about = analysis.facts.about(Some(host), disk);
        cache_off(analysis, about).into_iter().chain(narrow_link(analysis, about))
    });
    of_machine.chain(of_disks).collect()
}

/// Commits that a database logged because they were slow.
fn slow_commits(analysis: &Analysis, about: About) -> Option<Observation> {
    let (slowest, reading) = about.machine_number(key::COMMIT_SLOWEST)?;
    let what = match about.machine_number(key::COMMIT_SLOW) {
        Some((n, _)) if n > 1.0 => {
            format!("slowest of {} commits over the limit of a database's log", phrase::digits(n))
        }
        _ => "commit over the limit of a database's log".to_string(),
    };
    let evidence = analysis.stated(&reading).seconds(&what, slowest);
    let would_mean = "a commit waits for the flush of the database's log, for other commits, and \
                      for replicas: the latency of each flush (`iowhy why --for 30s`) separates \
                      them";
    Some(Observation::of(evidence, would_mean))
}

/// The longest time in which a query read from a disk.
fn read_by_a_query(analysis: &Analysis, about: About) -> Option<Observation> {
    let (longest, reading) = about.machine_number(key::QUERY_READ_WAIT)?;
    let evidence = analysis.stated(&reading).seconds("longest time a query spent reading", longest);
    let would_mean = "the sum over all reads of the query: many fast ones or a few slow ones; the \
                      latency of each read separates them";
    (longest > LONG_S).then(|| Observation::of(evidence, would_mean))
}

/// The process that waited longest for block I/O in a report.
fn waited_for_io(analysis: &Analysis, about: About) -> Option<Observation> {
    let (longest, who, reading) = about.busiest_process(key::PROCESS_IO_DELAY)?;
    let what = format!("longest wait of a process for block I/O in one report ({who})");
    let evidence = analysis.stated(&reading).seconds(&what, longest);
    let would_mean = "includes waits for swapped pages; its requests are numerous or slow, and the \
                      disk is not in this output";
    (longest > LONG_S).then(|| Observation::of(evidence, would_mean))
}

/// Checkpoints, of a program whose flushes are not logged one by one.
fn checkpoints(analysis: &Analysis, host: Host) -> Option<Observation> {
    let bare = analysis.listings_of(host).find_map(|(place, listing)| {
        let about = analysis.about(place, "");
        let total = about.machine_number(key::CHECKPOINT_TOTAL)?;
        let is_here = total.1.listing == place && listing.events.is_empty();
        is_here.then_some((total, about.machine_number(key::CHECKPOINT_COUNT)))
    });
    let ((total, reading), n) = bare?;
    let n = n.map_or(String::new(), |(n, _)| format!(" ({})", phrase::digits(n)));
    let what = format!("duration of all checkpoints{n}");
    let evidence = analysis.stated(&reading).seconds(&what, total);
    let would_mean = "a checkpoint is many writes and flushes, slow on purpose in some databases: \
                      it matters if other I/O is slow at those times, or if the next one is due \
                      before it ends";
    Some(Observation::of(evidence, would_mean))
}

/// The most frequent request size of each program.
fn request_sizes(analysis: &Analysis, host: Host) -> Option<Observation> {
    let (place, sizes) = analysis.listings_of(host).find_map(|(place, listing)| {
        let all = listing.facts.iter().filter(|fact| fact.key == key::PROCESS_REQUEST_SIZE);
        let sizes: Vec<&str> = all.filter_map(|fact| fact.value.text()).collect();
        (!sizes.is_empty()).then_some((place, sizes))
    })?;
    let n = sizes.len();
    let what = "programs with a distribution of request sizes";
    let evidence = analysis.printed(place, n as u64).count(what, n as f64);
    let shown = sizes.into_iter().take(NAMES).collect::<Vec<_>>().join(", ");
    let would_mean = format!(
        "most frequent: {shown}; sizes are not latencies: `biosnoop` or `iowhy record` show both \
         for each request"
    );
    Some(Observation::of(evidence, would_mean))
}

/// Memory that programs can still have.
fn memory(analysis: &Analysis, about: About) -> Option<Observation> {
    let (share, reading) = about.machine_number(key::MEMORY_AVAILABLE)?;
    let evidence = analysis.stated(&reading).share("available memory, share of all", share);
    if share > LITTLE {
        let would_mean = "memory was not short at that moment: there was room for the page cache, \
                          so waits for I/O have another cause";
        return Some(Observation::of(evidence, would_mean));
    }
    let would_mean = "little is left for the page cache: files are read again, and memory of \
                      programs may be swapped (`vmstat 1`: si and so show whether it is now)";
    Some(Observation::of(evidence, would_mean).may_be(Verdict::LayerMemory))
}

/// A drive whose write cache is off.
fn cache_off(analysis: &Analysis, about: About) -> Option<Observation> {
    let is_off = |known: &FactReading| known.text() == WriteCache::Off.name();
    let reading = about.last(key::DRIVE_WRITE_CACHE).filter(is_off)?;
    let what = format!("drives with their write cache off ({})", about.disk);
    let evidence = of_disk(analysis.stated(&reading).count(&what, 1.0), about.disk);
    let would_mean = "each write waits for the medium: up to a revolution on a spinning disk; \
                      needed where a drive loses its cache on power failure and programs do not \
                      flush";
    Some(Observation::of(evidence, would_mean))
}

/// A PCIe link with fewer lanes than the drive or its controller has.
fn narrow_link(analysis: &Analysis, about: About) -> Option<Observation> {
    let number = |known: FactKey| about.number(known);
    let ((now, reading), (most, _)) =
        (number(key::DEVICE_LINK_WIDTH)?, number(key::DEVICE_LINK_WIDTH_MAX)?);
    let what = format!("PCIe lanes in use, of {} ({})", phrase::digits(most), about.disk);
    let evidence = of_disk(analysis.stated(&reading).of(&what, now, Unit::Count), about.disk);
    let would_mean = "limits throughput to that share of the lanes, and hardly changes the latency \
                      of small requests: the slot has no more, or a contact is bad (`lspci -vv`: \
                      `LnkCap` of the port above)";
    (now < most).then(|| Observation::of(evidence, would_mean))
}
