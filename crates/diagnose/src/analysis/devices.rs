//! What is known about each device before any latency: its disk, its possible media, facts from the
//! input, and the healthy service time of a request.

use std::borrow::Cow;

use iowhy_model::{DeviceId, FactKey, Finding, Level, Listing, Medium, Op, Recording, Source, key};

use crate::analysis::healthy_service;
use crate::baseline::healthy_time::{HealthyServiceTime, OwnTimes, Request};
use crate::baseline::history::{Baseline, HealthyOrigin};
use crate::facts::disk_names;
use crate::facts::graph::Host;
use crate::facts::reading::FactReading;
use crate::facts::{About, Facts};
use crate::options::Options;

/// A name rules out a limit if its odds of a network volume are below this: 0.1 for `sd` is below,
/// 0.25 for an unknown kind such as `loop` is not ([`disk_names::media`]).
const MAY_BE_NETWORK: f64 = 0.2;

/// The devices of a recording: the first stage of an analysis.
pub struct Devices<'a> {
    /// The recording.
    pub recording: &'a Recording,
    /// The user's options.
    pub options: &'a Options,
    /// The facts of the input.
    pub facts: Facts<'a>,
    baseline: Option<Cow<'a, Baseline>>,
    /// Whether all kernels that are named are built for virtual machines of a provider.
    in_a_cloud: bool,
}

fn is_in_a_cloud(recording: &Recording) -> bool {
    let sources = recording.listings.iter().map(|listing| &listing.source);
    let mut named = sources.filter(|source| source.kernel().is_some()).peekable();
    named.peek().is_some() && named.all(Source::is_of_a_cloud)
}

impl<'a> Devices<'a> {
    /// Sorts the facts of a recording by device.
    pub fn of(recording: &'a Recording, options: &'a Options) -> Devices<'a> {
        let baseline = match &options.healthy_origin {
            HealthyOrigin::Class => None,
            HealthyOrigin::Own => Some(Cow::Owned(healthy_service::own(recording))),
            HealthyOrigin::Peers => Some(Cow::Owned(healthy_service::peers(recording))),
            HealthyOrigin::Stored(baseline) => Some(Cow::Borrowed(baseline)),
        };
        let in_a_cloud = is_in_a_cloud(recording);
        Devices { recording, options, facts: Facts::of(recording), baseline, in_a_cloud }
    }

    /// A listing.
    pub fn listing(&self, place: usize) -> &'a Listing {
        &self.recording.listings[place]
    }

    /// Whether a listing has only I/Os above a latency limit: their mean is not the mean of all.
    pub fn lists_only_slow(&self, place: usize) -> bool {
        self.listing(place).facts.iter().any(|fact| fact.key == key::TRACE_THRESHOLD)
    }

    /// The source of a listing.
    pub fn source(&self, place: usize) -> &'a Source {
        &self.recording.listings[place].source
    }

    /// All machines, in the order of their first listings.
    pub fn hosts(&self) -> Vec<Host<'a>> {
        self.facts.graph.hosts()
    }

    /// Whether a finding is of a host.
    pub fn is_on(&self, finding: &Finding, host: Host) -> bool {
        finding.subject.listings.iter().any(|place| self.host(*place) == host)
    }

    /// All listings, each with its place.
    pub fn listings(&self) -> impl Iterator<Item = (usize, &'a Listing)> + Clone {
        self.recording.listings.iter().enumerate()
    }

    /// Those of a host.
    pub fn listings_of(&self, host: Host) -> impl Iterator<Item = (usize, &'a Listing)> {
        self.listings().filter(move |(place, _)| self.host(*place) == host)
    }

    /// The machine that a listing is of.
    pub fn host(&self, place: usize) -> Host<'a> {
        self.facts.graph.host(place)
    }

    /// The disk of a device.
    pub fn disk(&self, device: DeviceId) -> String {
        disk_names::of(self.recording, device)
    }

    /// The possible media of a device: as stated, else as its name suggests.
    pub fn media(&self, device: DeviceId) -> Vec<(Medium, f64)> {
        match self.medium(device).filter(|medium| *medium != Medium::Stacked) {
            Some(medium) => vec![(medium, 1.0)],
            None => self.media_by_name(device),
        }
    }

    /// What its name allows, without a platter if the kernel shows that none rotates.
    fn media_by_name(&self, device: DeviceId) -> Vec<(Medium, f64)> {
        let disk = self.disk(device);
        let mut media = match self.in_a_cloud {
            true => disk_names::media_in_a_cloud(&disk),
            false => disk_names::media(&disk),
        };
        if media.len() > 1 && self.facts.about(None, &disk).does_not_rotate() {
            media.retain(|(medium, _)| *medium != Medium::Rotational);
        }
        let all: f64 = media.iter().map(|(_, odds)| odds).sum();
        media.iter_mut().for_each(|(_, odds)| *odds /= all);
        media
    }

    /// The probability that the device is a network volume.
    pub fn network_odds(&self, device: DeviceId) -> f64 {
        let media = self.media(device).into_iter();
        media.filter(|(medium, _)| *medium == Medium::Network).map(|(_, odds)| odds).sum()
    }

    /// Whether it may be a spinning disk: false only if another medium is stated or its name rules
    /// it out.
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

    /// Whether it may be rate-limited by a provider or a setting: a network volume, or a stacked or
    /// unknown device, which may be on top of anything.
    pub fn may_be_limited(&self, device: DeviceId) -> bool {
        match self.medium(device) {
            Some(medium) => matches!(medium, Medium::Network | Medium::Stacked),
            None => {
                let media = self.media_by_name(device).into_iter();
                media.filter(|(m, _)| *m == Medium::Network).any(|(_, odds)| odds >= MAY_BE_NETWORK)
            }
        }
    }

    /// Whether it is stated to be a spinning disk.
    pub fn rotates(&self, device: DeviceId) -> bool {
        self.medium(device) == Some(Medium::Rotational)
    }

    /// The medium of a device, if the user, the system or the drive itself stated it.
    pub fn medium(&self, device: DeviceId) -> Option<Medium> {
        let stated = self.recording.device_of(device).medium;
        let disk = self.disk(device);
        if let Some(medium) = self.options.medium_of(&disk) {
            return Some(medium);
        }
        let known = stated
            .or_else(|| self.facts.medium(&disk))
            // A device with a spindle speed has a platter.
            .or(self.options.rpm.map(|_| Medium::Rotational))?;
        // The kernel only reports that it does not rotate; its name shows the rest.
        let is_card = known == Medium::Flash && disk_names::is_card(&disk);
        Some(if is_card { Medium::Card } else { known })
    }

    /// The richest level among listings.
    pub fn level(&self, listings: &[usize]) -> Level {
        listings.iter().map(|place| self.source(*place).level).max().unwrap_or(Level::A)
    }

    /// The level at which the first finding is calibrated: if SMART, kernel log and settings were
    /// available, it was chosen from more than the trace that it rests on. A finding without a
    /// listing is about everything measured.
    pub fn level_of_first(&self, listings: &[usize]) -> Level {
        let all = || self.recording.listings.iter().map(|listing| listing.source.level);
        let measured = all().filter(|level| *level < Level::E).max().unwrap_or(Level::A);
        let own = if listings.is_empty() { measured } else { self.level(listings) };
        let has_evidence = all().any(|level| level == Level::E);
        if own == Level::D && has_evidence { Level::E } else { own }
    }

    /// Whether none of these listings saw queue time: D2C alone.
    pub fn sees_no_queue(&self, listings: &[usize]) -> bool {
        !listings.is_empty() && listings.iter().all(|place| !self.source(*place).sees_queue)
    }

    /// The facts about a disk that apply to a listing's input.
    pub fn about<'s>(&'s self, listing: usize, disk: &'s str) -> About<'s, 'a> {
        self.facts.about(Some(self.host(listing)), disk)
    }

    /// The facts about a machine itself.
    pub fn machine<'s>(&'s self, host: Host<'a>) -> About<'s, 'a> {
        self.facts.about(Some(host), "")
    }

    /// A fact about a machine as a number, from its own listings alone.
    pub fn own_number(&self, host: Host, key: FactKey) -> Option<(f64, FactReading<'a>)> {
        let known = self.facts.about(Some(host), "").machine_number(key);
        known.filter(|(_, reading)| self.host(reading.listing) == host)
    }

    /// The healthy service time of requests of one kind: as stated or measured, else by class.
    pub fn healthy_time(
        &self,
        device: DeviceId,
        request: Request,
        own: Option<OwnTimes>,
    ) -> HealthyServiceTime {
        let known = self.stated_or_measured(device, request);
        known.unwrap_or_else(|| self.by_class(&Question::new(device, request, own)))
    }

    /// The healthy service time stated by the user or in a baseline.
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

    /// The healthy service time by the possible media of the device.
    pub fn by_class(&self, question: &Question) -> HealthyServiceTime {
        let (request, own) = question.values();
        HealthyServiceTime::of(&self.media(question.device), request, own)
    }
}

/// The query to the class table, on a grid: a day of rows has a million nearly equal ones.
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

/// Rounds a positive number to a sixteenth of an octave (4 %): far more precise than any S0. Powers
/// of two, the usual sizes, are on the grid.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Grid(i32);

impl Grid {
    fn of(value: f64) -> Grid {
        Grid((value.clamp(1e-9, 1e15).log2() * 16.0).round() as i32)
    }

    /// Rounds to a quarter of an octave: observations only shift the odds between classes.
    fn coarse(self) -> Grid {
        Grid((self.0 + 2).div_euclid(4) * 4)
    }

    fn value(self) -> f64 {
        (f64::from(self.0) / 16.0).exp2()
    }
}
