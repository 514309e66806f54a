//! Man pages: `iowhy(1)`, one of section 1 for each command, `iowhy-formats(7)` and
//! `iowhy-verdicts(7)`.
//!
//! A page comes from the same two sources as `--help` and `iowhy explain`: the definition of the
//! command line and the headers of the source files, so they cannot disagree.

use clap_mangen::Man;
use roff::{Inline, Roff, bold, roman};

use crate::command;
use crate::manual::{self, Entry, Line};

/// Lists with a page of their own in section 7, and its heading.
const LISTS: [(&str, &str); 2] = [
    ("formats", "formats of captured output that iowhy reads"),
    ("verdicts", "causes of slow I/O that iowhy distinguishes"),
];

/// The page of this name: nothing or `iowhy`, a command, `formats` or `verdicts`. `None` if there
/// is none.
///
/// # Errors None, because it writes to memory.
pub(crate) fn page(name: &str) -> std::io::Result<Option<Vec<u8>>> {
    let entries = manual::entries();
    if let Some((list, about)) = LISTS.into_iter().find(|(list, _)| *list == name) {
        let entries = entries.iter().filter(|entry| entry.family == list);
        return list_page(list, about, entries).map(Some);
    }
    let mut line = command::line();
    line.build();
    if matches!(name, "" | "iowhy") {
        return whole(line, &entries).map(Some);
    }
    let command = line.find_subcommand(name).cloned();
    let entry = entries.iter().find(|entry| entry.family == "commands" && entry.name == name);
    let (Some(command), Some(entry)) = (command, entry) else { return Ok(None) };
    let man = dress(Man::new(command));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    body(&mut roff, entry.source, "SH");
    page.extend(roff.render().bytes());
    man.render_options_section(&mut page)?;
    see_also(&mut page, &[("iowhy", 1), ("iowhy-formats", 7), ("iowhy-verdicts", 7)]);
    Ok(Some(page))
}

/// The page of the program: its commands, how it ends, its files.
fn whole(line: clap::Command, entries: &[Entry]) -> std::io::Result<Vec<u8>> {
    let man = dress(Man::new(line.clone()));
    let mut page = Vec::new();
    man.render_title(&mut page)?;
    man.render_name_section(&mut page)?;
    man.render_synopsis_section(&mut page)?;
    let mut roff = Roff::new();
    roff.control("SH", ["DESCRIPTION"]);
    for paragraph in line.get_after_help().map(ToString::to_string).unwrap_or_default().lines() {
        roff.control("PP", []);
        roff.text(inline(paragraph));
    }
    roff.control("SH", ["COMMANDS"]);
    for entry in entries.iter().filter(|entry| entry.family == "commands") {
        roff.control("TP", []);
        roff.text([bold(format!("iowhy-{}", entry.name)), roman("(1)")]);
        roff.text(inline(entry.summary));
    }
    roff.control("SH", ["EXIT STATUS"]);
    for (status, meaning) in crate::command::STATUSES {
        roff.control("TP", []);
        roff.text([bold(status.to_string())]);
        roff.text(inline(meaning));
    }
    page.extend(roff.render().bytes());
    let commands: Vec<String> = entries
        .iter()
        .filter(|entry| entry.family == "commands")
        .map(|entry| format!("iowhy-{}", entry.name))
        .collect();
    let mut others: Vec<(&str, u8)> = commands.iter().map(|name| (name.as_str(), 1)).collect();
    others.extend([("iowhy-formats", 7), ("iowhy-verdicts", 7)]);
    see_also(&mut page, &others);
    Ok(page)
}

/// A page of section 7: every entry of a list, one after the other.
fn list_page<'a>(
    list: &str,
    about: &str,
    entries: impl Iterator<Item = &'a Entry>,
) -> std::io::Result<Vec<u8>> {
    let mut roff = Roff::new();
    let title = format!("IOWHY-{}", list.to_uppercase());
    let source = concat!("iowhy ", env!("CARGO_PKG_VERSION"));
    roff.control("TH", [title.as_str(), "7", "", source, "iowhy manual"]);
    roff.control("SH", ["NAME"]);
    roff.text([roman(format!("iowhy-{list} - {about}"))]);
    for entry in entries {
        roff.control("SH", [entry.name]);
        body(&mut roff, entry.source, "SS");
    }
    let mut page = roff.render().into_bytes();
    see_also(&mut page, &[("iowhy", 1), ("iowhy-explain", 1)]);
    Ok(page)
}

fn dress(man: Man) -> Man {
    // No date: the same source always gives the same page.
    man.date("").source(concat!("iowhy ", env!("CARGO_PKG_VERSION"))).manual("iowhy manual")
}

/// A manual's text, with its headings as `heading` (`SH` or `SS`).
fn body(roff: &mut Roff, source: &str, heading: &str) {
    let mut as_it_stands = false;
    for line in manual::lines(source) {
        let verbatim = match line {
            Line::Code(_) => true,
            Line::Text(text) => text.starts_with("    ") || text.starts_with('|'),
            Line::Heading(_) => false,
        };
        if verbatim != as_it_stands {
            roff.control(if verbatim { "nf" } else { "fi" }, []);
            as_it_stands = verbatim;
        }
        match line {
            Line::Heading(title) => {
                roff.control(heading, [title.to_uppercase().as_str()]);
            }
            Line::Text("") => {
                roff.control("PP", []);
            }
            Line::Code(code) => {
                roff.text([roman(format!("    {code}"))]);
            }
            Line::Text(text) => match text.strip_prefix("- ") {
                Some(item) => {
                    roff.control("IP", ["-", "2"]);
                    roff.text(inline(item));
                }
                // An example is a command with its purpose, on a line of its own.
                None if text.starts_with("`iowhy ") => {
                    roff.control("PP", []);
                    roff.text(inline(text));
                }
                None => {
                    roff.text(inline(text));
                }
            },
        }
    }
    if as_it_stands {
        roff.control("fi", []);
    }
}

/// Text with words in backticks in bold.
fn inline(text: &str) -> Vec<Inline> {
    let part = |(at, part): (usize, &str)| if at % 2 == 1 { bold(part) } else { roman(part) };
    text.split('`').enumerate().map(part).collect()
}

fn see_also(page: &mut Vec<u8>, pages: &[(&str, u8)]) {
    let mut roff = Roff::new();
    roff.control("SH", ["SEE ALSO"]);
    let mut line = Vec::new();
    for (at, (name, section)) in pages.iter().enumerate() {
        let end = if at + 1 < pages.len() { ", " } else { "" };
        line.extend([bold(*name), roman(format!("({section}){end}"))]);
    }
    roff.text(line);
    page.extend(roff.render().bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The words of a page without marks and escapes.
    fn words(page: &[u8]) -> String {
        let text = String::from_utf8(page.to_vec()).unwrap();
        let mut words = String::new();
        for line in text.lines() {
            let line = match line.split_once(' ') {
                Some((control, rest)) if control.starts_with('.') => rest,
                _ if line.starts_with('.') => "",
                _ => line,
            };
            words.push_str(&line.replace("\\fB", "").replace("\\fR", "").replace("\\fI", ""));
            words.push(' ');
        }
        let words = words.replace("\\-", "-").replace("\\*(Aq", "'").replace("\\&", "");
        let words = words.replace("\\.", ".").replace("\\\\", "\\").replace(['"', '`'], "");
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    }

    fn plain(text: &str) -> String {
        let text = text.replace(['"', '`'], "");
        let words = text.split_whitespace().filter(|word| *word != "-");
        words.collect::<Vec<_>>().join(" ")
    }

    fn without_dashes(text: &str) -> String {
        text.split(' ').filter(|word| *word != "-").collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_page_says_what_explain_says() {
        command::register(crate::commands::COMMANDS);
        for entry in manual::entries() {
            let page = match entry.family {
                "commands" => page(entry.name),
                "formats" | "verdicts" => page(entry.family),
                _ => continue,
            };
            let page = without_dashes(&words(&page.unwrap().unwrap()));
            for paragraph in manual::text(entry.source).split("\n\n") {
                let paragraph = plain(paragraph);
                // An item's mark `- - 2` differs, its words do not.
                assert!(
                    page.replace(" 2 ", " ").contains(&paragraph.replace(" 2 ", " ")),
                    "{}: the page does not hold\n{paragraph}",
                    entry.name,
                );
            }
        }
    }

    #[test]
    fn every_option_of_help_is_in_the_page() {
        command::register(crate::commands::COMMANDS);
        let mut line = command::line();
        line.build();
        for command in line.get_subcommands() {
            let Some(page) = page(command.get_name()).unwrap() else { continue };
            let page = words(&page);
            let shown = command.get_arguments().filter(|argument| !argument.is_hide_set());
            for long in shown.filter_map(clap::Arg::get_long) {
                assert!(page.contains(&format!("--{long}")), "{}: --{long}", command.get_name());
            }
        }
    }

    #[test]
    fn there_is_no_page_of_nothing() {
        assert!(page("no-such-command").unwrap().is_none());
    }
}
