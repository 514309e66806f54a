//! Healthy service times while the samples of an analysis are made: each question is answered once.

use std::collections::HashMap;
use std::rc::Rc;

use iowhy_model::DeviceId;

use crate::analysis::devices::{Devices, Question};
use crate::baseline::healthy_time::{HealthyServiceTime, OwnTimes, Request};

/// Cached healthy service times.
pub struct HealthyTimes<'d, 'a> {
    /// The devices.
    pub devices: &'d Devices<'a>,
    known: HashMap<Question, Rc<HealthyServiceTime>>,
}

impl<'d, 'a> HealthyTimes<'d, 'a> {
    /// An empty cache.
    pub fn new(devices: &'d Devices<'a>) -> HealthyTimes<'d, 'a> {
        HealthyTimes { devices, known: HashMap::new() }
    }

    /// The same as [`Devices::healthy_time`].
    pub fn of(
        &mut self,
        device: DeviceId,
        request: Request,
        own: Option<OwnTimes>,
    ) -> Rc<HealthyServiceTime> {
        if let Some(known) = self.devices.stated_or_measured(device, request) {
            return Rc::new(known);
        }
        let question = Question::new(device, request, own);
        let devices = self.devices;
        let known = self.known.entry(question);
        Rc::clone(known.or_insert_with(|| Rc::new(devices.by_class(&question))))
    }
}
