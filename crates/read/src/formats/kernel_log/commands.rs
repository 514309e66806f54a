//! Which lines are about one command: the kernel writes up to nine of a command that failed, and
//! what it says of each kind counts once.

use iowhy_model::{Message, MessageKind};

use super::forms::{self, Logger};
use super::{ABORTS, FAILED};

/// Commands that are open at once.
const OPEN: usize = 256;
/// Lines of one command follow each other within this time, s: they are printed in one go (a
/// choice).
const APART_S: f64 = 1.0;

/// What a command of a program to the drive itself is printed as (drivers/scsi/constants.c).
const PASS_THROUGH: &str = "ATA command pass through(";
/// Commands of ATA that move a program's data or make them durable: reads, writes, their queued
/// and forced forms, discards and flushes, and downloads of firmware (ACS-4, command codes).
const OF_DATA: [u8; 24] = [
    0x06, 0x20, 0x24, 0x25, 0x29, 0x30, 0x34, 0x35, 0x39, 0x3d, 0x60, 0x61, 0x92, 0x93, 0xc4, 0xc5,
    0xc8, 0xc9, 0xca, 0xcb, 0xce, 0xcf, 0xe7, 0xea,
];

/// Complaints that wait for the rest of what is said of their command.
#[derive(Default)]
pub(super) struct Commands {
    open: Vec<Command>,
    /// The complaint that a port froze, until it is known whether a command says the same.
    frozen: Option<Complaint>,
}

/// A complaint, whom it names, and where it stands.
pub(super) struct Complaint {
    pub(super) kind: MessageKind,
    pub(super) name: String,
    pub(super) message: Message,
    pub(super) place: String,
}

/// A command of which some lines were read.
#[derive(Default)]
struct Command {
    whose: String,
    at_s: Option<f64>,
    /// Kinds of lines that were read.
    parts: Vec<Part>,
    complaints: Vec<Complaint>,
    /// A program sent it to the drive itself, and it moves no data.
    is_query: bool,
}

/// What a line says of a command, in the order in which lines are printed.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    /// It failed, or is aborted.
    Failed,
    /// What it was.
    Which,
    /// How it ended.
    Result,
    Status,
    Sense,
    AdditionalSense,
    Error,
    /// The request that it was made for.
    Request,
}

fn part(message: &str) -> Option<Part> {
    let (logger, said) = forms::heading(message);
    let begins = |words: &str| said.starts_with(words);
    Some(match logger {
        Logger::Block if is_of_a_request(message) => Part::Request,
        Logger::Scsi if FAILED.iter().any(|words| begins(words)) => Part::Failed,
        Logger::Scsi if begins("uas_eh_abort_handler") || begins(ABORTS) => Part::Failed,
        Logger::Scsi if begins("Sense Key :") => Part::Sense,
        Logger::Scsi if begins("Add. Sense:") => Part::AdditionalSense,
        // On a line of its own it begins as no driver's messages do.
        Logger::Scsi | Logger::Other if begins("CDB: ") => Part::Which,
        Logger::Ata if begins("failed command: ") => Part::Failed,
        Logger::Ata if begins("cmd ") => Part::Which,
        Logger::Ata if begins("res ") => Part::Result,
        Logger::Ata if begins("status: {") => Part::Status,
        Logger::Ata if begins("error: {") => Part::Error,
        _ => return None,
    })
}

/// Whether a message is one of several about a command.
pub(super) fn is_of_a_command(message: &str) -> bool {
    part(message).is_some()
}

/// Whether a message is of the block layer about a request, of which it names the disk and not its
/// address. Those about the page cache follow when the request is done with.
pub(super) fn is_of_a_request(message: &str) -> bool {
    let (logger, said) = forms::heading(message);
    logger == Logger::Block && !said.starts_with("Buffer I/O error")
}

impl Commands {
    /// Takes a line about a disk or port, with what it complains of. Gives the complaints that are
    /// complete.
    pub(super) fn take(
        &mut self,
        whose: &str,
        message: &Message,
        complaint: Option<Complaint>,
    ) -> Vec<Complaint> {
        let mut done = Vec::new();
        let Some(part) = part(&message.text).filter(|_| !whose.is_empty()) else {
            let Some(complaint) = complaint else { return done };
            // A port that froze: the commands that were lost by it follow.
            let froze =
                complaint.kind == MessageKind::Timeout && message.text.contains("exception Emask");
            if froze {
                done.extend(self.frozen.replace(complaint));
            } else {
                done.push(complaint);
            }
            return done;
        };
        let same = self.open.iter().position(|known| known.whose == whose);
        if let Some(place) = same.filter(|place| {
            !self.open.get(*place).is_some_and(|known| known.goes_on(part, message))
        }) {
            let known = self.open.remove(place);
            self.close(known, &mut done);
        }
        if self.open.len() >= OPEN {
            let known = self.open.remove(0);
            self.close(known, &mut done);
        }
        let place = self.open.iter().position(|known| known.whose == whose).unwrap_or_else(|| {
            self.open.push(Command { whose: whose.to_string(), ..Command::default() });
            self.open.len() - 1
        });
        if let Some(known) = self.open.get_mut(place) {
            known.add(part, message, complaint);
        }
        if part == Part::Request {
            let known = self.open.remove(place);
            self.close(known, &mut done);
        }
        done
    }

    /// Gives what still waits.
    pub(super) fn finish(&mut self) -> Vec<Complaint> {
        let mut done = Vec::new();
        for known in std::mem::take(&mut self.open) {
            self.close(known, &mut done);
        }
        done.extend(self.frozen.take());
        done
    }

    fn close(&mut self, command: Command, done: &mut Vec<Complaint>) {
        let timed_out = command.complaints.iter().any(|known| known.kind == MessageKind::Timeout);
        if timed_out && self.frozen.as_ref().is_some_and(|froze| froze.name == command.whose) {
            self.frozen = None;
        }
        done.extend(command.complaints());
    }
}

impl Command {
    /// Whether a line is about the same command as those before it.
    fn goes_on(&self, part: Part, message: &Message) -> bool {
        let apart =
            self.at_s.zip(message.at_s).is_some_and(|(first, now)| (now - first).abs() > APART_S);
        part != Part::Failed && !self.parts.contains(&part) && !apart
    }

    fn add(&mut self, part: Part, message: &Message, complaint: Option<Complaint>) {
        self.parts.push(part);
        self.at_s = message.at_s.or(self.at_s);
        self.is_query |= part == Part::Which && is_query(&message.text);
        let Some(complaint) = complaint else { return };
        match self.complaints.iter_mut().find(|known| known.kind == complaint.kind) {
            Some(known) => {
                let sector = known.message.sector.or(complaint.message.sector);
                // How it ended says more than that it failed.
                if complaint.message.is_outcome() {
                    *known = complaint;
                }
                known.message.sector = sector;
            }
            None => self.complaints.push(complaint),
        }
    }

    /// What it comes to.
    fn complaints(mut self) -> Vec<Complaint> {
        if self.is_query {
            self.complaints.truncate(1);
            self.complaints.iter_mut().for_each(|known| known.kind = MessageKind::Query);
        }
        // Why it failed says more than that it did.
        if self.complaints.iter().any(|known| known.kind != MessageKind::Command) {
            self.complaints.retain(|known| known.kind != MessageKind::Command);
        }
        self.complaints
    }
}

/// Whether a command is one that a program sent to the drive itself, and moves no data:
/// `CDB: ATA command pass through(16) 85 06 20 00 ... 40 e5 00` (SAT-4: the command is byte 14 of
/// 16, and 9 of 12).
fn is_query(message: &str) -> bool {
    let Some((_, rest)) = message.split_once(PASS_THROUGH) else { return false };
    let Some((size, rest)) = rest.split_once(')') else { return false };
    let bytes: Vec<&str> = rest.trim_start_matches("/Blank").split_whitespace().collect();
    let command = bytes.get(if size == "12" { 9 } else { 14 });
    let command = command.and_then(|byte| u8::from_str_radix(byte, 16).ok());
    command.is_none_or(|command| !OF_DATA.contains(&command))
}

#[cfg(test)]
mod tests {
    use iowhy_model::key;

    use super::*;

    /// How many complaints of a kind are kept, and how many counted.
    fn complaints(log: &str, kind: &'static str) -> usize {
        let facts = crate::scan::recorded(log);
        let all = facts.listings.iter().flat_map(|listing| &listing.facts);
        all.filter(|fact| fact.key == key::KERNEL_LOG.of(kind)).count()
    }

    fn of_scsi(n: usize, disk: &str) -> String {
        let lines = [
            "sd 2:0:0:0: [DISK] tag#3 FAILED Result: hostbyte=DID_OK driverbyte=DRIVER_SENSE",
            "sd 2:0:0:0: [DISK] tag#3 Sense Key : Medium Error [current] ",
            "sd 2:0:0:0: [DISK] tag#3 Add. Sense: Unrecovered read error",
            "sd 2:0:0:0: [DISK] tag#3 CDB: Read(10) 28 00 1a 2b 3c 40 00 00 08 00",
            "blk_update_request: critical medium error, dev DISK, sector 439041088",
        ];
        let line = |(place, line): (usize, &str)| {
            format!("[ {}.{:06}] {line}\n", 5120 + n, 137_000 + place)
        };
        lines.into_iter().enumerate().map(line).collect::<String>().replace("DISK", disk)
    }

    #[test]
    fn a_command_is_one_however_many_lines_speak_of_it() {
        for n in 1..6 {
            let log: String = (0..n).map(|place| of_scsi(place, "sdd")).collect();
            assert_eq!(complaints(&log, "medium"), n);
            // Lines of two disks that alternate.
            let (one, other) =
                (log.clone(), log.replace("sdd", "sde").replace("2:0:0:0", "3:0:0:0"));
            let mixed: String =
                one.lines().zip(other.lines()).map(|(a, b)| format!("{a}\n{b}\n")).collect();
            assert_eq!(complaints(&mixed, "medium"), 2 * n);
        }
        // Lines that were cut off or filtered.
        let whole = of_scsi(0, "sdd");
        let lines: Vec<&str> = whole.lines().collect();
        for cut in 0..lines.len() - 1 {
            let rest = lines[cut..].join("\n") + "\n";
            assert_eq!(complaints(&rest, "medium"), 1, "{rest}");
            assert_eq!(
                complaints(&(lines[..=cut].join("\n") + "\n"), "medium"),
                usize::from(cut > 0)
            );
        }
    }

    #[test]
    fn each_command_of_a_port_that_froze_is_one() {
        for n in 1..32 {
            let mut log =
                "[ 7117.985396] ata3.00: exception Emask 0x0 SAct 0x3 SErr 0x0 action 0x6 frozen\n"
                    .to_string();
            for tag in 0..n {
                let at = |after: usize| format!("[ 7117.{}]", 985_445 + 200 * tag + after);
                log += &format!(
                    "{} ata3.00: failed command: WRITE FPDMA QUEUED\n\
                     {} ata3.00: cmd 61/00:00:00:fc:bd/04:00:7f:00:00/40 tag {tag} ncq 524288 out\n\
                     {} res 40/00:08:d8:74:d8/00:00:af:00:00/40 Emask 0x4 (timeout)\n\
                     {} ata3.00: status: {{ DRDY }}\n",
                    at(0),
                    at(31),
                    at(33),
                    at(119)
                );
            }
            assert_eq!((complaints(&log, "timeout"), complaints(&log, "command")), (n, 0));
        }
        let alone =
            "[ 7117.985396] ata3.00: exception Emask 0x0 SAct 0x3 SErr 0x0 action 0x6 frozen\n";
        assert_eq!(complaints(alone, "timeout"), 1);
    }

    #[test]
    fn a_question_that_an_adapter_takes_back_is_none_either() {
        let log = "[ 100.000001] sd 0:0:2:0: attempting task abort!scmd(0x0000000043239087), \
        outstanding for 30132 ms & timeout 30000 ms\n\
                   [ 100.000006] sd 0:0:2:0: [sdc] tag#3761 CDB: ATA command pass through(16) 85 \
                   06 20 00 00 00 00 00 00 00 00 00 00 40 e5 00\n\
                   [ 100.400006] sd 0:0:2:0: task abort: SUCCESS scmd(0x0000000043239087)\n";
        assert_eq!((complaints(log, "query"), complaints(log, "timeout")), (1, 0));
        let read = log.replace("ATA command pass through(16) 85 06", "Read(10) 28 00");
        assert_eq!((complaints(&read, "query"), complaints(&read, "timeout")), (0, 1));
    }

    #[test]
    fn a_question_to_the_drive_is_no_io() {
        let log = |size: u8, bytes: &str| {
            format!(
                "[ 7121.330] sd 1:0:2:0: [sdc] tag#9 FAILED Result: hostbyte=DID_TIME_OUT \
                 driverbyte=DRIVER_OK cmd_age=15s\n\
                 [ 7121.331] sd 1:0:2:0: [sdc] tag#9 CDB: ATA command pass through({size}) {bytes}\n"
            )
        };
        let long = |command: u8| {
            log(16, &format!("85 06 20 00 00 00 00 00 00 00 00 00 00 40 {command:02x} 00"))
        };
        let short =
            |command: u8| log(12, &format!("a1 80 00 00 02 00 00 00 00 {command:02x} 00 00"));
        for command in [0xb0, 0xe5, 0xec, 0x2f, 0x47, 0xe0, 0xe3, 0x00] {
            for log in [long(command), short(command)] {
                assert_eq!(
                    (complaints(&log, "query"), complaints(&log, "timeout")),
                    (1, 0),
                    "{log}"
                );
            }
        }
        for command in OF_DATA {
            for log in [long(command), short(command)] {
                assert_eq!(
                    (complaints(&log, "query"), complaints(&log, "timeout")),
                    (0, 1),
                    "{log}"
                );
            }
        }
        assert!(is_query("CDB: ATA command pass through(16) 85 06"));
        assert!(!is_query("CDB: Write(10) 2a 00") && !is_query("ATA command pass through(16"));
    }
}
