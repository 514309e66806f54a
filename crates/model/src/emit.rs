//! Emits a recording into another sink, as its reader or collector once did.

use crate::{DeviceId, Distribution, Event, Fact, Interval, Name, Recording, Sink};

impl Recording {
    /// Emits all listings into a sink, which numbers devices and strings anew.
    pub fn emit(&self, sink: &mut dyn Sink) {
        let devices = self.devices().iter().map(|known| {
            let device = sink.device(&known.name);
            if let Some(medium) = known.medium {
                sink.set_medium(device, medium);
            }
            device
        });
        let devices: Vec<DeviceId> = devices.collect();
        let names: Vec<Name> = self.names().iter().map(|text| sink.name(text)).collect();
        let device = |id: DeviceId| devices.get(id.index()).copied().unwrap_or(id);
        let name = |known: Option<Name>| known.and_then(|name| names.get(name.index()).copied());
        for listing in &self.listings {
            let mut source = listing.source.clone();
            source.records = 0; // The sink recounts them.
            source.skipped_of.iter_mut().for_each(|(id, _)| *id = device(*id));
            source
                .losses
                .iter_mut()
                .flat_map(|loss| &mut loss.of)
                .for_each(|of| of.0 = device(of.0));
            sink.begin(source);
            for fact in &listing.facts {
                sink.fact(Fact { device: fact.device.map(device), ..fact.clone() });
            }
            for event in &listing.events {
                let mut event = Event { device: device(event.device), ..*event };
                event.rename(|known| name(Some(known)));
                sink.event(event);
            }
            for interval in &listing.intervals {
                sink.interval(Interval { device: device(interval.device), ..interval.clone() });
            }
            for distribution in listing.histograms() {
                let (device, label) = (device(distribution.device), name(distribution.label));
                sink.distribution(Distribution { device, label, ..distribution.clone() });
            }
            sink.end();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::{Event, Layer, Level, Medium, Op, Recording, Sink, Source};

    #[test]
    fn what_is_poured_into_a_sink_that_knows_others_already_is_the_same() {
        let mut first = Recording::new();
        first.begin(Source::new("biosnoop", "here", Level::C));
        let (device, comm) = (first.device("sdb"), first.name("fio"));
        first.set_medium(device, Medium::Flash);
        first.event(Event { comm: Some(comm), ..Event::new(device, Op::Read, Layer::Block) });
        first.lost("events", 3);
        first.end();
        let mut second = Recording::new();
        second.device("sda");
        second.name("dd");
        first.emit(&mut second);
        let listing = &second.listings[0];
        assert_eq!((listing.source.records, listing.source.lost()), (1, 3));
        let event = listing.events[0];
        assert_eq!(second.device_of(event.device).name, "sdb");
        assert_eq!(second.device_of(event.device).medium, Some(Medium::Flash));
        assert_eq!(second.text(event.comm.unwrap()), "fio");
        assert_eq!(event.op, Op::Read);
    }
}
