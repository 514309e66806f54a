//! Before and after: what differs between the captures of the report and those named by `--before`.

use std::io::{self, Write};

use iowhy_model::{Comparison, Difference, Report, Unit};

use super::escape::{prose, text};
use super::{Before, Pictured};
use crate::Style;
use crate::comparison::headline;
use crate::map_figure::figures;
use crate::paint::svg;
use crate::words::{quantity, share, three};

/// Rows of what does not differ.
const ALIKE: usize = 6;
/// Maps of the state before that are drawn.
const PICTURES: usize = 4;

/// The section.
pub(super) fn section(
    before: &Before,
    after: &Report,
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Comparison { sides, differences, tests, .. } = before.comparison;
    writeln!(
        out,
        "<h2 id=\"before\">Before and after</h2>\n<p>{}</p><p>A is before, B is after.</p><dl>",
        prose(&headline(before.comparison))
    )?;
    for (letter, side) in ["A", "B"].iter().zip(sides) {
        let verdict = side.verdicts.first().map_or_else(
            || "no verdict".to_string(),
            |one| format!("{} ({})", one.verdict.name(), share(one.confidence)),
        );
        writeln!(
            out,
            "<dt>{letter}</dt><dd>{}: {}, {} records</dd>",
            text(&side.name),
            text(&verdict),
            side.records
        )?;
    }
    writeln!(
        out,
        "</dl><div class=\"scroll\"><table><tr><th>requests<th>quantity<th class=\"n\">A\
         <th class=\"n\">B<th class=\"n\">B/A<th>95 % interval<th>differs<th class=\"n\">n of A\
         <th class=\"n\">n of B</tr>"
    )?;
    let differing = differences.iter().filter(|one| one.differs);
    let alike = differences.iter().filter(|one| !one.differs).take(ALIKE);
    differing.chain(alike).try_for_each(|one| row(one, out))?;
    writeln!(
        out,
        "</table></div><p>{tests} quantities tested; probabilities corrected by Holm's method, \
         intervals by a seeded block bootstrap.</p>"
    )?;
    let pictured = Pictured::of(before.report, style);
    let (maps, _) = figures(&pictured.report, &pictured.style);
    let shown = maps.iter().filter(|map| has_device(before.report, after, map.device));
    for (place, map) in shown.take(PICTURES).enumerate() {
        let device = before.report.recording.devices().get(map.device.index());
        let name = device.map_or("", |device| device.name.as_str());
        let open = if place == 0 { " open" } else { "" };
        writeln!(out, "<details{open}><summary>before: {}</summary>", text(name))?;
        svg(&map.figure, out)?;
        writeln!(out, "</details>")?;
    }
    Ok(())
}

/// Whether the report is about that device too, or the two have no device in common.
fn has_device(before: &Report, after: &Report, device: iowhy_model::DeviceId) -> bool {
    let names = |report: &Report| -> Vec<String> {
        report.recording.devices().iter().map(|device| device.name.clone()).collect()
    };
    let (then, now) = (names(before), names(after));
    let in_both = |name: &String| now.contains(name);
    !then.iter().any(in_both) || then.get(device.index()).is_some_and(in_both)
}

fn row(one: &Difference, out: &mut dyn Write) -> io::Result<()> {
    let value = |side: usize| {
        let known = one.values.get(side).copied().flatten();
        known.map_or("-".to_string(), |value| text(&quantity(value, one.unit)))
    };
    let ratio = one.ratio.map_or("-".to_string(), |ratio| quantity(ratio, Unit::Ratio));
    let interval = one
        .interval
        .map_or(String::new(), |(low, high)| format!("{} to {}", three(low), three(high)));
    writeln!(
        out,
        "<tr><td>{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{ratio}<td>{interval}\
         <td>{}<td class=\"n\">{}<td class=\"n\">{}</tr>",
        text(&one.group),
        text(one.quantity),
        value(0),
        value(1),
        if one.differs { "yes" } else { "not significant or not testable" },
        one.n[0],
        one.n[1],
    )
}
