//! The content of a block: its devices and names, then a section for each listing.

use crate::bytes::{Bytes, number, text};
use crate::header::WITHOUT_PLACES;
use crate::{BLOCK_EVENTS, events, records};
use iowhy_model::{Device, Distribution, Event, Fact, Interval, Medium, Source};

/// Sections by their codes in a capture.
const MEDIA: [Medium; 6] = [
    Medium::Rotational,
    Medium::Flash,
    Medium::Nvme,
    Medium::Network,
    Medium::Stacked,
    Medium::Card,
];

/// The content of a block. Devices and names in it are indexes into its own lists.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Block {
    /// The devices of its sections.
    pub devices: Vec<Device>,
    /// The names they use.
    pub names: Vec<String>,
    /// The section of each listing.
    pub sections: Vec<Section>,
}

/// The records of one listing since the previous block.
#[derive(Clone, PartialEq, Debug)]
pub struct Section {
    /// The listing's number in its recording.
    pub listing: u64,
    /// The source; losses and skips are counted since the beginning.
    pub source: Source,
    /// Single I/Os.
    pub events: Vec<Event>,
    /// Averages.
    pub intervals: Vec<Interval>,
    /// Histograms.
    pub distributions: Vec<Distribution>,
    /// Facts.
    pub facts: Vec<Fact>,
}

impl Block {
    /// The version of its bytes.
    pub fn version(&self) -> u16 {
        let versions = self.sections.iter().map(|section| events::version_of(&section.events));
        versions.max().unwrap_or(WITHOUT_PLACES)
    }

    /// As bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let (version, mut out) = (self.version(), Vec::new());
        number(self.devices.len() as u64, &mut out);
        for device in &self.devices {
            text(&device.name, &mut out);
            let medium = device.medium.and_then(|one| MEDIA.iter().position(|known| *known == one));
            out.push(medium.map_or(0, |place| place as u8 + 1));
        }
        number(self.names.len() as u64, &mut out);
        self.names.iter().for_each(|name| text(name, &mut out));
        number(self.sections.len() as u64, &mut out);
        for section in &self.sections {
            number(section.listing, &mut out);
            records::write_source(&section.source, &mut out);
            events::write(version, &section.events, &mut out);
            number(section.intervals.len() as u64, &mut out);
            section.intervals.iter().for_each(|one| records::write_interval(one, &mut out));
            number(section.distributions.len() as u64, &mut out);
            section.distributions.iter().for_each(|one| records::write_distribution(one, &mut out));
            number(section.facts.len() as u64, &mut out);
            section.facts.iter().for_each(|one| records::write_fact(one, &mut out));
        }
        out
    }

    /// From bytes of a version; `None` if they contain anything that a recording cannot.
    pub fn from_bytes(version: u16, bytes: &[u8]) -> Option<Block> {
        let mut from = Bytes(bytes);
        let mut block = Block::default();
        for _ in 0..from.count()? {
            let name = from.text()?;
            let medium = match from.byte()? {
                0 => None,
                place => Some(*MEDIA.get(usize::from(place) - 1)?),
            };
            block.devices.push(Device { name, medium });
        }
        for _ in 0..from.count()? {
            block.names.push(from.text()?);
        }
        let mut left = BLOCK_EVENTS;
        for _ in 0..from.count()? {
            let section = read_section(version, left, &mut from)?;
            left = left.checked_sub(section.events.len())?;
            block.sections.push(section);
        }
        (from.0.is_empty() && block.holds_what_it_names()).then_some(block)
    }

    /// Whether every device and name is in the block's own lists.
    fn holds_what_it_names(&self) -> bool {
        let (devices, names) = (self.devices.len(), self.names.len());
        self.sections.iter().all(|section| {
            section.events.iter().all(|event| {
                let (mut event, mut held) = (*event, event.device.index() < devices);
                event.rename(|name| {
                    held &= name.index() < names;
                    None
                });
                held
            }) && section.intervals.iter().all(|one| one.device.index() < devices)
                && section.facts.iter().all(|one| one.device.is_none_or(|id| id.index() < devices))
                && section.distributions.iter().all(|one| {
                    one.device.index() < devices
                        && one.label.is_none_or(|name| name.index() < names)
                })
        })
    }
}

fn read_section(version: u16, most: usize, from: &mut Bytes) -> Option<Section> {
    let listing = from.number()?;
    let source = records::read_source(from)?;
    let events = events::read(version, most, from)?;
    let mut section = Section {
        listing,
        source,
        events,
        intervals: Vec::new(),
        distributions: Vec::new(),
        facts: Vec::new(),
    };
    for _ in 0..from.count()? {
        section.intervals.push(records::read_interval(from)?);
    }
    for _ in 0..from.count()? {
        section.distributions.push(records::read_distribution(from)?);
    }
    for _ in 0..from.count()? {
        section.facts.push(match version {
            1 => records::read_text_fact(from)?,
            _ => records::read_fact(from)?,
        });
    }
    Some(section)
}
