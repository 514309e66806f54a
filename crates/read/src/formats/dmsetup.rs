//! dmsetup status: caches, thin pools, snapshots, RAID and mirrors of the device mapper.
//!
//! ## Reads
//! Each line by the name in front of it: of a cache `cache.read_hits` and `cache.write_hits`
//! (shares since it was activated) and `cache.dirty` (share of its blocks that the origin lacks);
//! of a thin pool and a snapshot `pool.data.used` and `pool.metadata.used`; of RAID and mirrors
//! `array.degraded`, and `array.action` with `array.percent` while they are rebuilt or checked.
//!
//! ## How to capture
//! `dmsetup status`, `dmsetup status vg-data`.
//!
//! ## Versions
//! Linux 3.9 to 6.x (Documentation/admin-guide/device-mapper).
//!
//! ## Caveats
//! `dmsetup status NAME` prints no name: the volume is called `dm` then. A cache has to fill before
//! it helps: hits count from its activation.
//!
//! ## Not in this output
//! Latencies; the disks below a volume (`lsblk`).

use iowhy_model::typed::{ArrayAction, Share};

use crate::describe::report::*;

pub(super) const FORMAT: Format =
    Format::labels("dmsetup status: caches, pools, snapshots, RAID", Level::E, &LABELS);

static LABELS: Labels = Labels {
    may_resume: true,
    lines: &[
        begins(
            "{:u} {:u} cache {:u} {:word} {:u} {used:word} {rh:u} {rm:u} {wh:u} {wm:u} {:u} {:u} \
             {dirty:u} ",
            cache,
        )
        .like(&[
            "vg-local: 0 3408953344 cache 8 4377/524288 128 1460096/1460096 9124416 8452889 \
             245665983 18318430 62445 62445 1875 1 writeback 2 migration_threshold 2048 smq 0 rw -",
            "0 8388608 cache 8 86/128000 512 784/36864 200 67 1018 0 0 784 0 1 writeback 2 \
             migration_threshold 2048 smq 0 rw -",
        ]),
        begins("{:u} {:u} thin-pool {:u} {metadata:word} {data:word} ", |found, _, sink| {
            let (name, place) = (name(found.line()), sink.here());
            let used = |part: &str| Some(Share::from_percent(100.0 * share(found.text(part)?)?));
            sink.add_fact_at(name, typed::POOL_METADATA_USED, used("metadata")?, &place);
            sink.add_fact_at(name, typed::POOL_DATA_USED, used("data")?, &place);
            Some(())
        })
        .like(&["pool: 0 4294967296 thin-pool 1 4161/262144 122/1000 - rw discard_passdown \
                 queue_if_no_space - 1024"]),
        begins("{:u} {:u} snapshot {used:word}", |found, _, sink| {
            let (name, place) = (name(found.line()), sink.here());
            let used = Share::from_percent(100.0 * share(found.text("used")?)?);
            sink.add_fact_at(name, typed::POOL_DATA_USED, used, &place);
            Some(())
        })
        .like(&["vg-snap: 0 2097152 snapshot 397896/2097152 1560"]),
        begins("{:u} {:u} raid raid{:word} {:u} {health:word} {done:word} {action:word} ", raid)
            .like(&["vg-root: 0 20971520 raid raid1 2 AA 20971520/20971520 idle 0"]),
        begins("{:u} {:u} mirror {n:u} {:text}", mirror)
            .like(&["vg-m: 0 2097152 mirror 2 254:61 254:62 730/2048 1 AA 3 disk 254:60 A"]),
        perhaps("{:u} {:u} \
                 {linear|striped|crypt|error|zero|multipath|thin|snapshot-origin|snapshot-merge|verity|integrity|writecache|vdo}", |_, _, _| Some(()))
            .like(&["vg-var: 0 2097152 linear"]),
    ],
    ..Labels::NEW
};

/// The name in front of a line, if it has one.
fn name(line: &str) -> &str {
    line.split_once(": ").map_or("dm", |(name, _)| name)
}

/// `730/2048`, at most one.
fn share(text: &str) -> Option<f64> {
    let (part, whole) = text.split_once('/')?;
    let (part, whole) = (decimal(part)?, decimal(whole).filter(|whole| *whole > 0.0)?);
    (part >= 0.0 && part <= whole).then(|| part / whole)
}

fn cache(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (device, place) = (sink.device(name(found.line())), sink.here());
    let (_, blocks) = found.text("used")?.split_once('/')?;
    let blocks = decimal(blocks).filter(|blocks| *blocks > 0.0)?;
    let n = |hole: &str| found.number(hole);
    for (key, hits, misses) in [
        (typed::CACHE_READ_HITS, n("rh")?, n("rm")?),
        (typed::CACHE_WRITE_HITS, n("wh")?, n("wm")?),
    ] {
        if hits + misses > 0.0 {
            let hits = Share::from_percent(100.0 * hits / (hits + misses));
            sink.add_fact_at(device, key, hits, &place);
        }
    }
    let dirty = n("dirty").filter(|dirty| *dirty <= blocks)?;
    sink.add_fact_at(
        device,
        typed::CACHE_DIRTY,
        Share::from_percent(100.0 * dirty / blocks),
        &place,
    );
    Some(())
}

fn raid(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let done = share(found.text("done")?)?;
    let action = match found.text("action")? {
        "resync" => Some(ArrayAction::Resync),
        "recover" => Some(ArrayAction::Rebuild),
        "check" | "repair" => Some(ArrayAction::Check),
        "reshape" => Some(ArrayAction::Reshape),
        _ => None,
    };
    state(found.line(), found.text("health")?, action.map(|action| (action, done)), sink)
}

/// The health of the legs of a mirror, after their numbers and the share that is in sync.
fn mirror(found: &Found, _: &mut Report, sink: &mut dyn Sink) -> Option<()> {
    let (_, rest) = found.line().split_once(" mirror ")?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let legs = found.count("n")? as usize;
    let done = share(words.get(legs + 1)?)?;
    let action = (done < 1.0).then_some((ArrayAction::Resync, done));
    state(found.line(), words.get(legs + 3)?, action, sink)
}

/// A letter for each leg: `A` is alive, `a` alive and not in sync, `D` dead.
fn state(
    line: &str,
    health: &str,
    action: Option<(ArrayAction, f64)>,
    sink: &mut dyn Sink,
) -> Option<()> {
    let (device, place) = (sink.device(name(line)), sink.here());
    let dead = health.chars().filter(|letter| *letter == 'D').count();
    sink.add_fact_at(device, typed::ARRAY_DEGRADED, dead as u64, &place);
    if let Some((action, done)) = action {
        sink.add_fact_at(device, typed::ARRAY_ACTION, action, &place);
        sink.add_fact_at(device, typed::ARRAY_PERCENT, Share::from_percent(100.0 * done), &place);
    }
    Some(())
}
