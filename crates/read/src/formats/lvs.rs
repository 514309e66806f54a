//! LVM's logical volumes: `lvs`.
//!
//! ## Reads
//! Of a thin pool the space in use for data and metadata (`pool.data.used`, `pool.metadata.used`), of a snapshot that for the blocks
//! it keeps (`pool.data.used`); of a mirror or RAID volume that is not in step what it does (`array.action`) and how much of it is
//! done (`array.percent`). All volumes are counted (`lvm.volumes`).
//!
//! ## Where it comes from
//! `lvs`, `lvs -a`, also with `-o+devices` or other columns behind the usual ones.
//!
//! ## Versions
//! LVM2 2.02.95 to 2.03; before that the column `Snap%` stands where `Data%` does.
//!
//! ## Traps
//! Empty cells print blanks, so columns are told by what stands in them: a percentage has a fraction, a name has a letter. The
//! first letter of `Attr` tells the kind of a volume: `t` thin pool, `s` snapshot, `r` and `R` RAID, `m` and `M` mirror. A cache pool
//! that is 100 % full is at work, not full.
//!
//! ## Cannot know
//! How quickly it fills, whether writes to a full pool wait or fail (`lv_when_full`). Whether rows are missing.

use iowhy_model::typed::{ArrayAction, Share};
use iowhy_model::{Level, Sink, typed};

use crate::drive::health::Places;
use crate::facts::AddFact;
use crate::{Format, Reader, Sniff, Step, decimal};

/// Entry in the list of formats.
pub const FORMAT: Format = Format {
    name: "lvs",
    summary: "LVM's logical volumes: how full thin pools and snapshots are",
    manual: iowhy_model::manual!("lvs.rs"),
    level: Level::E,
    sniff: |lines| Sniff::from(lines.first().is_some_and(|line| is_heading(line))),
    reader: || Box::new(Lvs::default()),
};

fn is_heading(line: &str) -> bool {
    let mut words = line.split_whitespace();
    ["LV", "VG", "Attr", "LSize"].into_iter().all(|name| words.next() == Some(name))
}

/// `twi-aotzD-`: nine letters, ten since 2.02.99.
fn is_attributes(word: &str) -> bool {
    (9..=10).contains(&word.len()) && word.bytes().all(|b| b == b'-' || b.is_ascii_alphabetic())
}

/// A percentage, `100.00`; who quotes a row may have made it bold.
fn percent(word: &str) -> Option<f64> {
    let word = word.trim_matches('*');
    decimal(word).filter(|share| word.contains('.') && (0.0..=100.0).contains(share))
}

#[derive(Default)]
struct Lvs {
    places: Places,
    volumes: u64,
}

impl Reader for Lvs {
    fn line(&mut self, line: &str, sink: &mut dyn Sink) -> Step {
        let place = self.places.next(sink);
        let words: Vec<&str> = line.split_whitespace().collect();
        let [volume, group, attributes, _size, rest @ ..] = words.as_slice() else {
            return if words.is_empty() { Step::Took } else { Step::Passed };
        };
        if is_heading(line) {
            return Step::Took;
        }
        if !is_attributes(attributes) {
            return Step::Passed;
        }
        self.volumes += 1;
        let name = format!("{group}/{}", volume.trim_matches(['[', ']']));
        let shares: Vec<Share> =
            rest.iter().filter_map(|word| percent(word)).map(Share::from_percent).collect();
        let name = name.as_str();
        match (attributes.bytes().next(), shares.as_slice()) {
            (Some(b't'), [data, metadata, ..]) => {
                sink.add_fact_at(name, typed::POOL_DATA_USED, *data, &place);
                sink.add_fact_at(name, typed::POOL_METADATA_USED, *metadata, &place);
            }
            (Some(b's' | b'S'), [data, ..]) => {
                sink.add_fact_at(name, typed::POOL_DATA_USED, *data, &place);
            }
            (Some(b'r' | b'R' | b'm' | b'M'), [done, ..]) if *done != Share(1.0) => {
                sink.add_fact_at(name, typed::ARRAY_ACTION, ArrayAction::Resync, &place);
                sink.add_fact_at(name, typed::ARRAY_PERCENT, *done, &place);
            }
            _ => {}
        }
        Step::Took
    }

    fn resumes(&self) -> bool {
        true
    }

    fn finish(&mut self, sink: &mut dyn Sink) {
        sink.add_fact(None, typed::LVM_VOLUMES, self.volumes);
    }
}

#[cfg(test)]
mod tests {
    fn facts(text: &str) -> Vec<(String, String, f64)> {
        let recording = crate::scan::recorded(text);
        let all = recording.listings.iter().flat_map(|listing| &listing.facts);
        all.filter_map(|fact| {
            let name = recording.device_of(fact.device?).name.clone();
            Some((name, fact.key.to_string(), fact.value.number()?))
        })
        .collect()
    }

    #[test]
    fn a_pool_a_snapshot_and_a_volume_of_it() {
        let text = "  LV               VG     Attr       LSize  Pool     Origin Data%  Meta%  Move Log Cpy%Sync Convert\n  \
                    thinpool         vgpaas twi-aot-D- 80.00g                 100.00 0.12\n  \
                    [thinpool_tdata] vgpaas Twi-ao---- 80.00g\n  \
                    data             vgpaas Vwi-aot--- 70.00g thinpool        55.10\n  \
                    before           vg0    swi-a-s---  1.00g          root   62.50\n  \
                    cached           vg0    Cwi-aoC--- 90.00g [cache]  [root] 99.98  12.11           0.00\n  \
                    mirror           vg0    rwi-aor---  1.00g                                        100.00\n";
        let used = |name: &str, what: &str, share: f64| (name.to_string(), what.to_string(), share);
        let expected = [
            used("vgpaas/thinpool", "pool.data.used", 1.0),
            used("vgpaas/thinpool", "pool.metadata.used", 0.0012),
            used("vg0/before", "pool.data.used", 0.625),
        ];
        assert_eq!(facts(text), expected);
    }
}
