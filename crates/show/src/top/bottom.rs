//! Who waited, and the slowest I/Os, side by side.

use ratatui::Frame;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::text::{Line, Span};
use ratatui::widgets::Paragraph;

use super::{Panel, Screen, SlowIo, Waiter};
use crate::paint::{Tone, clean};
use crate::sources::shortened;
use crate::words::{bytes, duration, share, short};
use iowhy_model::Order as _;

/// Draws both lists.
pub(super) fn draw(frame: &mut Frame, area: Rect, screen: &Screen) {
    let halves = Layout::horizontal([Constraint::Percentage(50), Constraint::Percentage(50)])
        .spacing(1)
        .split(area);
    if let [left, right] = halves.as_ref() {
        frame.render_widget(Paragraph::new(waiters(screen, *left)), *left);
        frame.render_widget(Paragraph::new(slowest(screen, *right)), *right);
    }
}

/// Processes, control groups and files by their share of the time waited.
fn waiters(screen: &Screen, area: Rect) -> Vec<Line<'static>> {
    let mut sums: Vec<Waiter> = Vec::new();
    let mut whole = 0.0;
    for tick in screen.shown() {
        whole += tick.waited() * tick.length_ns as f64;
        for one in &tick.waiters {
            if !screen.passes(&one.name) && !screen.passes(&one.device) {
                continue;
            }
            let same = |sum: &&mut Waiter| (sum.kind, &sum.name) == (one.kind, &one.name);
            match sums.iter_mut().find(same) {
                Some(sum) => {
                    sum.ios += one.ios;
                    sum.waited_ns += one.waited_ns;
                }
                None => sums.push(one.clone()),
            }
        }
    }
    sums.order_by(|a, b| b.waited_ns.total_cmp(&a.waited_ns).then_with(|| a.name.cmp(&b.name)));
    let room = usize::from(area.width).saturating_sub(30).max(8);
    let head = format!(" {:7} {:room$} {:>7} {:>8}", "waits", "name", "I/Os", "of time");
    let mut lines = vec![Line::from(screen.heading(Panel::Waiters, &head))];
    for one in sums.iter().take(usize::from(area.height).saturating_sub(1)) {
        let owner = screen.owners.words(&one.name).filter(|_| one.kind == "cgroup");
        let name = shortened(&clean(owner.as_deref().unwrap_or(&one.name)), room);
        lines.push(Line::from(vec![
            Span::styled(format!(" {:7} ", one.kind), screen.pen(Tone::Faint)),
            Span::raw(format!("{name:room$} {:>7} ", short(one.ios as f64))),
            Span::styled(
                format!("{:>8}", share(one.waited_ns / f64::max(whole, 1.0))),
                screen.pen(Tone::Accent),
            ),
        ]));
    }
    if sums.is_empty() {
        let text = match screen.filter {
            "" => " not available without tracing",
            _ => " nothing matches the filter",
        };
        lines.push(Line::from(Span::styled(text, screen.pen(Tone::Faint))));
    }
    lines
}

/// The slowest I/Os of the last minute before the cursor.
fn slowest(screen: &Screen, area: Rect) -> Vec<Line<'static>> {
    let end = (screen.cursor + 1).min(screen.ticks.len());
    let until = screen.ticks.get(end.saturating_sub(1)).map_or(0, |tick| tick.start_ns);
    let minute = screen.ticks.get(..end).unwrap_or_default().iter().rev();
    let minute = minute.take_while(|tick| until - tick.start_ns < 60_000_000_000);
    let mut some: Vec<&SlowIo> = minute.flat_map(|tick| &tick.slowest).collect();
    some.retain(|one| {
        screen.passes(&one.device) || one.comm.as_deref().is_some_and(|comm| screen.passes(comm))
    });
    some.order_by_key(|one| (std::cmp::Reverse(one.latency_ns), one.at_ns));
    let head = format!(" {:>8} {:10} {:7} {:>7} {}", "slowest", "device", "op", "size", "process");
    let mut lines = vec![Line::from(screen.heading(Panel::Slowest, &head))];
    for one in some.iter().take(usize::from(area.height).saturating_sub(1)) {
        let latency = duration(one.latency_ns as f64);
        let size = one.bytes.map_or(String::new(), |size| bytes(f64::from(size)));
        let comm = one.comm.as_deref().unwrap_or("");
        let at = match one.clock {
            Some(clock) => format!(" at {}", clock.of_day(one.at_ns, 2, &screen.style.zone)),
            None => format!(" at {:.2} s", one.at_ns as f64 / 1e9),
        };
        lines.push(Line::from(vec![
            Span::styled(format!(" {latency:>8} "), screen.pen(Tone::Warn)),
            Span::raw(format!(
                "{:10} {:7} {size:>7} {}",
                shortened(&clean(&one.device), 10),
                one.op.name(),
                clean(comm)
            )),
            Span::styled(at, screen.pen(Tone::Faint)),
        ]));
    }
    lines
}
