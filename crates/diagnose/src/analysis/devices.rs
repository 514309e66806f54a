//! What is known of each device before any latency is looked at: its disk, what it may be made of,
//! what the input reports of it, and what a healthy one takes for a request.

use std::borrow::Cow;
use std::collections::HashSet;

use iowhy_model::{DeviceId, Level, Listing, Medium, Op, Recording, Source, key};

use crate::analysis::healthy_service;
use crate::baseline::healthy_time::{HealthyServiceTime, OwnTimes, Request};
use crate::baseline::history::{Baseline, HealthyOrigin};
use crate::facts::disk_names;
use crate::facts::{About, Facts};
use crate::options::Options;

/// Odds of a network volume below which a name rules out a limit: those of a disk named `sd`, 0.1,
/// do; those of an unknown kind such as `loop`, 0.25, do not ([`disk_names::media`]).
const MAY_BE_NETWORK: f64 = 0.2;

/// The devices of a recording: the first stage of an analysis.
pub struct Devices<'a> {
    /// What was read or watched.
    pub recording: &'a Recording,
    /// What the user asked.
    pub options: &'a Options,
    /// What the input says beside latencies.
    pub facts: Facts<'a>,
    baseline: Option<Cow<'a, Baseline>>,
}

impl<'a> Devices<'a> {
    /// Sorts what a recording reports of its devices.
    pub fn of(recording: &'a Recording, options: &'a Options) -> Devices<'a> {
        let baseline = match &options.healthy_origin {
            HealthyOrigin::Class => None,
            HealthyOrigin::Own => Some(Cow::Owned(healthy_service::own(recording))),
            HealthyOrigin::Peers => Some(Cow::Owned(healthy_service::peers(recording))),
            HealthyOrigin::Stored(baseline) => Some(Cow::Borrowed(baseline)),
        };
        Devices { recording, options, facts: Facts::of(recording), baseline }
    }

    /// A listing.
    pub fn listing(&self, place: usize) -> &'a Listing {
        &self.recording.listings[place]
    }

    /// Whether a listing names only what took longer than a limit: the mean of that is none of all.
    pub fn lists_only_slow(&self, place: usize) -> bool {
        self.listing(place).facts.iter().any(|fact| fact.key == key::TRACE_THRESHOLD)
    }

    /// Who spoke in a listing.
    pub fn source(&self, place: usize) -> &'a Source {
        &self.recording.listings[place].source
    }

    /// All inputs, each once, in the order of their first listings.
    pub fn inputs(&self) -> Vec<&'a str> {
        let mut known = HashSet::new();
        let all = self.recording.listings.iter().map(|listing| listing.source.input.as_str());
        all.filter(|input| known.insert(*input)).collect()
    }

    /// The input a listing was found in.
    pub fn input(&self, place: usize) -> &'a str {
        &self.recording.listings[place].source.input
    }

    /// The disk behind a device.
    pub fn disk(&self, device: DeviceId) -> String {
        disk_of(self.recording, device)
    }

    /// What a device may be made of: what was stated, else what its name suggests.
    pub fn media(&self, device: DeviceId) -> Vec<(Medium, f64)> {
        match self.medium(device).filter(|medium| *medium != Medium::Stacked) {
            Some(medium) => vec![(medium, 1.0)],
            None => self.media_by_name(device),
        }
    }

    /// What its name allows, without a platter if the kernel shows that none rotates.
    fn media_by_name(&self, device: DeviceId) -> Vec<(Medium, f64)> {
        let disk = self.disk(device);
        let mut media = disk_names::media(&disk);
        if media.len() > 1 && self.facts.about(None, &disk).does_not_rotate() {
            media.retain(|(medium, _)| *medium != Medium::Rotational);
        }
        let all: f64 = media.iter().map(|(_, odds)| odds).sum();
        media.iter_mut().for_each(|(_, odds)| *odds /= all);
        media
    }

    /// How likely it is that the device is a volume of a network.
    pub fn network_odds(&self, device: DeviceId) -> f64 {
        let media = self.media(device).into_iter();
        media.filter(|(medium, _)| *medium == Medium::Network).map(|(_, odds)| odds).sum()
    }

    /// Whether a platter may turn in it: false only if something else was stated or its name
    /// rules a platter out.
    pub fn may_rotate(&self, device: DeviceId) -> bool {
        match self.medium(device) {
            Some(Medium::Rotational | Medium::Stacked) => true,
            Some(_) => false,
            None => {
                let media = self.media_by_name(device);
                media.iter().any(|(medium, _)| *medium == Medium::Rotational)
            }
        }
    }

    /// Whether somebody may hold it at a rate that was bought or set: a volume of a network, or a
    /// device made of others or of an unknown kind, which may stand on anything.
    pub fn may_be_limited(&self, device: DeviceId) -> bool {
        match self.medium(device) {
            Some(medium) => matches!(medium, Medium::Network | Medium::Stacked),
            None => {
                let media = self.media_by_name(device).into_iter();
                media.filter(|(m, _)| *m == Medium::Network).any(|(_, odds)| odds >= MAY_BE_NETWORK)
            }
        }
    }

    /// Whether somebody stated that a platter turns in it.
    pub fn rotates(&self, device: DeviceId) -> bool {
        self.medium(device) == Some(Medium::Rotational)
    }

    /// What a device is made of, if the user, the system or the drive itself stated it.
    pub fn medium(&self, device: DeviceId) -> Option<Medium> {
        let stated = self.recording.device_of(device).medium;
        let disk = self.disk(device);
        if let Some(medium) = self.options.medium_of(&disk) {
            return Some(medium);
        }
        let known = stated
            .or_else(|| self.facts.about(None, &disk).medium().map(|(medium, _)| medium))
            // What has a spindle speed has a platter.
            .or(self.options.rpm.map(|_| Medium::Rotational))?;
        // To the kernel it does not turn, and no more; its name shows the rest.
        let is_card = known == Medium::Flash && disk_names::is_card(&disk);
        Some(if is_card { Medium::Card } else { known })
    }

    /// The richest level among listings.
    pub fn level(&self, listings: &[usize]) -> Level {
        listings.iter().map(|place| self.source(*place).level).max().unwrap_or(Level::A)
    }

    /// The level that a finding which is reported first competes at: who was chosen beside SMART,
    /// the kernel's log and the settings was chosen out of more than the trace that it rests on.
    /// One that rests on no listing speaks of all that was measured.
    pub fn level_of_first(&self, listings: &[usize]) -> Level {
        let all = || self.recording.listings.iter().map(|listing| listing.source.level);
        let measured = all().filter(|level| *level < Level::E).max().unwrap_or(Level::A);
        let own = if listings.is_empty() { measured } else { self.level(listings) };
        let has_evidence = all().any(|level| level == Level::E);
        if own == Level::D && has_evidence { Level::E } else { own }
    }

    /// Whether no listing of these saw time before a request went to the device: D2C alone.
    pub fn sees_no_queue(&self, listings: &[usize]) -> bool {
        !listings.is_empty() && listings.iter().all(|place| !self.source(*place).sees_queue)
    }

    /// What the input reports of a disk beside latencies, as far as it concerns a listing's input.
    pub fn about<'s>(&'s self, listing: usize, disk: &'s str) -> About<'s, 'a> {
        self.facts.about(Some(self.input(listing)), disk)
    }

    /// The healthy service time of requests of one kind: as it was stated or measured, else by
    /// class.
    pub fn healthy_time(
        &self,
        device: DeviceId,
        request: Request,
        own: Option<OwnTimes>,
    ) -> HealthyServiceTime {
        let known = self.stated_or_measured(device, request);
        known.unwrap_or_else(|| self.by_class(&Question::new(device, request, own)))
    }

    /// The healthy service time that the user stated, or that a baseline holds.
    pub fn stated_or_measured(
        &self,
        device: DeviceId,
        request: Request,
    ) -> Option<HealthyServiceTime> {
        if let Some(ms) = self.options.healthy_ms.filter(|ms| *ms > 0.0) {
            return Some(HealthyServiceTime::stated(ms));
        }
        self.baseline.as_ref().and_then(|known| known.of(&self.disk(device), request))
    }

    /// The healthy service time by what the device may be made of.
    pub fn by_class(&self, question: &Question) -> HealthyServiceTime {
        let (request, own) = question.values();
        HealthyServiceTime::of(&self.media(question.device), request, own)
    }
}

/// What the class table is asked, on a grid: a day of rows asks a million times for nearly the
/// same.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Question {
    device: DeviceId,
    op: Op,
    sequential: Option<bool>,
    bytes: Grid,
    own: Option<[Grid; 5]>,
}

impl Question {
    /// A question, laid on the grid.
    pub fn new(device: DeviceId, request: Request, own: Option<OwnTimes>) -> Question {
        let own = own.map(|own| {
            [own.floor_ms, own.low_ms, own.high_ms, own.pace_ms, own.spread_ms]
                .map(|ms| Grid::of(ms).coarse())
        });
        let Request { op, bytes, sequential } = request;
        Question { device, op, sequential, bytes: Grid::of(bytes), own }
    }

    fn values(&self) -> (Request, Option<OwnTimes>) {
        let request =
            Request { op: self.op, bytes: self.bytes.value(), sequential: self.sequential };
        let own = self.own.map(|[floor, low, high, pace, spread]| OwnTimes {
            floor_ms: floor.value(),
            low_ms: low.value(),
            high_ms: high.value(),
            pace_ms: pace.value(),
            spread_ms: spread.value(),
        });
        (request, own)
    }
}

/// A positive number to a sixteenth of an octave (4 %): far finer than any S0 is known. Powers of
/// two, the usual sizes, lie on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Grid(i32);

impl Grid {
    fn of(value: f64) -> Grid {
        Grid((value.clamp(1e-9, 1e15).log2() * 16.0).round() as i32)
    }

    /// To a quarter of an octave: what was seen only moves the odds between classes.
    fn coarse(self) -> Grid {
        Grid((self.0 + 2).div_euclid(4) * 4)
    }

    fn value(self) -> f64 {
        (f64::from(self.0) / 16.0).exp2()
    }
}

fn disk_of(recording: &Recording, device: DeviceId) -> String {
    disk_names::disk(&recording.device_of(device).name)
}
