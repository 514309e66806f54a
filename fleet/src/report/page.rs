//! The page: verdict, maps, accused disks, what they share, since when, what was not judged.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use iowhy_show::RowMap;
use iowhy_show::views::html::{begin, prose, text};

use crate::place::Place;
use crate::why::Subject;
use crate::why::accusations::expected;
use crate::why::accusations::{Accusation, PEERS, Verdicts};
use crate::why::expected::median;
use crate::why::hours::Disks;
use crate::why::words;

/// Rows of a map, and its columns.
const ROWS: usize = 60;
const COLUMNS: usize = 168;
/// Accusations of disks that are reported in full.
const FULLY_REPORTED: usize = 100;
/// Rows of a table.
const LISTED: usize = 40;
/// Below this factor a cell is as fast as its peers; from the other on it has the last colour.
const LEAST: f64 = 1.1;
const MOST: f64 = 8.0;

/// An excess by hour.
type Row = Vec<Option<f64>>;

/// Writes the page.
///
/// # Errors
/// If the writer fails.
pub fn write(
    disks: &Disks,
    verdicts: &Verdicts,
    folders: &[Place],
    out: &mut dyn Write,
) -> io::Result<()> {
    let headline = words::headline(verdicts);
    begin(&format!("iowhy-fleet: {headline}"), None, out)?;
    let kind = match (verdicts.accused.is_empty(), verdicts.judged) {
        (_, 0) => "warn",
        (true, _) => "good",
        _ => "bad",
    };
    writeln!(out, "<div class=\"verdict {kind}\">\n<h1>{}</h1>", text(&headline))?;
    writeln!(out, "<p>{}</p>", text(&words::compared(disks, verdicts)))?;
    if let Some(averaged) = words::averaged(disks) {
        writeln!(out, "<p>{}</p>", text(&averaged))?;
    }
    writeln!(out, "</div>")?;
    let excess = expected(disks).excesses(disks);
    maps(disks, verdicts, &excess, out)?;
    accusations(disks, verdicts, out)?;
    shared(disks, verdicts, out)?;
    since(disks, verdicts, out)?;
    left_out(disks, verdicts, &excess, out)?;
    writeln!(out, "<h2>Reproduce</h2>")?;
    let names: Vec<String> = folders.iter().map(|one| words::word(&one.to_string())).collect();
    writeln!(
        out,
        "<p><code>{}</code></p>\n</body>\n</html>",
        text(&format!("iowhy-fleet report {} -o fleet.html", names.join(" ")))
    )
}

/// Hosts against time and disks against time, those that lost most first.
fn maps(disks: &Disks, verdicts: &Verdicts, excess: &[Row], out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>Map</h2>")?;
    writeln!(
        out,
        "<p>How many times slower than the median disk of the model at the same load, before \
         shared effects are subtracted. Where nothing is drawn there was too little I/O or no peer \
         at that load.</p>"
    )?;
    let mut hosts: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (place, disk) in disks.disks.iter().enumerate() {
        hosts.entry(&disk.host).or_default().push(place);
    }
    let of_host = |members: &Vec<usize>| -> Row {
        let at =
            |hour: usize| median(members.iter().filter_map(|disk| excess[*disk][hour]).collect());
        (0..disks.hours).map(at).collect()
    };
    let rows = hosts.iter().map(|(host, members)| ((*host).to_string(), false, of_host(members)));
    map(disks, "Hosts", "host: the median of its disks", rows.collect(), out)?;
    let named = verdicts.disks();
    let rows = disks.disks.iter().enumerate().map(|(place, disk)| {
        let sign = if named.contains(&place) { "* " } else { "" };
        let name = format!("{sign}{} {}", disk.host, disk.device);
        (name, named.contains(&place), excess[place].clone())
    });
    map(disks, "Disks", "disk; those with * are accused", rows.collect(), out)
}

/// Rows with their names and whether they are accused: these first, then by what they lost.
fn map(
    disks: &Disks,
    title: &str,
    of: &str,
    mut rows: Vec<(String, bool, Row)>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let lost = |row: &Row| row.iter().flatten().map(|value| value.max(0.0)).sum::<f64>();
    rows.sort_by(|a, b| b.1.cmp(&a.1).then(lost(&b.2).total_cmp(&lost(&a.2))).then(a.0.cmp(&b.0)));
    let all = rows.len();
    rows.truncate(ROWS);
    let hours = disks.hours.div_ceil(COLUMNS).max(1);
    let place = |times: f64| (times.ln() / MOST.ln()).clamp(0.0, 1.0);
    let cell = |part: &[Option<f64>]| {
        let known: Vec<f64> = part.iter().flatten().copied().collect();
        let mean = known.iter().sum::<f64>() / known.len().max(1) as f64;
        (!known.is_empty()).then(|| if mean < LEAST.ln() { 0.0 } else { place(mean.exp()) })
    };
    let columns = disks.hours.div_ceil(hours);
    let apart = columns.div_ceil(6).max(1);
    let figure = RowMap {
        rows: rows
            .into_iter()
            .map(|(name, _, row)| (name, row.chunks(hours).map(cell).collect()))
            .collect(),
        times: (0..columns)
            .step_by(apart)
            .map(|at| (at, words::minute(disks, at * hours)))
            .collect(),
        legend: [
            (0.0, "not slower"),
            (place(1.2), "1.2"),
            (place(2.0), "2"),
            (place(4.0), "4"),
            (1.0, "8 times or more"),
        ]
        .map(|(place, label)| (place, label.to_string()))
        .to_vec(),
    };
    writeln!(out, "<h3>{title}</h3>\n<figure>")?;
    figure.svg(out)?;
    let shown = match all > ROWS {
        true => format!("{ROWS} of {all} rows, those with most time lost"),
        false => format!("{all} rows"),
    };
    let each = words::many(hours, "hour");
    writeln!(
        out,
        "<figcaption>One row is a {of}; {shown}. A column is {each}, UTC.</figcaption>\n</figure>"
    )
}

fn accusations(disks: &Disks, verdicts: &Verdicts, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "<h2>Accused</h2>")?;
    if verdicts.accused.is_empty() {
        writeln!(out, "<p>None.</p>")?;
    }
    let is_disk = |one: &&Accusation| matches!(one.whom, Subject::Disk(_));
    let groups = verdicts.accused.iter().filter(|one| !is_disk(one));
    let reported = groups.chain(verdicts.accused.iter().filter(is_disk).take(FULLY_REPORTED));
    for one in reported {
        writeln!(out, "<h3>{}</h3>\n<dl>", text(&words::sentence(disks, one)))?;
        let mut line = |name: &str, html: String| writeln!(out, "<dt>{name}</dt><dd>{html}</dd>");
        line("because", text(&words::evidence(one)))?;
        if let Some(figures) = words::figures(one) {
            line("mean", text(&figures))?;
        }
        line("risk", text(&words::risk(disks, one)))?;
        line("wrong if", text(words::refuted(one)))?;
        // Whose backticks are code, and whose are a name's, is not the page's to guess.
        line(
            "single I/Os",
            match words::command(disks, one) {
                Some(command) if command.matches('`').count() == 2 => prose(&command),
                other => text(&other.unwrap_or_default()),
            },
        )?;
        writeln!(out, "</dl>")?;
    }
    let more = verdicts.accused.iter().filter(is_disk).count().saturating_sub(FULLY_REPORTED);
    if more > 0 {
        writeln!(
            out,
            "<p class=\"note\">{} more: <code>iowhy-fleet why -v</code> shows all.</p>",
            words::many(more, "disk")
        )?;
    }
    Ok(())
}

/// What the accused disks share, beside how many disks of the fleet do.
fn shared(disks: &Disks, verdicts: &Verdicts, out: &mut dyn Write) -> io::Result<()> {
    let mut all: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
    let named: BTreeSet<usize> = verdicts.accused.iter().flat_map(|one| one.disks(disks)).collect();
    for (place, disk) in disks.disks.iter().enumerate() {
        let own = [
            ("model", disk.model.clone()),
            ("firmware", format!("{} {}", disk.model, disk.firmware)),
            ("host", disk.host.clone()),
        ];
        let own = own.map(|(kind, value)| (kind.to_string(), value)).into_iter();
        for key in own.chain(disk.labels.clone()) {
            let known = all.entry(key).or_default();
            known.0 += usize::from(named.contains(&place));
            known.1 += 1;
        }
    }
    let mut rows: Vec<_> = all.into_iter().filter(|(_, (slow, _))| *slow > 1).collect();
    rows.sort_by(|((_, a), x), ((_, b), y)| {
        let share = |of: &(usize, usize)| of.0 as f64 / of.1 as f64;
        share(y).total_cmp(&share(x)).then(y.0.cmp(&x.0)).then(a.cmp(b))
    });
    writeln!(out, "<h2>What they share</h2>")?;
    if rows.is_empty() {
        return writeln!(
            out,
            "<p>No two disks that are accused, by themselves or with their group, share anything \
             known.</p>"
        );
    }
    writeln!(
        out,
        "<p>Disks that are accused, by themselves or with their group. In the whole fleet: {} of \
         {}.</p>\n\
         <div class=\"scroll\"><table>\n<tr><th>what</th><th>value</th><th \
         class=\"n\">accused</th><th class=\"n\">disks</th><th class=\"n\">share</th></tr>",
        named.len(),
        disks.disks.len()
    )?;
    let more = rows.len().saturating_sub(LISTED);
    for ((kind, value), (slow, of)) in rows.into_iter().take(LISTED) {
        writeln!(
            out,
            "<tr><td>{}</td><td>{}</td><td class=\"n\">{slow}</td><td class=\"n\">{of}</td><td \
             class=\"n\">{:.0} %</td></tr>",
            text(&kind),
            text(&value),
            100.0 * slow as f64 / of as f64
        )?;
    }
    writeln!(out, "</table></div>")?;
    rest(more, out)
}

fn rest(more: usize, out: &mut dyn Write) -> io::Result<()> {
    match more {
        0 => Ok(()),
        more => writeln!(out, "<p class=\"note\">{} more.</p>", words::many(more, "row")),
    }
}

fn since(disks: &Disks, verdicts: &Verdicts, out: &mut dyn Write) -> io::Result<()> {
    if verdicts.accused.is_empty() {
        return Ok(());
    }
    let mut rows: Vec<&Accusation> = verdicts.accused.iter().collect();
    rows.sort_by_key(|one| one.stretch.from);
    writeln!(
        out,
        "<h2>Since when</h2>\n<div \
         class=\"scroll\"><table>\n<tr><th>from</th><th>until</th><th>who</th><th \
         class=\"n\">times slower</th></tr>"
    )?;
    let more = rows.len().saturating_sub(LISTED);
    for one in rows.into_iter().take(LISTED) {
        let until = match one.stretch.to == disks.hours {
            true => "the end".to_string(),
            false => words::when(disks, one.stretch.to),
        };
        writeln!(
            out,
            "<tr><td class=\"w\">{}</td><td class=\"w\">{until}</td><td>{}</td><td \
             class=\"n\">{:.2}</td></tr>",
            words::when(disks, one.stretch.from),
            text(&words::name(disks, one)),
            one.stretch.excess.exp()
        )?;
    }
    writeln!(out, "</table></div>")?;
    rest(more, out)
}

fn left_out(
    disks: &Disks,
    verdicts: &Verdicts,
    excess: &[Row],
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "<h2>Not judged</h2>\n<ul>")?;
    for one in verdicts.generations.iter().take(LISTED) {
        writeln!(out, "<li>{}.</li>", text(&words::generation(disks, one)))?;
    }
    let mut models: BTreeMap<&str, usize> = BTreeMap::new();
    let (mut hours, mut compared) = (0, 0);
    for (disk, excess) in disks.disks.iter().zip(excess) {
        *models.entry(&disk.model).or_default() += 1;
        let known =
            |hour: &usize| disk.hours.iter().any(|op| op.get(*hour).is_some_and(Option::is_some));
        hours += (0..disks.hours).filter(known).count();
        compared += excess.iter().flatten().count();
    }
    writeln!(
        out,
        "<li>{}, of models with fewer than {PEERS} of them, at loads that no others had, or known \
         in fewer than two hours of three.</li>",
        words::many(verdicts.alone, "disk")
    )?;
    for (model, n) in models.iter().filter(|(_, n)| **n < PEERS).take(LISTED) {
        let model = if model.is_empty() { "no model reported" } else { model };
        writeln!(out, "<li>{}: {}.</li>", text(model), words::many(*n, "disk"))?;
    }
    writeln!(
        out,
        "<li>{} of {} of a disk, at a load that fewer than five disks of its model had.</li>",
        hours - compared,
        words::many(hours, "hour")
    )?;
    writeln!(
        out,
        "<li>Hours with fewer than 30 reads and fewer than 30 writes, flushes and discards, and \
         tail latency that does not change the hourly mean.</li>\n</ul>"
    )
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::why::accusations::judge;
    use crate::why::hours::{Disk, Hour};

    const HOSTILE: &str = "<script>alert(1)</script>\"><img src=x onerror=alert(1)>";

    /// Twelve disks of two days, the fourth slower from an hour on; all that has a name has a
    /// hostile one.
    fn fleet() -> Disks {
        let noise = |hour: usize, disk: usize| ((hour * 31 + disk * 17) % 7) as f64 * 0.01;
        let disk = |place: usize| {
            let hour = |hour: usize| {
                let faulty = if place == 3 && hour >= 20 { 1.0 } else { 0.0 };
                let latency = 1e6f64.ln() + noise(hour, place) + faulty;
                Some(Hour { latency, load: 100f64.ln(), ios: 360_000, bytes: 4096.0 })
            };
            Disk {
                host: format!("h{place}{HOSTILE}"),
                device: format!("sda`{HOSTILE}"),
                model: HOSTILE.to_string(),
                firmware: HOSTILE.to_string(),
                labels: [(HOSTILE.to_string(), HOSTILE.to_string())].into(),
                hours: [(0..48).map(hour).collect(), vec![None; 48], vec![None; 48]],
                is_averaged: false,
            }
        };
        Disks { disks: (0..12).map(disk).collect(), first_s: 1_794_787_200, hours: 48 }
    }

    #[test]
    fn hostile_names_stay_text() -> io::Result<()> {
        let disks = fleet();
        let verdicts = judge(&disks);
        assert!(verdicts.accused.iter().any(|one| one.whom == Subject::Disk(3)), "{verdicts:?}");
        let mut page = Vec::new();
        write(&disks, &verdicts, &[Path::new(HOSTILE).into()], &mut page)?;
        let page = String::from_utf8_lossy(&page);
        assert!(!page.contains("<script") && !page.contains("<img"), "{page}");
        assert!(page.contains("&lt;script&gt;"), "the names are not there");
        for wanted in [
            "script-src 'none'",
            "1 DISK SLOWER",
            "<svg",
            "What they share",
            "Since when",
            "Not judged",
        ] {
            assert!(page.contains(wanted), "{wanted}");
        }
        // What is accused is marked on the map, and lost for 28 of 48 hours.
        assert!(page.contains("* h3"), "{page}");
        Ok(())
    }

    #[test]
    fn a_fleet_without_a_slow_disk_has_a_page() -> io::Result<()> {
        let mut disks = fleet();
        disks.disks[3] = Disk { host: "other".to_string(), ..disks.disks[2].clone() };
        let verdicts = judge(&disks);
        let mut page = Vec::new();
        write(&disks, &verdicts, &[], &mut page)?;
        let page = String::from_utf8_lossy(&page);
        assert!(page.contains("NO DISK STANDS OUT") && page.contains("<p>None.</p>"), "{page}");
        Ok(())
    }
}
