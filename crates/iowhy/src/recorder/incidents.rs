//! Incidents from the first alarm to the verdict, continuing ones, and verdicts on the last seconds
//! between them.

use std::collections::HashMap;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use iowhy_model::{STANDS, key};
use iowhy_store::LearnedHistograms;

use super::announce::{Notifier, Outputs};
use super::clock::Clocks;
use super::extent::Activity;
use super::incident::{Incident, with_clock};
use super::keeping::Kept;
use super::looks::{LOOK_NS, Looks};
use super::metrics::SharedMetrics;
use super::ring::{beginning, ending};
use super::settings::Settings;
use super::triggers::{Alarm, Rate, Trigger, Triggers};
use super::verdicts::{CaseVerdict, FindingSummary, Judge, JudgeJob};
use super::watched::{Seen, Watched};
use super::writer::Write;

/// Accusations of these are incidents; a heavy load is not.
const ACCUSED_PARTIES: [&str; 3] = ["disk", "path", "limit"];
/// Maximum share of the store for an incident's I/Os.
const INCIDENT_SHARE: u64 = 16;
/// How often a continuing incident is rewritten, s (a choice): a file of a few hundred KB.
const REWRITTEN_S: u64 = 30;
/// Maximum number of incidents that may continue: the latest.
const RECENT: usize = 16;

/// All incidents that are not over.
pub(crate) struct Incidents {
    triggers: Triggers,
    rate: Rate,
    /// The one being captured.
    open: Option<Incident>,
    unjudged: Vec<Incident>,
    /// Those that may continue.
    recent: Vec<Incident>,
    activity: Activity,
    judge: Judge,
    looks: Looks,
    /// The last accusation of each device.
    accused: HashMap<String, String>,
    notifier: Notifier,
    announcer: JoinHandle<()>,
    shared: SharedMetrics,
    /// Maximum bytes of an incident's I/Os.
    most: usize,
    seconds: u64,
    /// Judged incidents.
    pub count: u64,
    /// CPU that verdicts took, ns.
    pub judge_cpu_ns: u64,
}

impl Incidents {
    /// Starts the judge and the notifier.
    ///
    /// # Errors
    /// If no thread can be started.
    pub(crate) fn start(
        settings: &Settings,
        learned: LearnedHistograms,
        outputs: Outputs,
        shared: SharedMetrics,
        now: Clocks,
    ) -> anyhow::Result<Incidents> {
        let (notifier, announcer) = Notifier::start(outputs)?;
        Ok(Incidents {
            triggers: Triggers::new(learned, settings.psi),
            rate: Rate::new(settings.per_hour),
            open: None,
            unjudged: Vec::new(),
            recent: Vec::new(),
            activity: Activity::default(),
            judge: Judge::start(settings.devices.clone())?,
            looks: Looks::new(settings.judge_ns, now.monotonic),
            accused: HashMap::new(),
            notifier,
            announcer,
            shared,
            most: usize::try_from(settings.bounds.size / INCIDENT_SHARE).unwrap_or(usize::MAX),
            seconds: 0,
            count: 0,
            judge_cpu_ns: 0,
        })
    }

    /// Usual latencies, for the store.
    pub(crate) fn learned(&self) -> String {
        self.triggers.learned.text()
    }

    /// Suppressed alarms since the last incident.
    pub(crate) fn suppressed(&self) -> u64 {
        self.rate.suppressed
    }

    /// Verdicts and notifications dropped because their queue was full.
    pub(crate) fn given_up(&self) -> (u64, u64) {
        (self.judge.given_up, self.notifier.given_up)
    }

    /// Whether one is being captured.
    pub(crate) fn is_open(&self) -> bool {
        self.open.is_some()
    }

    /// Reports a problem of the recorder itself.
    pub(crate) fn notify_of_trouble(&mut self, text: String) {
        self.notifier.trouble(text);
    }

    /// Begins incidents from this second's alarms, continues existing ones, and requests verdicts.
    pub(crate) fn second(
        &mut self,
        seen: &Seen,
        now: Clocks,
        watched: &mut Watched,
        kept: &mut Kept,
    ) {
        self.seconds += 1;
        self.activity.add(&seen.second, now.monotonic);
        let mut alarms = self.alarms(seen, now);
        alarms.extend(self.take_verdicts(now, watched, kept));
        alarms.into_iter().for_each(|alarm| self.alarm(alarm, now, watched, kept));
        self.capture(now, watched, kept);
        self.follow_recent(now, kept);
        self.looks.add(&seen.second);
        self.look(now, watched);
    }

    fn alarms(&mut self, seen: &Seen, now: Clocks) -> Vec<Alarm> {
        let mut alarms = self.triggers.second(&seen.second, now.hour(), now.monotonic);
        for message in seen.messages.iter().filter(|message| message.is_ours) {
            let fact = &message.fact;
            if let (Some(kind), Some(of)) =
                (fact.key.member_of(key::KERNEL_LOG), fact.value.message())
            {
                let alarm = self.triggers.kernel(kind, &message.device, &of.text, now.monotonic);
                alarms.extend(alarm);
            }
        }
        let pressure = seen.pressure;
        alarms.extend(pressure.and_then(|share| self.triggers.pressure(share, now.monotonic)));
        let signal = seen.signalled.then(|| "SIGUSR1".to_string());
        alarms.extend(seen.marks.iter().cloned().chain(signal).map(|words| asked(words, now)));
        alarms
    }

    /// Handles verdicts: reports incidents; a new accusation begins one.
    fn take_verdicts(&mut self, now: Clocks, watched: &Watched, kept: &Kept) -> Vec<Alarm> {
        let mut alarms = Vec::new();
        let all = self.judge.judged();
        let any = !all.is_empty();
        for judged in all {
            self.judge_cpu_ns += judged.cpu_ns;
            if judged.is_early {
                self.judge_early(judged, watched, kept);
                continue;
            }
            if judged.incident.is_none() {
                self.looks.took(judged.cpu_ns);
                for known in &mut self.recent {
                    known.look(&judged, &self.activity, now.monotonic);
                }
            }
            let briefs = || judged.first.iter().chain(&judged.others);
            for brief in briefs() {
                let until_ns = self.looks.stands_until(now.monotonic);
                self.shared.figures().verdict(brief, until_ns);
            }
            let is_news = |of: &&FindingSummary| {
                of.accuses && of.confidence >= STANDS && ACCUSED_PARTIES.contains(&of.blame)
            };
            let accused: Vec<FindingSummary> = briefs().filter(is_news).cloned().collect();
            let verdicts = accused.iter().map(|of| (of.device.clone(), of.verdict.clone()));
            let mut before: HashMap<String, String> = verdicts.collect();
            if judged.incident.is_none() {
                std::mem::swap(&mut self.accused, &mut before);
            } else if let Some(place) =
                self.unjudged.iter().position(|one| Some(&one.id) == judged.incident.as_ref())
            {
                let incident = self.unjudged.remove(place);
                self.notify(incident, Some(judged), watched, kept);
            }
            // Another faulty device has an incident of its own.
            for of in accused {
                let known = self.unjudged.iter().chain(&self.recent);
                let is_known = known.into_iter().any(|one| one.is_about(&of.device));
                // An accusation that recurs after a long time is new as well.
                if !is_known || before.get(&of.device) != Some(&of.verdict) {
                    alarms.push(accusation(&of, now));
                }
            }
        }
        if any {
            // Frees the decoded I/Os, the largest part of its memory.
            iowhy_live::give_back_memory();
        }
        alarms
    }

    fn alarm(&mut self, alarm: Alarm, now: Clocks, watched: &mut Watched, kept: &mut Kept) {
        if let Some(open) = &mut self.open {
            return open.add(alarm);
        }
        let known = self.unjudged.iter_mut().chain(&mut self.recent);
        if let Some(same) = known.into_iter().find(|one| one.is_same(&alarm)) {
            return same.add_later(alarm, &self.activity);
        }
        if !self.rate.allows(&alarm) {
            return;
        }
        kept.snapshot(watched.look_around(), now);
        let facts = watched.facts(now);
        let id = kept.id(now, &alarm.device);
        let mut incident = Incident::begin(id, alarm, now, Arc::clone(&facts), self.most);
        incident.suppressed = std::mem::take(&mut self.rate.suppressed);
        kept.push(Write::Incident(incident.id.clone(), vec![facts]));
        self.open = Some(incident);
    }

    /// Adds this second to the open incident, and ends it when it is over.
    fn capture(&mut self, now: Clocks, watched: &mut Watched, kept: &Kept) {
        let Some(mut open) = self.open.take() else { return };
        let facts = watched.intake().facts().to_vec();
        let new = open.take(watched.intake().ring(), &facts);
        if !new.is_empty() {
            kept.push(Write::Incident(open.id.clone(), new));
        }
        if open.is_over(now.monotonic) {
            return self.close(open, now, watched, kept);
        }
        if self.judge.waiting == 0
            && let Some(capture) = open.due_early(watched.intake().ring(), now.monotonic)
        {
            self.judge.push(JudgeJob { incident: Some(open.id.clone()), is_early: true, capture });
        }
        self.open = Some(open);
    }

    /// Announces an incident that goes on, if the verdict on its beginning accuses a device.
    fn judge_early(&mut self, judged: CaseVerdict, watched: &Watched, kept: &Kept) {
        let open = self.open.as_mut().filter(|open| judged.incident.as_ref() == Some(&open.id));
        let Some(open) = open else { return };
        if open.judge_early(judged, watched.around()) {
            kept.incident(open);
            if open.is_news() {
                self.notifier.push(open.json(kept.boot()));
            }
        }
    }

    fn close(&mut self, mut incident: Incident, now: Clocks, watched: &mut Watched, kept: &Kept) {
        if let Some(last) = incident.end(watched.intake().ring()) {
            kept.push(Write::Incident(incident.id.clone(), vec![last]));
        }
        kept.push(Write::IncidentOver(incident.id.clone()));
        if let Some(alarm) = incident.first() {
            self.rate.over(&alarm.device.clone(), alarm.trigger, now.monotonic);
        }
        let capture = std::mem::take(&mut incident.capture);
        let case = JudgeJob { incident: Some(incident.id.clone()), is_early: false, capture };
        let taken = self.judge.push(case);
        if taken {
            self.unjudged.push(incident);
        } else {
            self.notify(incident, None, watched, kept);
        }
        self.looks.postpone(now.monotonic);
    }

    fn notify(
        &mut self,
        mut incident: Incident,
        judged: Option<CaseVerdict>,
        watched: &Watched,
        kept: &Kept,
    ) {
        self.count += 1;
        let first = judged.as_ref().and_then(|judged| judged.first.as_ref());
        let verdict = first.map_or("none".to_string(), |first| first.verdict.clone());
        *self.shared.figures().incidents.entry(verdict).or_default() += 1;
        if let Some(judged) = judged {
            incident.judge(judged, &self.activity, watched.around());
        }
        kept.incident(&mut incident);
        // Recipients of a notification can read the complete incident in the store.
        if incident.is_news() {
            self.notifier.push(incident.json(kept.boot()));
        }
        self.recent.push(incident);
        let over = self.recent.len().saturating_sub(RECENT);
        self.recent.drain(..over).for_each(|mut gone| kept.incident(&mut gone));
    }

    /// Checks whether incidents continue after their captures ended.
    fn follow_recent(&mut self, now: Clocks, kept: &Kept) {
        self.recent.retain_mut(|one| {
            let was_ongoing = one.ongoing();
            one.second(&self.activity, now.monotonic);
            let past = one.is_past(now.monotonic);
            if past || one.ongoing() != was_ongoing || self.seconds.is_multiple_of(REWRITTEN_S) {
                kept.incident(one);
            }
            !past
        });
    }

    /// Requests a verdict on the last seconds from time to time, if anything waited.
    fn look(&mut self, now: Clocks, watched: &mut Watched) {
        let is_due = self.looks.is_due(now.monotonic, &mut self.triggers.unlearned_s);
        if !is_due || self.open.is_some() || self.judge.waiting > 0 {
            return;
        }
        let stated = with_clock(watched.intake().facts(), now.offset());
        let mut capture = vec![watched.facts(now)];
        let ring = watched.intake().ring();
        let kept: Vec<_> = ring.since(now.monotonic - LOOK_NS, None).collect();
        let (Some(first), Some(last)) = (kept.first(), kept.last()) else { return };
        capture.push(beginning(first, &stated).into());
        capture.extend(kept.iter().map(|kept| Arc::clone(&kept.bytes)));
        capture.push(ending(last).into());
        self.judge.push(JudgeJob { incident: None, is_early: false, capture });
    }

    /// Closes open incidents, and waits this long for the judge.
    pub(crate) fn end(&mut self, now: Clocks, wait: Duration, watched: &mut Watched, kept: &Kept) {
        if let Some(open) = self.open.take() {
            self.close(open, now, watched, kept);
        }
        let begun = Instant::now();
        while self.judge.waiting > 0 && begun.elapsed() < wait {
            std::thread::sleep(Duration::from_millis(20));
            self.take_verdicts(now, watched, kept);
        }
        // Those that were not judged.
        for incident in std::mem::take(&mut self.unjudged) {
            self.notify(incident, None, watched, kept);
        }
        self.recent.iter_mut().for_each(|incident| kept.incident(incident));
    }

    /// Closes the queue of notifications; the notifier ends when all are sent.
    pub(crate) fn into_announcer(self) -> JoinHandle<()> {
        self.announcer
    }
}

fn asked(words: String, now: Clocks) -> Alarm {
    Alarm {
        at_ns: now.monotonic,
        trigger: Trigger::Asked,
        device: String::new(),
        words,
        excess_ns: 0.0,
        verdict: None,
    }
}

fn accusation(first: &FindingSummary, now: Clocks) -> Alarm {
    Alarm {
        at_ns: now.monotonic,
        trigger: Trigger::Verdict,
        device: first.device.clone(),
        words: format!("{}: {}", first.verdict, first.sentence),
        excess_ns: first.waited_per_s.unwrap_or(0.0) * LOOK_NS as f64,
        verdict: Some(first.verdict.clone()),
    }
}
