//! The files of an input: one per table and day, filled by runs of sorted rows.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use iowhy_model::Order as _;
use iowhy_model::{Edges, Recording, Source};
use jiff::tz::TimeZone;

use super::schema::{TABLE_KEY, Table, VERSION, VERSION_KEY};
use crate::clock;
use crate::parquet::{Codec, Column, ParquetFile};

/// Rows of a group at most.
const GROUP_ROWS: usize = 1 << 17;
/// Days of an input at most: each has files that are open at once.
const DAYS: usize = 366;
const DAY_NS: i64 = 86_400 * SECOND_NS;
pub(super) const SECOND_NS: i64 = 1_000_000_000;
/// The last day of the year 9999; beyond it, dates have no four digits.
const LAST_DAY: i64 = 2_932_896;

/// Opens the file of a table for a day, written as `2026-11-23`.
pub type OpenTable<'a> =
    Box<dyn FnMut(Table, &str, &About) -> io::Result<Box<dyn Write + 'a>> + 'a>;

/// The identity of an input.
#[derive(Clone, Debug, Default)]
pub struct About {
    /// When its first record was, ns since 1970.
    pub first_ns: Option<i64>,
    /// A sum over its first records.
    pub sum: Option<u32>,
    /// Its host names, by format.
    pub hosts: Vec<(String, String)>,
    /// The first format.
    pub format: String,
}

impl About {
    /// Notes the source and its host.
    pub fn add_host(&mut self, source: &Source) {
        if self.format.is_empty() {
            self.format.clone_from(&source.format);
        }
        if let Some(host) = &source.host {
            let known = (source.format.clone(), host.clone());
            if !self.hosts.contains(&known) && self.hosts.len() < 16 {
                self.hosts.push(known);
            }
        }
    }

    /// Adds to the sum: FNV-1a.
    pub fn mark(&mut self, bytes: impl Iterator<Item = u8>) {
        let sum = self.sum.unwrap_or(0x811c_9dc5);
        let add = |sum: u32, byte| (sum ^ u32::from(byte)).wrapping_mul(0x0100_0193);
        self.sum = Some(bytes.fold(sum, add));
    }
}

/// A file under way, and its rows so far.
type OpenFile<'a> = (ParquetFile<Box<dyn Write + 'a>>, u64);

/// The files that are open.
pub(super) struct Files<'a> {
    open: OpenTable<'a>,
    pub about: About,
    files: BTreeMap<(Table, i64), OpenFile<'a>>,
    columns: BTreeMap<Table, Vec<Column>>,
    days: BTreeSet<i64>,
}

impl<'a> Files<'a> {
    /// None yet.
    pub(super) fn new(open: OpenTable<'a>) -> Files<'a> {
        Files {
            open,
            about: About::default(),
            files: BTreeMap::new(),
            columns: BTreeMap::new(),
            days: BTreeSet::new(),
        }
    }

    /// Whether there may be a file for this moment; its day counts from now on.
    pub(super) fn holds(&mut self, at_ns: i64) -> bool {
        let day = day_of(at_ns);
        let fits =
            (0..=LAST_DAY).contains(&day) && (self.days.contains(&day) || self.days.len() < DAYS);
        if fits {
            self.days.insert(day);
            self.about.first_ns.get_or_insert(at_ns);
        }
        fits
    }

    /// The days that rows were taken for, else that on which the input began.
    pub(super) fn all_days(&self) -> Vec<i64> {
        match (self.days.is_empty(), self.about.first_ns) {
            (true, Some(first)) => {
                Some(day_of(first)).filter(|day| (0..=LAST_DAY).contains(day)).into_iter().collect()
            }
            _ => self.days.iter().copied().collect(),
        }
    }

    /// The first and the last of them.
    pub(super) fn days(&self) -> Option<(String, String)> {
        let days = self.all_days();
        Some((date(*days.first()?), date(*days.last()?)))
    }

    /// A run of sorted rows of one day.
    pub(super) fn write<T>(
        &mut self,
        table: Table,
        day: i64,
        rows: &[T],
        fill: impl Fn(&mut [Column], &T),
    ) -> io::Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        let columns = self.columns.entry(table).or_insert_with(|| table.empty());
        let (file, written) = match self.files.entry((table, day)) {
            std::collections::btree_map::Entry::Occupied(there) => there.into_mut(),
            std::collections::btree_map::Entry::Vacant(free) => {
                let out = (self.open)(table, &date(day), &self.about)?;
                free.insert((ParquetFile::new(out, Codec::Zstd)?, 0))
            }
        };
        for group in rows.chunks(GROUP_ROWS) {
            group.iter().for_each(|row| fill(columns, row));
            file.row_group(columns)?;
        }
        *written += rows.len() as u64;
        Ok(())
    }

    /// Ends all files; how many rows there are of each table.
    pub(super) fn finish(mut self) -> io::Result<Vec<(Table, u64)>> {
        let mut rows: BTreeMap<Table, u64> = BTreeMap::new();
        for ((table, _), (file, written)) in std::mem::take(&mut self.files) {
            *rows.entry(table).or_default() += written;
            let columns = self.columns.entry(table).or_insert_with(|| table.empty());
            file.finish(columns, &reported(table))?;
        }
        Ok(rows.into_iter().collect())
    }
}

/// The place of each device in the order of their names, as the rows of a run are sorted by it; a
/// device without a name comes first.
pub(super) fn ranks(known: &Recording) -> Vec<u32> {
    let devices = known.devices();
    let mut order: Vec<usize> = (0..devices.len()).collect();
    order.order_by(|a, b| devices[*a].name.cmp(&devices[*b].name));
    let mut ranks = vec![0; order.len()];
    order.iter().enumerate().for_each(|(rank, place)| ranks[*place] = rank as u32);
    ranks
}

/// The second of a moment, counted from 1970.
pub(super) fn second_of(at_ns: i64) -> i64 {
    at_ns.div_euclid(SECOND_NS)
}

/// The day of a moment, counted from 1970.
pub(super) fn day_of(at_ns: i64) -> i64 {
    at_ns.div_euclid(DAY_NS)
}

fn date(day: i64) -> String {
    let text = clock::date_and_time(day.saturating_mul(DAY_NS), &TimeZone::UTC);
    text.split(' ').next().unwrap_or_default().to_string()
}

fn reported(table: Table) -> [(&'static str, String); 2] {
    [(VERSION_KEY, VERSION.to_string()), (TABLE_KEY, table.name().to_string())]
}

/// What each bucket index means.
pub(super) fn write_buckets(out: &mut dyn Write) -> io::Result<()> {
    let mut columns = Table::Buckets.empty();
    let edges = Edges::standard();
    for bucket in 0..edges.buckets() {
        let [index, low, high] = &mut columns[..] else { break };
        index.number(Some(bucket as i64));
        low.number(Some(edges.low(bucket) as i64));
        high.number(Some(i64::try_from(edges.high(bucket)).unwrap_or(i64::MAX)));
    }
    let mut file = ParquetFile::new(out, Codec::Zstd)?;
    file.row_group(&mut columns)?;
    file.finish(&columns, &reported(Table::Buckets)).map(|_| ())
}
