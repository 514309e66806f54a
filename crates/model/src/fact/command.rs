//! The purpose of a command named in a log message, whatever its spelling.
//!
//! One command has a dozen spellings: `CDB: Read(10) 28 00 ...`, `CDB: opcode=0x28 28 00 ...`,
//! `CDB: cdb[0]=0x28: 28 00 ...`, `cmd 60/08:...`, `failed command: READ FPDMA QUEUED`,
//! `op 0x0:(READ)`, `opcode 0x2 (I/O Cmd) QID 3`, `ACB: 60 08 ...`. Bytes decide where they are
//! printed, names elsewhere.

use crate::Op;

/// The purpose of a command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CommandKind {
    /// To move, write back or discard data of programs.
    Io(Op),
    /// To query the drive: SMART, power mode, size, readiness.
    Query,
}

use CommandKind as C;

const READ: Option<CommandKind> = Some(C::Io(Op::Read));
const WRITE: Option<CommandKind> = Some(C::Io(Op::Write));
const FLUSH: Option<CommandKind> = Some(C::Io(Op::Flush));
const DISCARD: Option<CommandKind> = Some(C::Io(Op::Discard));

/// SCSI operation codes (SPC-5, SBC-4) that are neither a query nor plain I/O.
const WRITE_SAME: [u8; 2] = [0x41, 0x93];
/// The bit of byte 1 by which WRITE SAME discards (SBC-4).
const UNMAP: u8 = 1 << 3;
/// ATA PASS-THROUGH of 16 and 12 bytes, with the place of the ATA command (SAT-4).
const PASS_THROUGH: [(u8, usize); 2] = [(0x85, 14), (0xa1, 9)];

/// Names of commands where no bytes are printed (drivers/scsi/constants.c, drivers/ata/libata-eh.c,
/// drivers/nvme/host/constants.c); the first that the text begins with decides.
const NAMES: [(&str, Option<CommandKind>); 30] = [
    ("READ LOG", Some(C::Query)),
    ("READ NATIVE MAX", Some(C::Query)),
    ("READ BUFFER", Some(C::Query)),
    ("READ CAPACITY", Some(C::Query)),
    ("READ DEFECT", Some(C::Query)),
    ("READ ELEMENT", Some(C::Query)),
    ("READ MEDIA SERIAL", Some(C::Query)),
    ("READ", READ),
    ("WRITE LOG", None),
    ("WRITE BUFFER", None),
    ("WRITE SAME", None),
    ("WRITE UNCORRECTABLE", None),
    ("WRITE", WRITE),
    ("SYNCHRONIZE CACHE", FLUSH),
    ("FLUSH", FLUSH),
    ("UNMAP", DISCARD),
    ("DISCARD", DISCARD),
    ("SECURE_ERASE", DISCARD),
    ("DATA SET MANAGEMENT", DISCARD),
    ("DATASET MANAGEMENT", DISCARD),
    ("SEND FPDMA QUEUED", DISCARD),
    ("TEST UNIT READY", Some(C::Query)),
    ("INQUIRY", Some(C::Query)),
    ("LOG SENSE", Some(C::Query)),
    ("MODE SENSE", Some(C::Query)),
    ("REPORT LUNS", Some(C::Query)),
    ("SMART", Some(C::Query)),
    ("IDENTIFY", Some(C::Query)),
    ("CHECK POWER MODE", Some(C::Query)),
    ("ATA COMMAND PASS THROUGH", Some(C::Query)),
];

/// The purpose of the command in a message; `None` if it names none, or one of another kind.
pub(super) fn command(message: &str) -> Option<CommandKind> {
    let after = |mark: &str| message.split_once(mark).map(|(_, rest)| rest);
    if let Some(rest) = after("CDB: ").or_else(|| message.strip_prefix("cdb[0]=")) {
        return of_scsi(rest);
    }
    if let Some(rest) = after("ACB: ") {
        return bytes(rest).first().and_then(|code| of_ata(*code));
    }
    if let Some(rest) = after("failed command: ") {
        return named(rest);
    }
    if let Some((_, name)) = after(" op 0x").and_then(|rest| rest.split_once(":(")) {
        return named(name);
    }
    if let Some(rest) = after(" timeout, ").and(after("I/O ")) {
        return of_nvme(rest);
    }
    // `ata3.00: cmd 61/00:00:...`
    let reported = message.trim_start();
    let reported = reported.split_once(": ").filter(|(name, _)| name.starts_with("ata"));
    let reported = reported.map_or(message, |(_, reported)| reported).trim_start();
    let (code, _) = reported.strip_prefix("cmd ")?.split_once('/')?;
    u8::from_str_radix(code, 16).ok().and_then(of_ata)
}

/// The SCSI command in `Read(10): 28 00 ...`, `opcode=0x42 42 00 ...`, `Unmap`.
fn of_scsi(text: &str) -> Option<CommandKind> {
    let bytes = bytes(text);
    let number = text.split(['=', ' ', ':']).find_map(|word| word.strip_prefix("0x"));
    let number = number.and_then(|number| u8::from_str_radix(number, 16).ok());
    let Some(code) = bytes.first().copied().or(number) else { return named(text) };
    if let Some((_, place)) = PASS_THROUGH.iter().find(|(known, _)| *known == code) {
        // If the bytes were cut off, the most frequent purpose.
        return bytes.get(*place).map_or(Some(C::Query), |command| {
            of_ata(*command).or((!is_ata_other(*command)).then_some(C::Query))
        });
    }
    match code {
        0x08 | 0x28 | 0x88 | 0xa8 => READ,
        0x0a | 0x2a | 0x2e | 0x8a | 0x8e | 0x89 | 0x9c | 0xaa | 0xae => WRITE,
        0x35 | 0x91 => FLUSH,
        0x42 => DISCARD,
        _ if WRITE_SAME.contains(&code) => {
            if bytes.get(1).is_some_and(|flags| flags & UNMAP != 0) {
                DISCARD
            } else {
                WRITE
            }
        }
        // TEST UNIT READY, REQUEST SENSE, INQUIRY, MODE SENSE, READ CAPACITY, READ DEFECT DATA,
        // LOG SENSE, RECEIVE DIAGNOSTIC RESULTS, SERVICE ACTION IN, REPORT LUNS, MAINTENANCE IN.
        0x00 | 0x03 | 0x12 | 0x1a | 0x1c | 0x25 | 0x37 | 0x4d | 0x5a | 0x9e | 0xa0 | 0xa3
        | 0xb7 => Some(C::Query),
        _ => None,
    }
}

/// An ATA command (ACS-4) that moves data or is a known query.
fn of_ata(code: u8) -> Option<CommandKind> {
    match code {
        0x20 | 0x24 | 0x25 | 0x29 | 0x60 | 0xc4 | 0xc8 | 0xc9 => READ,
        0x30 | 0x34 | 0x35 | 0x39 | 0x3d | 0x61 | 0xc5 | 0xca | 0xcb | 0xce | 0xcf => WRITE,
        0xe7 | 0xea => FLUSH,
        // DATA SET MANAGEMENT, and SEND FPDMA QUEUED, which carries it in a queue.
        0x06 | 0x64 => DISCARD,
        // READ LOG, IDENTIFY, SMART, CHECK POWER MODE, READ BUFFER, READ NATIVE MAX ADDRESS.
        0x2f | 0x47 | 0xa1 | 0xb0 | 0xe4 | 0xe5 | 0x98 | 0xec | 0xf8 | 0x27 => Some(C::Query),
        _ => None,
    }
}

/// ATA commands that are neither I/O nor a query: firmware downloads.
fn is_ata_other(code: u8) -> bool {
    matches!(code, 0x92 | 0x93)
}

/// `tag 27 (001b) opcode 0x9 (I/O Cmd) QID 3 timeout, ...`: the admin queue is number 0.
fn of_nvme(text: &str) -> Option<CommandKind> {
    let number = |mark: &str| {
        let (_, rest) = text.split_once(mark)?;
        rest.split(|c: char| !c.is_ascii_alphanumeric()).next()
    };
    let code = number("opcode 0x").and_then(|code| u8::from_str_radix(code, 16).ok());
    if let Some((_, name)) = text.split_once("req_op:") {
        return named(name);
    }
    let code = match code {
        Some(code) => code,
        None => return named(text.split_once(" (")?.1),
    };
    match (number("QID ")? == "0", code) {
        // Get Log Page, Identify, Get Features.
        (true, 0x02 | 0x06 | 0x0a) => Some(C::Query),
        (true, _) => None,
        (false, 0x00) => FLUSH,
        (false, 0x01 | 0x08) => WRITE,
        (false, 0x02) => READ,
        (false, 0x09) => DISCARD,
        _ => None,
    }
}

fn named(text: &str) -> Option<CommandKind> {
    let text = text.trim_start();
    let begins =
        |name: &str| text.get(..name.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(name));
    NAMES.iter().find(|(name, _)| begins(name)).and_then(|(_, kind)| *kind)
}

/// The bytes of a command, starting after its name: two hexadecimal digits each, or `0x2a` in older
/// drivers.
fn bytes(text: &str) -> Vec<u8> {
    let byte = |word: &str| {
        let digits = word.strip_prefix("0x").unwrap_or(word);
        let is_byte = digits.len() == 2 || digits.len() == 1 && digits.len() < word.len();
        is_byte.then(|| u8::from_str_radix(digits, 16).ok()).flatten()
    };
    let words = text.split(' ').map(str::trim).filter(|word| !word.is_empty());
    words.skip_while(|word| byte(word).is_none()).map_while(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_in_all_its_spellings() {
        for (kind, spellings) in [
            (
                DISCARD,
                &[
                    "sd 6:0:4:0: [sdg] tag#2762 CDB: opcode=0x42 42 00 00 00 00 00 00 00 18 00",
                    "sd 6:0:4:0: [sdg] tag#2762 CDB: Unmap/Read sub-channel 42 00 00 00 00 00 00 \
                     00 18 00",
                    "sd 6:0:4:0: [sdg] CDB: Unmap",
                    "cdb[0]=0x42: 42 00 00 00 00 00 00 00 18 00",
                    "sd 6:0:4:0: [sdg] CDB: Write same(16) 93 08 00 00 00 00 00 00 00 00 00 40 00 \
                     00 00 00",
                    "ata3.00: failed command: DATA SET MANAGEMENT",
                    "ata3.00: cmd 06/01:01:00:00:00/00:00:00:00:00/a0 tag 0 dma 512 out",
                    "ata3.00: cmd 64/01:00:00:00:00/00:00:00:00:00/a0 tag 4 ncq dma 512 out",
                    "(ada2:ahcich3:0:0:0): DATA_SET_MANAGEMENT. ACB: 06 01 00 00 00 40 00 00 00 00 \
                     01 00",
                    "I/O error, dev sdg, sector 8 op 0x3:(DISCARD) flags 0x0 phys_seg 1 prio class \
                     2",
                    "nvme nvme0: I/O tag 27 (001b) opcode 0x9 (I/O Cmd) QID 3 timeout, aborting",
                    "nvme nvme0: I/O 27 (Dataset Management) QID 3 timeout, aborting",
                ][..],
            ),
            (
                READ,
                &[
                    "sd 2:0:0:0: [sdd] tag#3 CDB: Read(10) 28 00 1a 2b 3c 40 00 00 08 00",
                    "sd 2:0:0:0: [sdd] CDB: Read(10): 28 00 1a 2b 3c 40 00 00 08 00",
                    "sd 2:0:0:0: [sdd] tag#3 CDB: opcode=0x28 28 00 1a 2b 3c 40 00 00 08 00",
                    "scsi1:0:0:2: Attempting to queue an ABORT message:CDB: 0x28 0x0 0x1a 0x2b \
                     0x3c 0x40",
                    "ata1.00: failed command: READ FPDMA QUEUED",
                    "ata1.00: cmd 60/00:08:e8:d7:6a/01:00:03:00:00/40 tag 1 ncq 131072 in",
                    "nvme nvme0: I/O tag 27 (001b) opcode 0x2 (I/O Cmd) QID 3 timeout, aborting",
                    "nvme nvme0: I/O 27 (Read) QID 3 timeout, aborting",
                ],
            ),
            (
                FLUSH,
                &[
                    "sd 7:0:14:0: CDB: Synchronize Cache(10): 35 00 00 00 00 00 00 00 00 00",
                    "sd 7:0:14:0: [sdk] tag#0 CDB: Synchronize Cache(16) 91 00",
                    "ata1.00: failed command: FLUSH CACHE EXT",
                    "ata1.00: cmd ea/00:00:00:00:00/00:00:00:00:00/a0 tag 0",
                    "nvme nvme0: I/O tag 27 (001b) opcode 0x0 (I/O Cmd) QID 3 timeout, aborting",
                ],
            ),
            (
                Some(C::Query),
                &[
                    "sd 1:0:9:0: [sdn] tag#2384 CDB: opcode=0x85 85 06 20 00 00 00 00 00 00 00 00 \
                     00 00 40 e5 00",
                    "sd 1:0:2:0: [sdc] CDB: ATA command pass through(16) 85 08 0e 00 d5 00 01 00 \
                     e0 00 4f 00 c2 00 b0 00",
                    "sd 1:0:2:0: [sdc] CDB: ATA command pass through(12)/Blank a1 80 00 00 02 00 \
                     00 00 00 ec 00 00",
                    "sd 1:0:2:0: [sdc] CDB: ATA command pass through(16) 85 06",
                    "sd 1:0:2:0: [sdc] CDB: Test Unit Ready: 00 00 00 00 00 00",
                    "sd 1:0:2:0: [sdc] CDB: opcode=0x0 00 00 00 00 00 00",
                    "sd 1:0:2:0: [sdc] CDB: Log Sense 4d 00 40 00 00 00 00 00 04 00",
                    "scsi1:0:0:2: Attempting to queue a TARGET RESET message:CDB: 0x0 0x0 0x0 0x0 \
                     0x0 0x0",
                    "ata1.00: failed command: SMART",
                    "ata1.00: failed command: READ LOG DMA EXT",
                    "ata1.00: cmd b0/d0:01:00:4f:c2/00:00:00:00:00/00 tag 16 pio 512 in",
                    "nvme nvme0: I/O tag 12 (100c) opcode 0x2 (Admin Cmd) QID 0 timeout, \
                     completion polled",
                ],
            ),
            (
                WRITE,
                &[
                    "sd 2:0:0:0: [sdd] tag#3 CDB: opcode=0x85 85 06 20 00 00 00 00 00 00 00 00 00 \
                     00 40 35 00",
                    "sd 2:0:0:0: [sdd] tag#3 CDB: Write same(16) 93 00 00 00 00 00 00 00 00 00 00 \
                     40 00 00 00 00",
                    "I/O error, dev sdb, sector 314643672 op 0x1:(WRITE) flags 0x800 phys_seg 1",
                    "nvme nvme0: I/O 27 QID 3 timeout, aborting req_op:WRITE(1) size:4096",
                ],
            ),
            (
                None,
                &[
                    "sd 0:0:0:0: [sda] tag#15 CDB: opcode=0xe6 (vendor) e6 02 00 01 00 00 00 0f",
                    "sd 0:0:0:0: [sda] tag#15 CDB: Start/Stop Unit 1b 00 00 00 01 00",
                    "nvme nvme0: I/O 27 QID 3 timeout, aborting",
                    "ata1.00: qc timeout (cmd 0xec)",
                    "sd 0:0:0:0: [sda] tag#15 CDB: opcode=0x85 85 06 20 00 00 00 00 00 00 00 00 00 \
                     00 40 92 00",
                    "sd 2:0:0:0: [sdc] CDB:",
                    "cmd ",
                    "CDB: ",
                    "",
                ],
            ),
        ] {
            for spelling in spellings {
                assert_eq!(command(spelling), kind, "{spelling}");
            }
        }
    }
}
