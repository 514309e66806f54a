//! A verdict with its evidence. No evidence, no finding.

use std::borrow::Cow;

use crate::{
    Belief, Blame, Bound, Clause, DeviceId, FactKey, Family, Nanos, Quantity, Step, Verdict,
};

/// The basis of a number; shown beside it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum How {
    /// From every I/O of a live trace.
    Traced,
    /// From counters read at intervals.
    Sampled,
    /// Printed by the source itself.
    Reported,
    /// Computed from what the source printed, exactly.
    Computed,
    /// Estimated from histogram buckets or from a fit.
    Estimated,
}

impl How {
    /// The word shown beside a number.
    pub fn word(self) -> &'static str {
        match self {
            How::Traced => "traced",
            How::Sampled => "sampled",
            How::Reported => "reported",
            How::Computed => "computed",
            How::Estimated => "estimated",
        }
    }
}

/// One number that supports a verdict, with all that is needed to recompute it.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence {
    /// The quantity, in the field's words: `r_await`, `median extra revolutions`.
    pub quantity: String,
    /// Its value and unit.
    pub amount: Quantity,
    /// The threshold it was compared with; `None` for context.
    pub bound: Option<Bound>,
    /// The least and the most it may add to the log odds, in nats, if it is a clause of the rule:
    /// the further beyond its bound, the more.
    pub weighs: Option<(f64, f64)>,
    /// Number of I/Os or intervals it rests on.
    pub n: u64,
    /// Its basis.
    pub how: How,
    /// What it rests on.
    pub basis: Basis,
    /// The disk it is about, where a finding is about several.
    pub disk: Option<String>,
    /// Where it was read.
    pub origin: Origin,
}

impl Evidence {
    /// The same, compared with a bound.
    pub fn held(self, bound: Bound) -> Evidence {
        Evidence { bound: Some(bound), ..self }
    }

    /// The same, compared with what it had to exceed.
    pub fn above(self, bound: f64) -> Evidence {
        self.held(Bound::Above(bound))
    }

    /// The same, compared with what it had to stay below.
    pub fn below(self, bound: f64) -> Evidence {
        self.held(Bound::Below(bound))
    }

    /// The same, as a clause of the rule with the default weight.
    pub fn weighs(self) -> Evidence {
        self.weighs_within(-Evidence::MOST_NATS, Evidence::MOST_NATS)
    }

    /// The same, as a clause that adds at most so much to the log odds, in nats.
    pub fn weighs_at_most(self, nats: f64) -> Evidence {
        self.weighs_within(-Evidence::MOST_NATS, nats)
    }

    /// The same, as a clause that adds at least so much.
    pub fn weighs_at_least(self, nats: f64) -> Evidence {
        self.weighs_within(nats, Evidence::MOST_NATS)
    }

    fn weighs_within(self, least: f64, most: f64) -> Evidence {
        Evidence { weighs: Some((least, most)), ..self }
    }

    /// Maximum weight of a clause, in nats: odds of twenty to one.
    pub const MOST_NATS: f64 = 3.0;

    /// Whether it is a reported fault rather than a latency pattern: drive, kernel log or request
    /// status report a value beyond its bound.
    pub fn states_fault(&self) -> bool {
        let states = match &self.basis {
            Basis::Measured => false,
            Basis::Stated(key) => key.is_under("smart") || key.is_under("kernel"),
            Basis::RequestStatus => true,
        };
        states && self.bound.is_some_and(|bound| bound.holds(self.amount.value))
    }
}

/// What a number rests on.
#[derive(Clone, PartialEq, Debug)]
pub enum Basis {
    /// Measured or reported I/O.
    Measured,
    /// A fact of this key.
    Stated(FactKey),
    /// The status with which requests ended.
    RequestStatus,
}

/// Where a number was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Origin {
    /// The format or collector that read it; empty if none did.
    pub format: String,
    /// The file, `-`, `live`, or a path.
    pub input: String,
    /// First and last line, from 1, if it is in lines.
    pub lines: Option<(u64, u64)>,
}

impl Origin {
    /// A source without a format: a probe, a file of the system.
    pub fn of(input: &str) -> Origin {
        Origin { format: String::new(), input: input.to_string(), lines: None }
    }
}

/// `file:12-40 (biosnoop)`.
impl std::fmt::Display for Origin {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(&self.input)?;
        match self.lines {
            Some((first, last)) if first == last => write!(out, ":{first}")?,
            Some((first, last)) => write!(out, ":{first}-{last}")?,
            None => {}
        }
        match self.format.as_str() {
            "" => Ok(()),
            format => write!(out, " ({format})"),
        }
    }
}

/// What a finding is about.
#[derive(Clone, PartialEq, Debug)]
pub struct Subject {
    /// The device; `None` if the finding is about the input as a whole.
    pub device: Option<DeviceId>,
    /// Indexes of the listings it rests on, in [`Recording::listings`](crate::Recording).
    pub listings: Vec<usize>,
    /// The part of the load, if not all of it: `read 128 KiB sequential`.
    pub group: Option<String>,
    /// The devices, if it is about several.
    pub devices: Vec<DeviceId>,
}

/// The latency after the advised fix, from a replay of the same load on a healthy device.
#[derive(Clone, PartialEq, Debug)]
pub struct Forecast {
    /// Mean latency now.
    pub now_mean: Nanos,
    /// Mean latency after the fix.
    pub mean: Nanos,
    /// The 90 % range of that mean, if known.
    pub range: Option<(Nanos, Nanos)>,
    /// 99th percentile after the fix, if the sample is large enough.
    pub p99: Option<Nanos>,
    /// The assumption it rests on, one clause.
    pub assuming: String,
}

/// The widest range, to either side, whose middle is reported as a single number.
const NARROW: f64 = 0.2;

impl Forecast {
    /// Of means alone: neither a range nor a quantile is known.
    pub fn of_means(now_mean: Nanos, mean: Nanos, assuming: impl Into<String>) -> Forecast {
        Forecast { now_mean, mean, range: None, p99: None, assuming: assuming.into() }
    }

    /// Whether [`mean`](Self::mean) can be reported as a number: its range, if there is one, is
    /// within a fifth of it. If it is wider, only the range is reported.
    pub fn is_narrow(&self) -> bool {
        let near = |end: Nanos| (end.ms() - self.mean.ms()).abs() <= NARROW * self.mean.ms();
        self.range.is_none_or(|(from, to)| near(from) && near(to))
    }
}

/// A verdict is firm from this confidence on; below it is a suspicion (docs/METHOD.md, 11
/// Confidence).
pub const STANDS: f64 = 0.6;
/// It must also explain at least this share of the excess.
pub const EXPLAINS_ENOUGH: f64 = 0.3;

/// The cost of a problem, as far as the input shows it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Impact {
    /// Time that requests waited, in seconds per second watched, all requests together: the mean
    /// number in flight.
    pub waited_per_s: Option<f64>,
    /// The same for the interval with the most time waited, if there are several.
    pub worst_per_s: Option<f64>,
    /// Mean latency of a request.
    pub mean: Option<Nanos>,
    /// Median latency, if single requests were seen.
    pub median: Option<Nanos>,
    /// Longest latency that was seen.
    pub longest: Option<Nanos>,
    /// 99th percentile of the latency, from single I/Os or histograms.
    pub p99: Option<Nanos>,
    /// Share of the requests that took at least [`Impact::felt`], lower bound.
    pub slow_share: Option<f64>,
    /// The same, upper bound: a bucket that begins below counts as well.
    pub slow_most: Option<f64>,
}

/// How much an impact matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Severity {
    /// Not noticeable: nothing is blamed.
    None,
    /// A program that waits for each request may notice it.
    Minor,
    /// Users of the machine notice it.
    Notable,
    /// The machine stalls at times, or most of its requests wait long.
    Severe,
}

impl Severity {
    /// The word shown.
    pub fn word(self) -> &'static str {
        match self {
            Severity::None => "none",
            Severity::Minor => "minor",
            Severity::Notable => "notable",
            Severity::Severe => "severe",
        }
    }
}

/// Bounds of [`Impact::severity`] (docs/METHOD.md, 11 Confidence): time waited per second, and
/// latencies. A tenth of a second is what a person notices (Nielsen, Usability Engineering, 1993).
pub const FELT_PER_S: f64 = 0.01;
const NOTABLE_PER_S: f64 = 0.05;
const SEVERE_PER_S: f64 = 1.0;
const FELT: Nanos = Nanos(100_000_000);
/// A database on a device that answers within a millisecond notices one answer of 5 ms.
const FAST: Nanos = Nanos(1_000_000);
const FELT_FAST: Nanos = Nanos(5_000_000);
/// A request below a fifth of a millisecond is not noticed, unless a program does nothing but wait
/// for requests.
const UNNOTICED: Nanos = Nanos(200_000);
const UNNOTICED_PER_S: f64 = 0.3;
const UNNOTICED_TAIL: Nanos = Nanos(10_000_000);
const LONG_MEAN: Nanos = Nanos(20_000_000);
const LONG: Nanos = Nanos(1_000_000_000);

impl Impact {
    /// From this latency on a request is noticed: 100 ms, or 5 ms where most take less than 1 ms.
    pub fn felt(&self) -> Nanos {
        // The median shows how fast the device is; a few slow requests move the mean.
        let usual = self.median.or(self.mean);
        if usual.is_some_and(|usual| usual < FAST) { FELT_FAST } else { FELT }
    }

    /// How much it matters; `None` where too little is known to say.
    pub fn severity(&self) -> Option<Severity> {
        let longest = self.longest.or(self.mean)?;
        let felt = self.felt();
        // A stall of a second is noticed, however long was watched.
        let waited = self.worst_per_s.or(self.waited_per_s);
        let busy = waited.is_some_and(|waited| waited >= UNNOTICED_PER_S);
        let quick =
            self.mean.is_some_and(|mean| mean < UNNOTICED) && longest < UNNOTICED_TAIL && !busy;
        Some(match waited {
            _ if quick => Severity::None,
            Some(waited) if waited < FELT_PER_S && longest < felt => Severity::None,
            _ if self.longest.is_some_and(|longest| longest >= LONG) => Severity::Severe,
            Some(waited)
                if waited >= SEVERE_PER_S && self.mean.is_some_and(|mean| mean >= LONG_MEAN) =>
            {
                Severity::Severe
            }
            Some(waited) if waited < NOTABLE_PER_S && longest < FELT => Severity::Minor,
            _ => Severity::Notable,
        })
    }
}

/// One accusation (or clean verdict) with everything that supports it.
#[derive(Clone, PartialEq, Debug)]
pub struct Finding {
    /// Its verdict: `device.retry`.
    pub verdict: Verdict,
    /// What the evidence blames, if that differs from the verdict's default: the disk or its path,
    /// if nothing distinguishes them.
    pub blame: Option<Blame>,
    /// Whether the capture is from a system other than Linux, where `iowhy` cannot measure.
    pub elsewhere: bool,
    /// What it is about.
    pub subject: Subject,
    /// The verdict in one sentence, without a period.
    pub sentence: String,
    /// What it rests on; never empty.
    pub evidence: Vec<Evidence>,
    /// Its confidence, changed only by the steps below, each with its reason.
    belief: Belief,
    /// Share of the excess latency it explains, 0 to 1; for `report.*`, of the reported value.
    pub explained_share: f64,
    /// Whether that share is assumed because no latency shows it: it affects the order and is not
    /// printed.
    pub share_is_assumed: bool,
    /// The cost of the problem, if its device was measured.
    pub impact: Option<Impact>,
    /// Observations that would refute it.
    pub refuted_by: Vec<String>,
    /// What to do next, best first; commands in backticks.
    pub next_step: Vec<String>,
    /// Latency after the fix, if the replay gives one.
    pub forecast: Option<Forecast>,
    /// The more specific verdict that explains this one away, if any.
    pub explained_by: Option<Verdict>,
    /// Observations that decide nothing by themselves, for a finding without a conclusion.
    pub seen: Vec<Observation>,
    /// Who waited for its device, most first.
    pub requesters: Vec<Requester>,
}

/// An observation and what it would mean.
#[derive(Clone, PartialEq, Debug)]
pub struct Observation {
    /// The number, and where it was read.
    pub evidence: Evidence,
    /// What it would mean, one clause.
    pub would_mean: String,
    /// The verdict that it would support.
    pub verdict: Option<Verdict>,
}

impl Observation {
    /// One that supports no verdict.
    pub fn of(evidence: Evidence, would_mean: impl Into<String>) -> Observation {
        Observation { evidence, would_mean: would_mean.into(), verdict: None }
    }

    /// The same, in support of a verdict.
    pub fn may_be(self, verdict: Verdict) -> Observation {
        Observation { verdict: Some(verdict), ..self }
    }
}

/// The program that requested I/O, as far as it was seen.
#[derive(Clone, PartialEq, Debug)]
pub struct Requester {
    /// Its name.
    pub program: Option<String>,
    /// Its process id.
    pub pid: Option<u32>,
    /// Its control group.
    pub cgroup: Option<String>,
    /// The file it waited for most.
    pub file: Option<String>,
    /// The thread that committed the journal for it, if it waited for that too (fsync).
    pub journal: Option<String>,
    /// Its share of all time waited, 0 to 1.
    pub share: f64,
}

impl Finding {
    /// An empty finding: no confidence, nothing explained.
    pub fn new(verdict: Verdict, subject: Subject) -> Finding {
        Finding {
            verdict,
            blame: None,
            elsewhere: false,
            subject,
            sentence: String::new(),
            evidence: Vec::new(),
            belief: Belief::default(),
            explained_share: 0.0,
            share_is_assumed: false,
            impact: None,
            refuted_by: Vec::new(),
            next_step: Vec::new(),
            forecast: None,
            explained_by: None,
            seen: Vec::new(),
            requesters: Vec::new(),
        }
    }

    /// Probability that the verdict is right, 0 to 1: the sum of the ledger.
    pub fn confidence(&self) -> f64 {
        self.belief.value()
    }

    /// The ledger of its confidence.
    pub fn belief(&self) -> &Belief {
        &self.belief
    }

    /// Starts from a probability.
    pub fn assume(&mut self, prior: f64, why: impl Into<Cow<'static, str>>) {
        self.belief.push(Step::Prior(prior), why);
    }

    /// Adds clauses of a rule to the log odds.
    pub fn weigh(&mut self, clauses: impl IntoIterator<Item = Clause>) {
        for clause in clauses {
            let why = clause.what.clone();
            self.belief.push(Step::Clause(clause), why);
        }
    }

    /// Limits it because another cause looks the same. The doubt is also listed under "wrong if"
    /// ([`Finding::state_doubts`]).
    pub fn doubt(&mut self, why: impl Into<Cow<'static, str>>, at_most: f64) {
        self.belief.push(Step::Doubt(at_most), why);
    }

    /// Adds a doubt to the ledger.
    pub fn doubt_if(&mut self, stands: bool, why: impl Into<Cow<'static, str>>, at_most: f64) {
        if stands {
            self.doubt(why, at_most);
        }
    }

    /// Limits it to what the input supports; no step if it is lower already.
    pub fn bound(&mut self, why: impl Into<Cow<'static, str>>, at_most: f64) {
        if self.confidence() > at_most {
            self.belief.push(Step::Limit(at_most), why);
        }
    }

    /// Raises it to at least this; no step if it is higher already.
    pub fn raise(&mut self, why: impl Into<Cow<'static, str>>, at_least: f64) {
        if self.confidence() < at_least {
            self.belief.push(Step::Floor(at_least), why);
        }
    }

    /// Multiplies it.
    pub fn scale(&mut self, why: impl Into<Cow<'static, str>>, factor: f64) {
        self.belief.push(Step::Factor(factor), why);
    }

    /// Replaces it by the value of a calibration curve; no step if that is the same.
    pub fn calibrate(&mut self, why: impl Into<Cow<'static, str>>, known: f64) {
        if self.confidence() != known {
            self.belief.push(Step::Curve(known), why);
        }
    }

    /// Lists each doubt of the ledger under "wrong if", once.
    pub fn state_doubts(&mut self) {
        for doubt in self.belief.doubts() {
            if !self.refuted_by.iter().any(|known| known == doubt) {
                self.refuted_by.push(doubt.to_string());
            }
        }
    }

    /// What it blames: that of its verdict, unless its evidence is less specific.
    pub fn blames(&self) -> Blame {
        self.blame.unwrap_or(self.verdict.blames())
    }

    /// Whether it shows that a disk is faulty, alone or compared with its peers.
    pub fn blames_a_disk(&self) -> bool {
        matches!(self.blames(), Blame::Disk | Blame::Path | Blame::DiskOrPath)
    }

    /// Whether it can be acted on: confidence and explained share are high enough, and nothing
    /// explains it away.
    pub fn stands(&self) -> bool {
        self.explained_by.is_none()
            && self.confidence() >= STANDS
            && self.explained_share >= EXPLAINS_ENOUGH
    }

    /// Its severity: none if healthy; `None` if no latency is known. I/O that is throttled above
    /// the block layer may be fast below it, and its wait above was not measured.
    pub fn severity(&self) -> Option<Severity> {
        let measured = self.impact.and_then(|impact| impact.severity());
        let above = self.verdict == Verdict::CapCgroup || self.verdict.family() == Family::Layer;
        match self.verdict.blames() {
            Blame::Nobody => Some(Severity::None),
            _ => measured.filter(|known| !above || *known != Severity::None),
        }
    }

    /// Whether its confidence is a probability: `insufficient` has none.
    pub fn is_probability(&self) -> bool {
        self.verdict.blames() != Blame::Unknown
    }

    /// How findings are ranked: confidence times explained share.
    pub fn weight(&self) -> f64 {
        self.confidence() * self.explained_share
    }
}
