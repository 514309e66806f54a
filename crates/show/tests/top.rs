//! The live screen, drawn into a buffer: at the smallest and at a large terminal, with colours and
//! without, and with names that want to be more than names.

use std::sync::OnceLock;

use iowhy_model::{NameTable, Nanos, OwnerNames, Report, Time};
use iowhy_show::top::{DeviceTick, Key, Panel, Places, Popup, Screen, Tick, Waiter, draw, ordered};
use iowhy_show::{Colour, Style};
use ratatui::Terminal;
use ratatui::backend::TestBackend;

use crate::accepted::check;
use crate::reports;

/// Ticks of 50 ms over the whole of the dusty disk's log.
fn ticks(report: &Report) -> Vec<Tick> {
    let each = 50_000_000;
    (0..100)
        .map(|k| (Time::from_ns(k * each), Time::from_ns((k + 1) * each)))
        .map(|within| Tick::of(&report.recording, within, Nanos(each)))
        .collect()
}

static NO_NAMES: OnceLock<NameTable> = OnceLock::new();
static NO_OWNERS: OnceLock<OwnerNames> = OnceLock::new();

fn screen<'a>(ticks: &'a [Tick], report: &'a Report, style: &'a Style) -> Screen<'a> {
    Screen {
        ticks,
        cursor: 80,
        window: 81,
        verdict: Some(report),
        mode: "live",
        missing: &[],
        device: "sdb",
        accused: "",
        names: NO_NAMES.get_or_init(NameTable::default),
        owners: NO_OWNERS.get_or_init(OwnerNames::default),
        filter: "",
        typing: false,
        sort: Key::Waited,
        reversed: false,
        focus: Panel::Devices,
        intensity: false,
        popup: None,
        replay: false,
        since: "",
        style,
    }
}

/// The letters of a drawn screen, a line a row.
fn drawn(size: (u16, u16), screen: &Screen) -> (String, Places) {
    let mut terminal = Terminal::new(TestBackend::new(size.0, size.1)).unwrap();
    let mut places = Places::default();
    terminal.draw(|frame| places = draw(frame, screen)).unwrap();
    let buffer = terminal.backend().buffer();
    let rows = buffer.content().chunks(usize::from(size.0));
    let line = |row: &[ratatui::buffer::Cell]| {
        let text: String = row.iter().map(|cell| cell.symbol()).collect();
        text.trim_end().to_string() + "\n"
    };
    (rows.map(line).collect(), places)
}

#[test]
fn screens_look_as_accepted() {
    let report = reports::dusty();
    let ticks = ticks(&report);
    let plain = Style::plain();
    check("top--80x24-none.txt", &drawn((80, 24), &screen(&ticks, &report, &plain)).0);
    let verdict = Screen { popup: Some(Popup::Verdict(0)), ..screen(&ticks, &report, &plain) };
    check("top--80x24-verdict.txt", &drawn((80, 24), &verdict).0);
    let help = Screen { popup: Some(Popup::Help), ..screen(&ticks, &report, &plain) };
    check("top--80x24-help.txt", &drawn((80, 24), &help).0);
    let replay =
        Screen { replay: true, mode: "replay of dusty.txt", ..screen(&ticks, &report, &plain) };
    assert!(drawn((80, 24), &replay).0.contains("replay of dusty.txt"));
    let rich = Style { colour: Colour::True, unicode: true, ..Style::plain() };
    let (large, places) = drawn((250, 60), &screen(&ticks, &report, &rich));
    assert!(large.lines().count() == 60 && places.map.width > 200, "{large}");
}

#[test]
fn a_verdict_is_told_since_when_it_has_been_so() {
    let report = reports::dusty();
    let ticks = ticks(&report);
    let style = Style::plain();
    let since = "since 2026-11-28 21:36:03 UTC";
    let (text, _) = drawn((100, 24), &Screen { since, ..screen(&ticks, &report, &style) });
    assert!(text.lines().nth(1).unwrap().contains(since), "{text}");
    let (text, _) = drawn((100, 24), &screen(&ticks, &report, &style));
    assert!(!text.contains("since"), "{text}");
}

#[test]
fn what_is_drawn_is_where_the_mouse_finds_it() {
    let report = reports::dusty();
    let ticks = ticks(&report);
    let style = Style::plain();
    let (text, places) = drawn((80, 24), &screen(&ticks, &report, &style));
    let row = text.lines().nth(usize::from(places.devices.y)).unwrap();
    assert!(row.trim_start().starts_with("sdb"), "{row}");
    let heading = text.lines().nth(usize::from(places.devices.y) - 1).unwrap();
    for (key, end) in Key::ALL.into_iter().zip(places.headings) {
        let text: String = heading.chars().take(usize::from(end)).collect();
        assert!(
            end == 0 || text.trim_end().ends_with(key.title()),
            "{key:?} ends at {end}: {heading}"
        );
    }
    let shown = places.headings.iter().filter(|end| **end > 0).count();
    assert_eq!(shown, 9, "{heading}");
    assert!(places.map.height >= 3 && places.map.width >= 40, "{:?}", places.map);
}

#[test]
fn devices_stand_in_the_order_of_any_column() {
    let device = |name: &str, k: f64| DeviceTick {
        name: name.to_string(),
        reads: 3.0 - k,
        writes: k,
        read_bytes: 3.0 - k,
        write_bytes: k,
        await_ns: Some(k),
        queue_ns: Some(3.0 - k),
        device_ns: (k > 1.0).then_some(k),
        in_flight: Some(k),
        busy: Some(k / 4.0),
        ..DeviceTick::default()
    };
    let devices = vec![device("sda", 1.0), device("sdb", 2.0), device("sdc", 3.0)];
    let waiter = Waiter {
        device: "sdb".to_string(),
        kind: "process",
        name: "fio".to_string(),
        ios: 1,
        waited_ns: 1.0,
    };
    let ticks =
        [Tick { length_ns: 1_000_000_000, devices, waiters: vec![waiter], ..Tick::default() }];
    let (report, style) = (reports::empty(), Style::plain());
    let all = Screen { cursor: 0, window: 1, ..screen(&ticks, &report, &style) };
    let names = |screen: &Screen| {
        let names: Vec<String> = ordered(screen).into_iter().map(|row| row.device.name).collect();
        names.join(" ")
    };
    let (up, down) = ("sda sdb sdc", "sdc sdb sda");
    for (sort, order) in [
        (Key::Name, up),
        (Key::Reads, up),
        (Key::Writes, down),
        (Key::ReadBytes, up),
        (Key::WriteBytes, down),
        (Key::Await, down),
        (Key::Queue, up),
        (Key::Device, down),
        (Key::Waited, down),
        (Key::Busy, down),
    ] {
        assert_eq!(names(&Screen { sort, ..all }), order, "{sort:?}");
        let opposite = if order == up { down } else { up };
        assert_eq!(names(&Screen { sort, reversed: true, ..all }), opposite, "{sort:?}");
    }
    // A process names the devices that it waited for.
    assert_eq!(names(&Screen { filter: "FIO", ..all }), "sdb");
    assert_eq!(names(&Screen { filter: "sdc", ..all }), "sdc");
}

#[test]
fn no_size_and_no_name_breaks_the_screen() {
    for report in [reports::dusty(), reports::live(), reports::hostile::hostile(), reports::empty()]
    {
        let ticks = ticks(&report);
        for size in [(1, 1), (5, 3), (20, 8), (80, 24), (250, 60)] {
            for colour in [Colour::None, Colour::Ansi16, Colour::Ansi256, Colour::True] {
                let style = Style { colour, unicode: colour == Colour::True, ..Style::plain() };
                for popup in [None, Some(Popup::Help), Some(Popup::Verdict(u16::MAX))] {
                    let shown =
                        Screen { popup, filter: "\x1b[2J", ..screen(&ticks, &report, &style) };
                    let (text, _) = drawn(size, &shown);
                    assert!(!text.contains('\x1b'), "{size:?}");
                    let none = Screen { ticks: &[], ..screen(&ticks, &report, &style) };
                    drawn(size, &none);
                }
            }
        }
    }
}

#[test]
fn ticks_count_every_io_once() {
    let report = reports::dusty();
    let events: usize = report.recording.listings.iter().map(|listing| listing.events.len()).sum();
    let counted: f64 = ticks(&report)
        .iter()
        .flat_map(|tick| {
            tick.devices.iter().map(|device| device.ios() * tick.length_ns as f64 / 1e9)
        })
        .sum();
    assert!(events > 20, "{events}");
    assert!((counted - events as f64).abs() < 1e-6, "{counted} of {events}");
}
