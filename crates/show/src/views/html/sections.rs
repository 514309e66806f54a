//! The sections of the page, from the verdict down to the inputs.

use std::collections::HashMap;
use std::io::{self, Write};

use iowhy_model::Order as _;
use iowhy_model::{
    Blame, Edges, Finding, Forecast, Histogram, Name, NameTable, Op, OwnerNames, Quantile, Report,
    Requester, Severity, SingleIos, Time, Waiters, distributions,
};

use super::Pictured;
use super::drawn::{self, slowest as slowest_events};
use super::escape::{prose, text};
use crate::Style;
use crate::clock::Clock;
use crate::device_label;
use crate::map_figure::figures;
use crate::paint::{Tone, svg};
use crate::scale::stage_words;
use crate::sources::file_name;
use crate::verdict_figure;
use crate::words::{
    blame_headline, bound, by_journal, bytes, count, duration, explains, impact, quantity, several,
    share, sureness, tone,
};

/// Findings with all their numbers; the rest is named.
const AT_LENGTH: usize = 5;
/// Rows of the tables of single I/Os and of processes.
const ROWS: usize = 20;
/// Waiting processes that are on the first page.
const FIRST: usize = 5;
/// Evidence rows of a finding: a report is read by people, the JSON has them all.
const EVIDENCE: usize = 60;
/// The input of a live watch, and what the name of a bundled capture begins with.
const LIVE: &str = "live";
const EXAMPLE: &str = "example ";
/// Devices with a picture; the rest has its row in the table of histograms.
const PICTURES: usize = 16;

/// The blame and its reason in a line.
pub(super) fn title(report: &Report, finding: &Finding) -> String {
    let headline = blame_headline(finding);
    let table = NameTable::of(&report.recording);
    match device(report, finding) {
        Some(device) => match device_label::words(&table, device) {
            Some(words) => format!("{headline} ({device}: {words})"),
            None => format!("{headline} ({device})"),
        },
        None => headline.to_string(),
    }
}

fn device<'a>(report: &'a Report, finding: &Finding) -> Option<&'a str> {
    let id = finding.subject.device?;
    report.recording.devices().get(id.index()).map(|device| device.name.as_str())
}

/// The first finding in full.
pub(super) fn verdict(
    report: &Report,
    findings: &[&Finding],
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(first) = findings.first() else {
        return writeln!(
            out,
            "<h1>No finding</h1><p class=\"verdict\">The inputs contain nothing that can be \
             judged.</p>"
        );
    };
    let tone = tone(first);
    writeln!(
        out,
        "<h1>{}</h1>\n<div class=\"verdict {}\">\n<p>{}</p>\n<p class=\"id\">{}</p>",
        text(&title(report, first)),
        class(tone),
        prose(&first.sentence),
        text(first.verdict.name()),
    )?;
    writeln!(out, "<dl>")?;
    if let Some(known) = &first.impact {
        let severity = first.severity().filter(|_| !first.verdict.accuses_nobody());
        let severity = severity.map_or(String::new(), |severity| format!("{}: ", severity.word()));
        term(out, "impact", &format!("{severity}{}", impact(known)))?;
    }
    let owners = OwnerNames::of(&report.recording);
    let waits = |one| waits(one, &owners);
    let who: Vec<String> = first.requesters.iter().take(FIRST).filter_map(waits).collect();
    if !who.is_empty() {
        term(out, "who waits", &who.join(", "))?;
    }
    term(out, "confidence", &confidence(first))?;
    if let Some(of) = explains(first) {
        term(out, "explains", &format!("{} of {of}", share(first.explained_share)))?;
    }
    if let Some(known) = &first.forecast {
        term(out, "forecast", &forecast(known))?;
    }
    writeln!(out, "</dl>\n</div>")?;
    list(out, "What to do next", "ol", &first.next_step)?;
    list(out, "What would refute it", "ul", &first.refuted_by)?;
    Ok(())
}

/// Who waited for a device, with the share of the time.
fn waits(one: &Requester, owners: &OwnerNames) -> Option<String> {
    let name = text(one.program.as_deref().or(one.cgroup.as_deref())?);
    let file = one.file.as_deref().map_or(String::new(), |file| format!(" on {}", text(file)));
    let owner = one.cgroup.as_deref().and_then(|cgroup| owners.words(cgroup));
    let owner = owner.map_or(String::new(), |owner| format!(" ({})", text(&owner)));
    let journal = by_journal(one);
    Some(format!("{name}{owner} {}{file}{}", share(one.share), text(&journal)))
}

/// What is to be done about a finding.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ToDo {
    /// It is certain, explains enough and is noticeable.
    ActOn,
    /// It accuses and is less sure, or explains little.
    LookAt,
    /// It accuses nothing, is explained by another one, or is unnoticed.
    Note,
}

impl ToDo {
    fn about(finding: &Finding) -> ToDo {
        let unfelt = finding.severity() == Some(Severity::None);
        if finding.explained_by.is_some() || finding.verdict.accuses_nobody() || unfelt {
            ToDo::Note
        } else if finding.stands() {
            ToDo::ActOn
        } else {
            ToDo::LookAt
        }
    }

    fn heading(self) -> &'static str {
        match self {
            ToDo::ActOn => "Also needs action",
            ToDo::LookAt => "Look at",
            ToDo::Note => "Notes",
        }
    }
}

/// The other findings in a line each, in three classes; the last is folded, beside a timeline of
/// incidents the second as well.
pub(super) fn others(
    report: &Report,
    findings: &[&Finding],
    has_incidents: bool,
    out: &mut dyn Write,
) -> io::Result<()> {
    for class in [ToDo::ActOn, ToDo::LookAt, ToDo::Note] {
        let of_it = findings.iter().skip(1).filter(|one| ToDo::about(one) == class);
        let of_it: Vec<&&Finding> = of_it.collect();
        if of_it.is_empty() {
            continue;
        }
        let folded = class == ToDo::Note || class == ToDo::LookAt && has_incidents;
        match folded {
            true => writeln!(
                out,
                "<details><summary>{} ({})</summary>",
                class.heading(),
                count(of_it.len() as u64)
            )?,
            false => writeln!(out, "<h3>{}</h3>", class.heading())?,
        }
        writeln!(
            out,
            "<div class=\"scroll\"><table><tr><th class=\"w\">verdict\
             <th class=\"w\">device<th class=\"n\">confidence<th class=\"t\">what</tr>"
        )?;
        for finding in of_it {
            let what = match finding.explained_by {
                Some(by) => format!("consequence of {}", text(by.name())),
                None => prose(&finding.sentence),
            };
            writeln!(
                out,
                "<tr><td class=\"w\">{}<td class=\"w\">{}<td class=\"n\">{}<td \
                 class=\"t\">{what}</tr>",
                text(finding.verdict.name()),
                text(device(report, finding).unwrap_or("")),
                share(finding.confidence()),
            )?;
        }
        writeln!(out, "</table></div>{}", if folded { "</details>" } else { "" })?;
    }
    Ok(())
}

/// The numbers behind the findings.
pub(super) fn evidence(
    report: &Report,
    findings: &[&Finding],
    out: &mut dyn Write,
) -> io::Result<()> {
    let standing = findings.iter().filter(|finding| finding.explained_by.is_none());
    let some: Vec<&&Finding> = standing.take(AT_LENGTH).collect();
    if some.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h2 id=\"evidence\">Evidence</h2>")?;
    for (place, finding) in some.into_iter().enumerate() {
        let open = if place == 0 { " open" } else { "" };
        let of = device(report, finding).map_or(String::new(), |name| format!(", {name}"));
        writeln!(
            out,
            "<details{open}><summary>{}{}</summary>{}<div class=\"scroll\"><table>\
             <tr><th>quantity<th class=\"n\">value<th>threshold<th class=\"n\">n<th>basis\
             <th>source</tr>",
            text(finding.verdict.name()),
            text(&of),
            jump(finding),
        )?;
        for one in finding.evidence.iter().take(EVIDENCE) {
            writeln!(
                out,
                "<tr><td>{}<td class=\"n\">{}<td>{}<td class=\"n\">{}<td>{}<td>{}</tr>",
                text(&one.quantity),
                quantity(one.amount.value, one.amount.unit),
                text(&bound(one.bound, one.amount.unit)),
                count(one.n),
                one.how.word(),
                text(file_name(&one.origin.to_string())),
            )?;
        }
        writeln!(out, "</table></div>")?;
        let rest = finding.evidence.len().saturating_sub(EVIDENCE);
        if rest > 0 {
            writeln!(out, "<p class=\"note\">{rest} more rows are in the JSON download.</p>")?;
        }
        writeln!(out, "</details>")?;
    }
    Ok(())
}

/// A link to the picture of the device that a finding is about.
fn jump(finding: &Finding) -> String {
    let device = finding.subject.device.map(|id| id.index());
    device.map_or(String::new(), |k| {
        format!("<p class=\"note\"><a href=\"#device-{k}\">pictures of this device</a></p>")
    })
}

/// The picture of the first verdict, if it has one: steps of revolutions, or a queue.
pub(super) fn pattern(
    report: &Report,
    findings: &[&Finding],
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let first = findings.first();
    let Some(drawn) = first.and_then(|first| verdict_figure::of(report, first, style)) else {
        return Ok(());
    };
    writeln!(
        out,
        "<h2 id=\"pattern\">{}</h2>\n<div class=\"scroll\"><figure class=\"bars\">",
        drawn.heading
    )?;
    svg(&drawn.figure, out)?;
    writeln!(out, "<figcaption>{}</figcaption></figure></div>", text(&drawn.caption))
}

/// A heat map for each device: still without scripts, live with them.
pub(super) fn pictures(pictured: &Pictured, out: &mut dyn Write) -> io::Result<()> {
    let Pictured { report, style, .. } = pictured;
    let (mut drawn, left_out) = figures(report, style);
    if drawn.is_empty() {
        return Ok(());
    }
    // The accused devices come first, in the order of the findings.
    let rank = |device| report.findings.iter().position(|one| one.subject.device == Some(device));
    drawn.order_by_key(|one| rank(one.device).unwrap_or(usize::MAX));
    let all = drawn::variants(report, style);
    writeln!(out, "<h2 id=\"maps\">Latency over time</h2>")?;
    if let Some(words) = left_out {
        writeln!(out, "<p class=\"note\">{}</p>", text(&words))?;
    }
    let table = NameTable::of(&report.recording);
    for one in drawn.iter().take(PICTURES) {
        let name = report.recording.devices().get(one.device.index());
        let name = name.map_or("", |device| device.name.as_str());
        let places = all.iter().enumerate().filter(|(_, (_, map))| {
            (map.input, map.device.as_str(), map.stage) == (one.input, name, one.stage)
        });
        let places: Vec<String> = places.map(|(place, _)| place.to_string()).collect();
        writeln!(
            out,
            "<h3 id=\"device-{}\">{} <span class=\"faint\">{}</span></h3>\n\
             <div class=\"controls\"></div>\n<figure data-map=\"{}\">",
            one.device.index(),
            text(&device_label::label(&table, name)),
            stage_words(one.stage),
            places.join(",")
        )?;
        svg(&one.figure, out)?;
        writeln!(
            out,
            "<figcaption>y: latency; x: time of day if the input has it, else time on its own \
             clock; colour: I/Os per second, or time waited per second (to four \
             digits).</figcaption></figure>"
        )?;
    }
    let rest = drawn.len().saturating_sub(PICTURES);
    if rest > 0 {
        writeln!(out, "<p class=\"note\">{rest} more devices have no picture here.</p>")?;
    }
    Ok(())
}

/// A row for each device, operation and stage.
pub(super) fn histograms(pictured: &Pictured, out: &mut dyn Write) -> io::Result<()> {
    let Pictured { report, style, .. } = pictured;
    let recording = &report.recording;
    let mut rows = Vec::new();
    for listing in &recording.listings {
        for known in distributions(listing, &style.filter, &Edges::standard()) {
            let counted = &known.histogram;
            if counted.count() == 0 {
                continue;
            }
            let name = recording.devices().get(known.device.index());
            rows.push(format!(
                "<tr><td>{}<td>{}<td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}\
                 <td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}</tr>",
                text(name.map_or("", |device| device.name.as_str())),
                known.op.map_or("all", Op::name),
                known.stage.name(),
                count(counted.count()),
                mean(counted),
                percentile(counted, 0.5),
                percentile(counted, 0.99),
                percentile(counted, 0.999),
                counted.max_ns.map_or("-".to_string(), |ns| duration(ns as f64)),
            ));
        }
    }
    if rows.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2 id=\"percentiles\">Latency by device and operation</h2><div class=\"scroll\"><table>\
         <tr><th>device<th>operation<th>stage<th class=\"n\">I/Os<th class=\"n\">mean\
         <th class=\"n\">p50<th class=\"n\">p99<th class=\"n\">p99.9<th class=\"n\">max</tr>"
    )?;
    rows.iter().try_for_each(|row| writeln!(out, "{row}"))?;
    writeln!(
        out,
        "</table></div><p class=\"note\">A percentile is the upper edge of its bucket; it is \
         omitted if the sample is too small (p99 needs {} I/Os, p99.9 {}).</p>",
        count(Quantile::events_needed(0.99)),
        count(Quantile::events_needed(0.999)),
    )
}

/// The slowest single I/Os: a scatter with scripts, a table always.
pub(super) fn slowest(pictured: &Pictured, out: &mut dyn Write) -> io::Result<()> {
    let some = slowest_events(pictured, &pictured.style, ROWS);
    if some.is_empty() {
        return Ok(());
    }
    writeln!(
        out,
        "<h2 id=\"slowest\">Slowest I/Os</h2>\n<div class=\"controls\"></div>\n\
         <figure data-slow><figcaption>Each dot is one of the slowest I/Os; squares are \
         writes.</figcaption></figure>\n<div class=\"scroll\"><table><tr><th class=\"n\">latency\
         <th class=\"n\">Q2D<th>device<th>op<th class=\"n\">size<th class=\"n\">sector\
         <th>process<th class=\"n\">completed at</tr>"
    )?;
    let clocks = Clock::of_each(&pictured.report.recording);
    for (input, event) in some {
        let recording = &pictured.report.recording;
        let clock = clocks.get(input).copied().flatten();
        let at = |at: Time| match clock {
            Some(clock) => clock.of_day(at.ns(), 6, &pictured.style.zone),
            None => format!("{:.6} s", at.seconds()),
        };
        let device = recording.devices().get(event.device.index());
        let reported = |ns: Option<i64>| ns.map_or("-".to_string(), |ns| duration(ns as f64));
        writeln!(
            out,
            "<tr><td class=\"n\">{}<td class=\"n\">{}<td>{}<td>{}<td class=\"n\">{}\
             <td class=\"n\">{}<td>{}<td class=\"n\">{}</tr>",
            reported(event.longest().map(|(_, latency)| latency.ns())),
            reported(event.latency(iowhy_model::Stage::Queue).map(|latency| latency.ns())),
            text(device.map_or("", |device| device.name.as_str())),
            event.op.name(),
            event.bytes.map_or("-".to_string(), |size| bytes(f64::from(size))),
            event.sector.map_or("-".to_string(), |sector| sector.to_string()),
            event.comm.map_or("-".to_string(), |name| text(recording.text(name))),
            event.completed.map_or("-".to_string(), at),
        )?;
    }
    writeln!(out, "</table></div>")
}

/// By what the time waited is added up.
type Key = fn(&SingleIos) -> &Waiters;

/// Who waited: processes, control groups and files by time waited.
pub(super) fn who(pictured: &Pictured, out: &mut dyn Write) -> io::Result<()> {
    let Pictured { report, style, singles } = pictured;
    let keys: [(&str, Key); 3] = [
        ("process", |of| &of.processes),
        ("control group", |of| &of.cgroups),
        ("file", |of| &of.files),
    ];
    let mut headed = false;
    for (title, key) in keys {
        let mut sums: HashMap<Name, (u64, f64)> = HashMap::new();
        let mut all = 0.0;
        for ((device, op, name), (ios, waited_ns)) in singles.iter().flat_map(|one| key(one)) {
            if !style.filter.device(*device) || !style.filter.op(Some(*op)) {
                continue;
            }
            all += waited_ns;
            if let Some(name) = name {
                let sum = sums.entry(*name).or_default();
                *sum = (sum.0 + ios, sum.1 + waited_ns);
            }
        }
        if sums.is_empty() {
            continue;
        }
        if !headed {
            writeln!(out, "<h2 id=\"who\">Who waited</h2>")?;
            headed = true;
        }
        let mut rows: Vec<(&str, u64, f64)> = sums
            .into_iter()
            .map(|(name, (ios, waited))| (report.recording.text(name), ios, waited))
            .collect();
        rows.order_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(b.0)));
        let (first, rest) = rows.split_at(rows.len().min(FIRST));
        let head = format!(
            "<div class=\"scroll\"><table class=\"who\"><tr><th>{title}<th class=\"n\">I/Os\
             <th class=\"n\">time waited<th class=\"n\">share</tr>"
        );
        let table = |rows: &[(&str, u64, f64)]| -> String {
            let row = |(name, ios, waited): &(&str, u64, f64)| {
                format!(
                    "<tr><td>{}<td class=\"n\">{}<td class=\"n\">{}<td class=\"n\">{}</tr>\n",
                    text(name),
                    count(*ios),
                    duration(*waited),
                    share(waited / f64::max(all, 1.0)),
                )
            };
            format!("{head}{}</table></div>", rows.iter().map(row).collect::<String>())
        };
        writeln!(out, "{}", table(first))?;
        let rest = &rest[..rest.len().min(ROWS - FIRST)];
        if !rest.is_empty() {
            let more = several(rest.len() as u64, "more row");
            writeln!(out, "<details><summary>{more}</summary>{}</details>", table(rest))?;
        }
    }
    Ok(())
}

/// The inputs, and what is missing.
pub(super) fn inputs(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    writeln!(
        out,
        "<h2 id=\"inputs\">Inputs</h2><div class=\"scroll\"><table><tr><th>input<th>format\
         <th>level<th class=\"n\">records<th class=\"n\">skipped<th class=\"n\">lost</tr>"
    )?;
    for listing in &report.recording.listings {
        let source = &listing.source;
        writeln!(
            out,
            "<tr><td>{}<td>{}<td>{}, {}<td class=\"n\">{}<td class=\"n\">{}\
             <td class=\"n{}\">{}</tr>",
            text(&source.place()),
            text(&source.format),
            source.level.letter(),
            source.level.words(),
            count(source.records),
            count(source.skipped),
            if source.lost() > 0 { " lost" } else { "" },
            count(source.lost()),
        )?;
    }
    writeln!(out, "</table></div>")?;
    let mut items = Vec::new();
    for listing in &report.recording.listings {
        let source = &listing.source;
        for loss in &source.losses {
            let (n, what) = (count(loss.count), text(&loss.what));
            items.push(format!("<span class=\"lost\">lost {n}</span> {what}"));
        }
        for note in &source.notes {
            let quoted = match note.text.trim() {
                "" => String::new(),
                line => format!(": <code>{}</code>", text(line)),
            };
            items.push(format!(
                "{}, line {}: {}{quoted}",
                text(&source.input),
                note.line,
                prose(&note.reason)
            ));
        }
    }
    for (input, lines) in report.recording.prose.iter().filter(|(_, lines)| *lines > 0) {
        items.push(format!("{}: {} lines are not part of any listing", text(input), lines));
    }
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "<ul class=\"note\">")?;
    items.iter().try_for_each(|item| writeln!(out, "<li>{item}</li>"))?;
    writeln!(out, "</ul>")
}

/// Files that a command names.
const NAMED: usize = 4;

/// The commands that show the same numbers; of a watch, those that watch the same again.
pub(super) fn reproduce(
    report: &Report,
    findings: &[&Finding],
    style: &Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let from = match again(report, findings, style) {
        Some(again) => again,
        None => inputs_as_words(report),
    };
    writeln!(out, "<h2 id=\"reproduce\">Reproduce and download</h2><dl>")?;
    for (what, command) in [
        ("verdict", "iowhy why -v"),
        ("maps", "iowhy map"),
        ("percentiles", "iowhy hist"),
        ("slowest", "iowhy snoop --over 10ms"),
        ("numbers", "iowhy why --json"),
    ] {
        term(out, what, &format!("<code>{command} {}</code>", text(&from)))?;
    }
    writeln!(out, "</dl><p id=\"downloads\" class=\"controls\"></p></main>")
}

/// Options that watch the machine again as the report did; `None` if it is of captures.
fn again(report: &Report, findings: &[&Finding], style: &Style) -> Option<String> {
    let mut listings = report.recording.listings.iter().map(|listing| &listing.source);
    let watched = listings.find(|source| source.input == LIVE)?.watched;
    let seconds = watched.map_or(10.0, |length| length.seconds().ceil().max(1.0));
    let accused = || findings.first().and_then(|first| device(report, first));
    let asked = style.filter.devices.iter();
    let asked = asked.filter_map(|id| report.recording.devices().get(id.index()));
    let mut names: Vec<&str> = asked.map(|device| device.name.as_str()).collect();
    if names.is_empty() {
        names.extend(accused());
    }
    let names: String = names.into_iter().map(|name| format!(" -d {}", shell(name))).collect();
    Some(format!("--for {seconds:.0}s{names}"))
}

/// The inputs, as a command names them.
fn inputs_as_words(report: &Report) -> String {
    let mut files: Vec<&str> = Vec::new();
    for listing in &report.recording.listings {
        if files.len() == NAMED {
            break;
        }
        if !files.contains(&listing.source.input.as_str()) {
            files.push(&listing.source.input);
        }
    }
    let word = |input: &&str| match input.strip_prefix(EXAMPLE) {
        Some(name) => format!("--example {}", shell(name)),
        None => shell(input),
    };
    files.iter().map(word).collect::<Vec<String>>().join(" ")
}

/// A file name as one word of a shell.
fn shell(name: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "._-/+=@%,:".contains(c);
    if !name.is_empty() && name.chars().all(plain) {
        name.to_string()
    } else {
        format!("'{}'", name.replace('\'', "'\\''"))
    }
}

/// A label and a value; the value is markup.
fn term(out: &mut dyn Write, label: &str, value: &str) -> io::Result<()> {
    writeln!(out, "<dt>{label}</dt><dd>{value}</dd>")
}

fn list(out: &mut dyn Write, title: &str, tag: &str, items: &[String]) -> io::Result<()> {
    if items.is_empty() {
        return Ok(());
    }
    writeln!(out, "<h3>{title}</h3><{tag}>")?;
    items.iter().try_for_each(|item| writeln!(out, "<li>{}</li>", prose(item)))?;
    writeln!(out, "</{tag}>")
}

fn class(tone: Tone) -> &'static str {
    match tone {
        Tone::Good => "good",
        Tone::Warn => "warn",
        Tone::Bad => "bad",
        Tone::Accent => "accent",
        Tone::Plain | Tone::Faint | Tone::Exact(_) => "",
    }
}

/// Confidence in percent and in words; for `insufficient` it is not a probability.
fn confidence(finding: &Finding) -> String {
    match finding.blames() {
        Blame::Unknown => "none: the evidence supports no verdict".to_string(),
        _ => format!("{}, {}", share(finding.confidence()), sureness(finding.confidence())),
    }
}

fn forecast(forecast: &Forecast) -> String {
    let reported = |ns: i64| duration(ns as f64);
    let after = match forecast.range {
        Some((from, to)) => format!("{} to {}", reported(from.ns()), reported(to.ns())),
        None => reported(forecast.mean.ns()),
    };
    format!(
        "mean latency {} now, {after} after the fix, assuming {}",
        reported(forecast.now_mean.ns()),
        text(&forecast.assuming)
    )
}

fn mean(counted: &Histogram) -> String {
    match counted.mean_ns() {
        Some((mean, true)) => duration(mean),
        Some((mean, false)) => format!("≈ {}", duration(mean)),
        None => "-".to_string(),
    }
}

fn percentile(counted: &Histogram, q: f64) -> String {
    counted.quantile(q).map_or("-".to_string(), |known| match known.high_ns {
        u64::MAX => format!("&gt; {}", duration(known.low_ns as f64)),
        high => duration(high as f64),
    })
}
