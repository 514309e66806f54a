//! Makes binary blktrace files to the documented layout, of I/Os whose times are known.
//!
//! Five records an I/O: Q, G +0.4 us, I +0.8 us, D +1.5 us, C 60 to 120 us after D and in one of
//! a thousand 5 ms later; one of ten completes on another CPU. Two notifications come first.

#![allow(dead_code)]

/// How a trace is written.
#[derive(Clone, Copy)]
pub(crate) struct Trace {
    pub ios: u64,
    pub cpus: u32,
    pub big: bool,
    pub second: bool,
}

/// The contents of a trace, to compare a reader with.
#[derive(Clone, Copy, Default, Debug, PartialEq)]
pub(crate) struct Truth {
    pub ios: u64,
    pub device_ns: u64,
    pub total_ns: u64,
}

struct Record {
    time: u64,
    sector: u64,
    bytes: u32,
    action: u64,
    pid: u32,
    payload: Vec<u8>,
}

/// 8,16: sdb.
const DEVICE: u32 = 8 << 20 | 16;
/// Steps and their categories: queue, issue, complete; read, write, sync; notify.
const Q: u64 = 1 | 1 << 20;
const G: u64 = 4;
const I: u64 = 12 | 1 << 20;
const D: u64 = 7 | 1 << 22;
const C: u64 = 8 | 1 << 23;
const READ: u64 = 1 << 16;
const WRITE_SYNC: u64 = 1 << 17 | 1 << 19;
const PROCESS: u64 = 1 << 26;
const CLOCK: u64 = 1 | 1 << 26;

impl Trace {
    /// The files of all CPUs, and what is in them.
    pub(crate) fn files(self) -> (Vec<Vec<u8>>, Truth) {
        let mut dice = 0x9e37_79b9_7f4a_7c15u64;
        let mut roll = move |end: u64| {
            dice ^= dice << 13;
            dice ^= dice >> 7;
            dice ^= dice << 17;
            (dice >> 11) % end
        };
        let mut truth = Truth::default();
        let mut cpus: Vec<Vec<Record>> = (0..self.cpus).map(|_| Vec::new()).collect();
        for k in 0..self.ios {
            let cpu = (k % u64::from(self.cpus)) as usize;
            let queued = 1_000_000_000 + k * 5_000 + roll(4_000);
            let latency = 60_000 + roll(60_000) + if roll(1000) == 0 { 5_000_000 } else { 0 };
            let other = if roll(10) == 0 { roll(u64::from(self.cpus)) as usize } else { cpu };
            let (sector, bytes) = (roll(1 << 28) * 8, [4096, 8192, 65536][roll(3) as usize]);
            let rw = if roll(4) == 0 { WRITE_SYNC } else { READ };
            let pid = 4000 + cpu as u32;
            let mut put = |cpu: usize, time, action| {
                let payload = Vec::new();
                cpus[cpu].push(Record { time, sector, bytes, action: action | rw, pid, payload });
            };
            put(cpu, queued, Q);
            put(cpu, queued + 400, G);
            put(cpu, queued + 800, I);
            put(cpu, queued + 1_500, D);
            put(other, queued + 1_500 + latency, C);
            truth.ios += 1;
            truth.device_ns += latency;
            truth.total_ns += 1_500 + latency;
        }
        let files = cpus.into_iter().enumerate().map(|(cpu, mut records)| {
            records.sort_by_key(|record| record.time);
            let mut file = Vec::new();
            let clock = [1_795_000_000u32, 0].iter().flat_map(|word| self.word(*word)).collect();
            let name = b"fio\0\0\0\0\0\0\0\0\0\0\0\0\0".to_vec();
            for (action, payload) in [(CLOCK, clock), (PROCESS, name)] {
                let pid = if action == CLOCK { 0 } else { 4000 + cpu as u32 };
                let note =
                    Record { time: 1_000_000_000, sector: 0, bytes: 0, action, pid, payload };
                self.put(&mut file, cpu as u32, 0, &note);
            }
            for (number, record) in records.iter().enumerate() {
                self.put(&mut file, cpu as u32, number as u32 + 1, record);
            }
            file
        });
        (files.collect(), truth)
    }

    fn word(self, word: u32) -> [u8; 4] {
        if self.big { word.to_be_bytes() } else { word.to_le_bytes() }
    }

    fn long(self, long: u64) -> [u8; 8] {
        if self.big { long.to_be_bytes() } else { long.to_le_bytes() }
    }

    fn half(self, half: u16) -> [u8; 2] {
        if self.big { half.to_be_bytes() } else { half.to_le_bytes() }
    }

    fn put(self, file: &mut Vec<u8>, cpu: u32, sequence: u32, record: &Record) {
        file.extend(self.word(0x6561_7407 + u32::from(self.second)));
        file.extend(self.word(sequence));
        file.extend(self.long(record.time));
        file.extend(self.long(record.sector));
        file.extend(self.word(record.bytes));
        if self.second {
            file.extend(self.word(record.pid));
            file.extend(self.long(record.action));
        } else {
            file.extend(self.word(record.action as u32));
            file.extend(self.word(record.pid));
        }
        file.extend(self.word(DEVICE));
        file.extend(self.word(cpu));
        file.extend(self.half(0));
        file.extend(self.half(record.payload.len() as u16));
        if self.second {
            file.extend([0; 12]);
        }
        file.extend(&record.payload);
    }
}
