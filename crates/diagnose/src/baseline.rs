//! Healthy service times: of a class of devices, and as they were measured of one.

pub mod classes;
pub mod healthy_time;
pub mod history;
