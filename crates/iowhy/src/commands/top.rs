//! Live screen: devices, heat maps, processes that wait, the slowest I/Os, and the verdict on top.
//!
//! ## Does
//! Watches this machine and draws one screen each second: the rates and latencies of every device,
//! a heat map of the selected one scrolling in time, the histogram beside it, processes, control
//! groups and files by their share of the time waited, the slowest I/Os of the last minute, and at
//! the top the current verdict with its confidence and any losses; where a recorder keeps a store,
//! also the start of that verdict, and how often it occurred in 24 hours. With a file it replays a
//! capture of any format that has times, with a time bar to navigate. `?` lists the keys. Without
//! permission to trace it samples the counters; the second line names what is missing.
//!
//! ## Examples
//! `iowhy top`: this machine.
//! `iowhy top --device sdb 0.5`: one device, updated twice a second.
//! `iowhy top capture.iowhy`: a recorded capture; arrows, Home and End move in time, `+` and `-`
//! zoom around the cursor, `n` jumps to the next anomaly.

mod control;
mod history;
mod terminal;

use std::path::PathBuf;
use std::time::{Duration, Instant};

use clap::{Args, FromArgMatches};
use iowhy_diagnose::{Options, judge};
use iowhy_live::TraceMode;
use iowhy_model::{Filter, NameTable, Nanos, OwnerNames, Report, Tally};
use iowhy_show::Style;
use iowhy_show::incidents::IncidentRow;
use iowhy_show::top::{Places, Screen, Tick, draw};

use crate::arguments::{Files, Output, Repeat, Selection, Task, TraceArgs, Words, watch_time};
use crate::command::{Command, Status};
use crate::confinement;
use crate::messages::HintedError;
use crate::present::knows_devices;
use crate::watch::{self, Plan, Watch};
use crate::{recorded, scope, store_input, when};

use control::{Action, State};
use history::{History, Replay};
use terminal::Terminal;

/// Entry in the list of commands.
pub(super) const COMMAND: Command = Command {
    name: "top",
    summary: "Live screen: devices, heat maps, processes and the verdict; replays captures",
    manual: iowhy_model::manual!("top.rs"),
    arguments: Top::augment_args,
    run,
};

#[derive(Args, Debug)]
struct Top {
    #[command(flatten)]
    words: Words,
    /// How long to watch; without it, until `q`
    #[arg(long = "for", value_name = "TIME", value_parser = watch_time)]
    watch_for: Option<Duration>,
    /// Counters only: no tracing, no privileges needed
    #[arg(long)]
    sampled: bool,
    #[command(flatten)]
    selection: Selection,
}

/// The default tick.
const TICK: Duration = Duration::from_secs(1);
/// The shortest and the longest tick for `+` and `-`.
const TICKS: std::ops::RangeInclusive<Duration> =
    Duration::from_millis(250)..=Duration::from_secs(60);
/// How often the verdict is updated at most, and the maximum share of time spent on it (one part in
/// this many).
const JUDGED: Duration = Duration::from_secs(5);
const JUDGING: u32 = 200;
/// How often the trace is read; keys take effect at once.
const FETCHED: Duration = Duration::from_millis(100);

fn run(matches: &clap::ArgMatches) -> anyhow::Result<Status> {
    let top = Top::from_arg_matches(matches)?;
    if !Terminal::is_one() {
        return Err(HintedError::error(
            "`top` needs a terminal",
            "`iowhy stat 1` and `iowhy why` write to pipes and files",
        ));
    }
    match top.words.task(matches)? {
        Task::Read(files) => replay(&top, &files),
        Task::Watch(repeat) => {
            let tick = Repeat { interval: Some(repeat.interval.unwrap_or(TICK)), ..repeat };
            let repeat = tick.within(top.watch_for)?;
            live(&top, repeat.interval.unwrap_or(TICK), repeat.count)
        }
    }
}

/// A capture, with a time bar.
fn replay(top: &Top, files: &Files) -> anyhow::Result<Status> {
    confinement::on_screen(files.files.iter().map(PathBuf::as_path))?;
    let selection = top.selection.settled();
    let mut tally = Tally::for_a_verdict();
    let shown = Selection { device: Vec::new(), ..selection.clone() }.filter(&mut tally);
    tally.keep_cells(shown);
    let gathered = files.read_counting(tally)?;
    let mut recording = gathered.recording;
    if recording.listings.is_empty() || !knows_devices(&recording, &selection) {
        return Ok(Status::Failed);
    }
    let selection = selection.known_in(&recording);
    let filter = selection.filter(&mut recording);
    scope::narrow(&mut recording, &filter, &selection);
    let incomplete = gathered.failed > 0 || recording.is_incomplete();
    let findings = judge(&recording, &Options::default());
    let report = Report { recording, findings };
    let Some(replay) = Replay::of(&report.recording, &filter) else {
        return Err(HintedError::error(
            "this capture has no times, so there is nothing to replay",
            "`iowhy why FILE` judges it, `iowhy hist FILE` draws its histograms",
        ));
    };
    let style = Output::default().style(filter);
    let name = match files.files.as_slice() {
        [one] => one.file_name().unwrap_or(one.as_os_str()).to_string_lossy().into_owned(),
        [] => match &files.read_as.example {
            Some(example) => format!("example {example}"),
            None => "the recorder's store".to_string(),
        },
        many => format!("{} files", many.len()),
    };
    // The enclosing intervals, and the one shown.
    let mut stretches = vec![replay.whole()];
    let mut ticks = replay.ticks(replay.whole());
    let mut state = State::replay();
    state.names = NameTable::of(&report.recording);
    state.owners = OwnerNames::of(&report.recording);
    let mut places = Places::default();
    let mut terminal = Terminal::open()?;
    loop {
        let mode = match stretches.len() {
            1 => format!("replay of {name}"),
            deep => format!("replay of {name}, zoomed {} times", 4u64.pow(deep as u32 - 1)),
        };
        let screen = state.screen(&ticks, Some(&report), &mode, &replay.missing, &style);
        terminal.draw(|frame| places = draw(frame, &screen))?;
        let selected = screen.device.to_string();
        // Only keys change anything.
        let Some(event) = terminal.event(Duration::from_secs(1))? else {
            if terminal.stopped() {
                break;
            }
            continue;
        };
        let action = state.take(&event, &ticks, &selected, places);
        if action == Action::Quit || terminal.stopped() {
            break;
        }
        let at_ns = ticks.get(state.cursor(&ticks)).map_or(0, |tick| tick.start_ns);
        let shown = stretches.last().copied().unwrap_or(replay.whole());
        match action {
            Action::In => stretches.extend(replay.nearer(shown, at_ns)),
            Action::Out if stretches.len() > 1 => _ = stretches.pop(),
            _ => continue,
        }
        ticks = replay.ticks(stretches.last().copied().unwrap_or(replay.whole()));
        state.stand_at(&ticks, at_ns);
    }
    drop(terminal);
    Ok(Status::incomplete(incomplete))
}

/// Watches this machine until `q` or the number of ticks.
fn live(top: &Top, tick: Duration, count: Option<u64>) -> anyhow::Result<Status> {
    let selection = top.selection.settled_here()?;
    // While files may still be opened.
    let past = store_input::of_the_last_day();
    let how = TraceArgs { before: true, overhead: false, ftrace: false };
    // The judge sees all I/Os of the devices; other filters apply to the recording.
    let devices = Selection { device: selection.device.clone(), ..Selection::default() };
    let mut watch = Watch::start(&Plan {
        trace: (!top.sampled).then_some(TraceMode::Events),
        sample: Some(tick),
        cgroups: true,
        files: true,
        host_facts: Some(Duration::from_secs(1)),
        progress: false,
        ..Plan::traced(TraceMode::Events, &devices, how)?
    })?;
    watch::state_facts(&mut watch.sink)?;
    let missing: Vec<String> = if watch.collectors.traces() {
        Vec::new()
    } else {
        vec!["sampled counters: no percentiles, processes or individual I/Os".to_string()]
    };
    watch.collectors.trace_at(FETCHED);
    let mut state = State::live();
    state.names = NameTable::of(&watch.sink);
    state.owners = OwnerNames::of(&watch.sink);
    let mut screen = LiveScreen {
        terminal: Terminal::open()?,
        state,
        places: Places::default(),
        history: History::default(),
        past,
        verdict: None,
        missing,
        style: Output::default().style(Filter::default()),
        tick,
    };
    screen.draw()?;
    let mut judge_at = Instant::now() + JUDGED;
    let mut ticked = watch.elapsed();
    let mut ticks_left = count.unwrap_or(u64::MAX);
    while ticks_left > 0 && !watch.is_over() {
        let mut quit = false;
        watch.run(screen.tick, |watch, nap| {
            quit = screen.quits_within(nap)?;
            Ok(quit || watch.elapsed().saturating_sub(ticked) >= screen.tick)
        })?;
        if quit {
            break;
        }
        let length = Nanos((watch.elapsed() - ticked).as_nanos() as i64);
        ticked = watch.elapsed();
        let mut part = watch.sink.take();
        let filter = selection.filter(&mut part);
        let watched = devices.filter(&mut part);
        scope::narrow(&mut part, &watched, &devices);
        screen.history.add(part, &filter, length);
        ticks_left -= 1;
        // Between two ticks there is nothing new to judge.
        if Instant::now() >= judge_at {
            let began = Instant::now();
            // The memory of the last verdict is freed first.
            drop(screen.verdict.take());
            let recording = screen.history.window().clone();
            let findings = judge(&recording, &Options::default());
            screen.verdict = Some(Report { recording, findings });
            judge_at = Instant::now() + JUDGED.max(began.elapsed() * JUDGING);
        }
        screen.draw()?;
    }
    drop(screen);
    Ok(Status::incomplete(watch.end()?.is_incomplete()))
}

/// The screen of this machine and its state.
struct LiveScreen {
    terminal: Terminal,
    state: State,
    places: Places,
    history: History,
    past: Vec<IncidentRow>,
    verdict: Option<Report>,
    missing: Vec<String>,
    style: Style,
    tick: Duration,
}

impl LiveScreen {
    fn draw(&mut self) -> anyhow::Result<()> {
        let (verdict, ticks) = (self.verdict.as_ref(), self.history.ticks());
        let mode = self.state.mode();
        let since = verdict.and_then(|report| {
            let first = report.findings.first()?;
            let device = &report.recording.device_of(first.subject.device?).name;
            recorded::history(&self.past, device, first.verdict.name(), when::now_ns())
        });
        let since = since.unwrap_or_default();
        let screen = self.state.screen(ticks, verdict, mode, &self.missing, &self.style);
        let screen = Screen { since: &since, ..screen };
        Ok(self.terminal.draw(|frame| self.places = draw(frame, &screen))?)
    }

    /// Waits this long for keys; returns whether the user wants to quit. Other keys take effect at
    /// once.
    fn quits_within(&mut self, time: Duration) -> anyhow::Result<bool> {
        if let Some(event) = self.terminal.event(time)? {
            let ticks: &[Tick] = self.history.ticks();
            let selected = self.state.device(ticks);
            match self.state.take(&event, ticks, &selected, self.places) {
                Action::Quit => return Ok(true),
                Action::Slower => self.tick = (self.tick * 2).min(*TICKS.end()),
                Action::Faster => self.tick = (self.tick / 2).max(*TICKS.start()),
                Action::Nothing | Action::In | Action::Out => {}
            }
            self.draw()?;
        }
        Ok(self.terminal.stopped())
    }
}

/// Input of the drawing, for live and replay.
impl State {
    fn screen<'a>(
        &'a mut self,
        ticks: &'a [Tick],
        verdict: Option<&'a Report>,
        mode: &'a str,
        missing: &'a [String],
        style: &'a Style,
    ) -> Screen<'a> {
        let accused = verdict.and_then(|report| {
            let first = report.findings.first().filter(|one| !one.verdict.accuses_nobody())?;
            Some(report.recording.device_of(first.subject.device?).name.clone())
        });
        // Without a new verdict the last one counts.
        if verdict.is_some() {
            self.accused = accused.unwrap_or_default();
        }
        self.select_default(ticks);
        Screen {
            ticks,
            cursor: self.cursor(ticks),
            window: self.window,
            verdict,
            since: "",
            mode,
            missing,
            device: &self.selected,
            accused: &self.accused,
            names: &self.names,
            owners: &self.owners,
            filter: &self.filter,
            typing: self.typing,
            sort: self.sort,
            reversed: self.reversed,
            focus: self.focus,
            intensity: self.intensity,
            popup: self.popup,
            replay: self.replays,
            style,
        }
    }
}
