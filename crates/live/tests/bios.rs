//! Bio-based devices, the time before a request, the charged cgroup, and filters.

use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use iowhy_live::{TraceFilter, TraceMode, TraceOptions, control_group};
use iowhy_model::{Event, Flags, Nanos, Op, Recording, Stage};

use crate::rig::{self, Loop, can_run, trace};

/// Events kept per run: more than any run has, so that none is folded.
const BUDGET: usize = 4_000_000;

/// A private zram device, removed with its guard: it is bio-based.
struct Zram {
    name: String,
    number: (u32, u32),
}

impl Zram {
    const CONTROL: &str = "/sys/class/zram-control";

    fn new(mib: u64) -> Option<Zram> {
        let text = std::fs::read_to_string(format!("{}/hot_add", Zram::CONTROL)).ok()?;
        let name = format!("zram{}", text.trim());
        let folder = format!("/sys/block/{name}");
        std::fs::write(format!("{folder}/disksize"), format!("{mib}M")).expect("its size");
        let text = std::fs::read_to_string(format!("{folder}/dev")).expect("its numbers");
        let (major, minor) = text.trim().split_once(':').expect("major:minor");
        let number = (major.parse().expect("a number"), minor.parse().expect("a number"));
        Some(Zram { name, number })
    }

    /// Completed reads and writes, by the kernel's count.
    fn counters(&self) -> [u64; 2] {
        let text = std::fs::read_to_string(format!("/sys/block/{}/stat", self.name)).expect("stat");
        let fields: Vec<u64> =
            text.split_whitespace().map(|word| word.parse().expect("a number")).collect();
        [fields[0], fields[4]]
    }
}

impl Drop for Zram {
    fn drop(&mut self) {
        let _ = std::fs::write(format!("/sys/block/{}/reset", self.name), "1");
        // A program that was notified of the new device (udev) may still have it open.
        for _ in 0..100 {
            if std::fs::write(format!("{}/hot_remove", Zram::CONTROL), &self.name[4..]).is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }
}

/// A loop device with this many tags; the guard restores the previous number.
struct Tags {
    path: String,
    before: String,
}

impl Tags {
    fn of(disk: &Loop) -> Tags {
        let path = format!("/sys/block/{}/queue/nr_requests", disk.name);
        let before = std::fs::read_to_string(&path).expect("nr_requests");
        Tags { path, before }
    }

    fn set(&self, requests: u32) {
        std::fs::write(&self.path, requests.to_string()).expect("nr_requests");
    }
}

impl Drop for Tags {
    fn drop(&mut self) {
        let _ = std::fs::write(&self.path, self.before.trim());
    }
}

fn events(recording: &Recording) -> impl Iterator<Item = &Event> {
    recording.listings.iter().flat_map(|listing| &listing.events)
}

fn lost(recording: &Recording) -> u64 {
    recording.listings.iter().map(|listing| listing.source.lost()).sum()
}

#[test]
fn a_device_without_requests_is_traced_bio_by_bio() {
    if !can_run(&["fio"]) {
        return;
    }
    let Some(disk) = Zram::new(64) else {
        println!("skipped: needs zram (CONFIG_ZRAM)");
        return;
    };
    let path = format!("/dev/{}", disk.name);
    for mode in [TraceMode::Events, TraceMode::Histograms] {
        let options = TraceOptions { devices: vec![disk.number], ..TraceOptions::new(mode) };
        let before = disk.counters();
        let (recording, tracer) = trace(options, BUDGET, || {
            let how = ["--name=load", "--filename", &path, "--direct=1", "--bs=4k", "--rw=randrw"];
            let size = ["--size=64m", "--ioengine=psync", "--number_ios=14000", "--io_size=1g"];
            rig::run("fio", &[&how[..], &size[..]].concat());
        });
        let after = disk.counters();
        for (place, op) in [Op::Read, Op::Write].into_iter().enumerate() {
            let kernel = after[place] - before[place];
            let counts = tracer.request_counts().iter().filter(|(_, of, _)| *of == op);
            let (measured, unseen) = counts.fold((0, 0), |(measured, unseen), (_, _, t)| {
                (measured + t.measured, unseen + t.no_start + t.no_completion)
            });
            println!("{mode:?} {}: {measured} + {unseen} = {kernel}", op.name());
            assert!(kernel > 5_000);
            assert_eq!(measured + unseen, kernel, "{mode:?} {op:?}");
        }
        let listing = &recording.listings[0];
        assert!(listing.source.notes.iter().any(|note| note.reason.contains("bio-based device")));
        assert!(events(&recording).all(|event| event.issued.is_none() && event.queued.is_some()));
        assert!(events(&recording).all(|event| event.depth.is_some()));
        assert_eq!(events(&recording).count() > 0, mode == TraceMode::Events);
        let mut stages = listing.distributions.iter().map(|known| known.stage);
        assert_eq!(listing.distributions.is_empty(), mode == TraceMode::Events);
        assert!(stages.all(|stage| stage == Stage::Total));
    }
}

#[test]
fn the_time_before_the_request_shows_where_tags_are_short() {
    if !can_run(&["fio"]) {
        return;
    }
    let disk = Loop::new(64, None);
    disk.fio(&["--rw=write", "--bs=1m", "--size=64m"]);
    let tags = Tags::of(&disk);
    for (requests, least, most) in [(128, 0.0, 0.5), (4, 1.0, f64::INFINITY)] {
        // A queue of 4 tags and 64 waiters: they wait before there is a request.
        tags.set(requests);
        // A limit of almost 0: every event, and the histograms of all, in the same run.
        let filter = TraceFilter { over: Some(Nanos(1)), ..TraceFilter::default() };
        let options = TraceOptions { before: true, filter, ..disk.options(TraceMode::Events) };
        let (recording, _) = trace(options, BUDGET, || {
            let how = ["--ioengine=psync", "--thread", "--numjobs=64", "--rw=randread"];
            disk.fio(&[&how[..], &["--size=64m", "--number_ios=100"]].concat());
        });
        let of_events = |stage| {
            let latencies = events(&recording).filter_map(|event| event.latency(stage));
            latencies.fold((0.0, 0), |(sum, count), took| (sum + took.ns() as f64, count + 1))
        };
        let of_histograms = |stage| {
            let known = recording.listings.iter().flat_map(|listing| &listing.distributions);
            known.filter(|known| known.stage == stage).fold((0.0, 0), |(sum, count), known| {
                let more = known.histogram.sum_ns.expect("an exact sum");
                (sum + more, count + known.histogram.count())
            })
        };
        let mean = |(sum, count): (f64, u64)| {
            // A busy host loses some of the 6,400 (tests/exactness.rs checks that each is counted);
            // half are enough for a mean.
            println!("{count} of 6400, {} lost", lost(&recording));
            assert!(count > 3_200, "{count}");
            sum / count as f64
        };
        for (mode, waited, served) in [
            ("events", mean(of_events(Stage::Before)), mean(of_events(Stage::Total))),
            ("histograms", mean(of_histograms(Stage::Before)), mean(of_histograms(Stage::Total))),
        ] {
            println!("{requests} tags, {mode}: B2Q {waited:.0} ns, Q2C {served:.0} ns");
            assert!((least * served..most * served).contains(&waited), "{waited} {served}");
        }
    }
}

/// A control group of version 1 or 2, removed with its guard.
struct Group(PathBuf);

impl Drop for Group {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir(&self.0);
    }
}

#[test]
fn the_payer_is_named_and_can_be_asked_for() {
    if !can_run(&["dd"]) {
        return;
    }
    let root = ["/sys/fs/cgroup/blkio", "/sys/fs/cgroup"].map(PathBuf::from);
    let Some(root) = root.into_iter().find(|root| root.join("cgroup.procs").exists()) else {
        println!("skipped: needs a mounted hierarchy of control groups");
        return;
    };
    let name = format!("iowhy-test-{}", std::process::id());
    let group = Group(root.join(&name));
    std::fs::create_dir(&group.0).expect("a control group");
    let disk = Loop::new(8, None);
    let number = control_group(&name).expect("its number");
    assert_eq!(control_group(&group.0.display().to_string()), Some(number));
    let load = || {
        let write = format!("dd if=/dev/zero of={} bs=4k count=100 oflag=direct", disk.path);
        let inside = format!("echo $$ > {}/cgroup.procs; {write}", group.0.display());
        for script in [inside, write] {
            let run = Command::new("sh").args(["-c", &script]).output().expect("sh");
            assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
        }
    };
    let options = TraceOptions { cgroups: true, ..disk.options(TraceMode::Events) };
    let (recording, _) = trace(options, BUDGET, load);
    let of_group = |recording: &Recording| {
        let path = format!("/{name}");
        events(recording)
            .filter(|event| event.cgroup.is_some_and(|group| recording.text(group) == path))
            .count()
    };
    assert!((95..=100).contains(&of_group(&recording)), "{}", of_group(&recording));
    assert!(events(&recording).count() > 190);
    let mut options = disk.options(TraceMode::Events);
    options.filter.cgroup = Some(number);
    let (recording, tracer) = trace(options, BUDGET, load);
    assert_eq!(of_group(&recording), events(&recording).count());
    let filtered: u64 = tracer.request_counts().iter().map(|(_, _, counts)| counts.filtered).sum();
    println!("{} of the group, {filtered} of others", of_group(&recording));
    assert!(filtered >= 95 && of_group(&recording) >= 95);
}

#[test]
fn filters_in_the_kernel_let_through_what_was_asked_for_and_count_the_rest() {
    if !can_run(&["dd"]) {
        return;
    }
    let disk = Loop::new(16, None);
    let any = TraceFilter::default();
    let sync = Flags::SYNC;
    // 100 writes of 4 KiB and 50 of 8 KiB, all synchronous, by dd.
    let cases = [
        (any.clone(), 150),
        (TraceFilter { bytes: Some((8192, 8192)), ..any.clone() }, 50),
        (TraceFilter { bytes: Some((0, 8191)), ..any.clone() }, 100),
        (TraceFilter { with: sync, ..any.clone() }, 150),
        (TraceFilter { without: sync, ..any.clone() }, 0),
        (TraceFilter { comm: Some("dd".to_string()), ..any.clone() }, 150),
        (TraceFilter { comm: Some("ddd".to_string()), ..any.clone() }, 0),
        (TraceFilter { pid: Some(1), ..any }, 0),
    ];
    for (place, (filter, passing)) in cases.into_iter().enumerate() {
        // Both paths use the same filter; each case tests one of them.
        let mode = [TraceMode::Events, TraceMode::Histograms][place % 2];
        let before = disk.counters()[1];
        let (filter, ops) = (filter.clone(), vec![Op::Write]);
        let options = TraceOptions { filter, ops, ..disk.options(mode) };
        let shown = format!("{:?} {mode:?}", options.filter);
        let (recording, tracer) = trace(options, BUDGET, || {
            for (size, count) in [("bs=4k", "count=100"), ("bs=8k", "count=50")] {
                let to = format!("of={}", disk.path);
                rig::run("dd", &["if=/dev/zero", &to, size, count, "oflag=direct"]);
            }
            disk.settle();
        });
        let kernel = disk.counters()[1] - before;
        let [(_, Op::Write, counts)] = tracer.request_counts() else { panic!("only writes") };
        // This kernel may hide a completion from the probes; then it is counted as lost.
        let lost = lost(&recording);
        assert_eq!(counts.measured + counts.filtered + lost, kernel, "{shown}");
        assert!((passing..=passing + lost).contains(&(counts.measured + lost)), "{shown}");
        let known = recording.listings[0].distributions.iter();
        let counted = known.filter(|known| known.stage == Stage::Total);
        let counted: u64 = counted.map(|known| known.histogram.count()).sum();
        assert_eq!(events(&recording).count() as u64 + counted, counts.measured, "{shown}");
    }
}
