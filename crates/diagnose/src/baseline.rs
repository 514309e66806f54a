//! Healthy service times: of a class of devices, or measured on one.

pub(crate) mod classes;
pub(crate) mod healthy_time;
pub(crate) mod history;
