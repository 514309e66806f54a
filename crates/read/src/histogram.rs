//! Printed histograms: the meaning of a bucket's label, and records of PyLatencyMap.

pub(crate) mod bpftrace_maps;
pub(crate) mod buckets;
pub(crate) mod latency_record;
pub(crate) mod literal_records;
pub(crate) mod powers;
pub(crate) mod subject;
