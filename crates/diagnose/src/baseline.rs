//! Healthy service times: of a class of devices, or measured on one.

pub mod classes;
pub mod healthy_time;
pub mod history;
