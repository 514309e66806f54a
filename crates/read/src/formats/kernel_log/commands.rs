//! Groups the lines about one command: the kernel writes up to nine about a failed command, and
//! each kind counts once.

use std::collections::BTreeMap;

use iowhy_model::{CommandKind, Message, MessageKind, Op};

use super::forms::{self, Logger};
use super::{ABORTS, FAILED};

/// Commands that are open at once.
const OPEN: usize = 256;
/// Lines of one command follow each other within this time, s: they are printed together (a
/// choice).
const APART_S: f64 = 1.0;

/// The kernel's recovery from a timed-out command is over within this time, s: it waits 30 s for a
/// reset, and as long for what follows (drivers/scsi/scsi_error.c; the factor is a choice).
const RECOVERS_S: f64 = 60.0;

/// Log events that wait for further lines of their command.
#[derive(Default)]
pub(super) struct Commands {
    open: Vec<Command>,
    /// The event of a frozen port, until it is known whether a command reports the same.
    frozen: Option<LogEvent>,
    /// Of each disk or port the last command that failed, and when.
    last: BTreeMap<String, (Option<CommandKind>, Option<f64>)>,
}

/// A log event, its device, and its line.
pub(super) struct LogEvent {
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
    log_events: Vec<LogEvent>,
    /// Its purpose.
    kind: Option<CommandKind>,
    /// The line that names it.
    which: String,
    /// Whether nothing drove the bus when its result was read.
    floats: bool,
}

/// What a line reports about a command, in the order of printing.
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
    let (logger, reported) = forms::heading(message);
    let begins = |words: &str| reported.starts_with(words);
    Some(match logger {
        Logger::Block if is_of_a_request(message) => Part::Request,
        Logger::Scsi if begins("Device not ready: ") => Part::Failed,
        Logger::Scsi if FAILED.iter().any(|words| begins(words)) => Part::Failed,
        Logger::Scsi if begins("uas_eh_abort_handler") || begins(ABORTS) => Part::Failed,
        Logger::Scsi if begins("Attempting to queue a") => Part::Failed,
        Logger::Scsi if begins("Sense Key :") || begins("sense key") => Part::Sense,
        Logger::Scsi if begins("Add. Sense:") || begins("Additional sense:") => {
            Part::AdditionalSense
        }
        // On a line of its own it begins differently from any driver's message.
        Logger::Scsi | Logger::Other if begins("CDB: ") || begins("cdb[0]=") => Part::Which,
        Logger::Ata if begins("failed command: ") => Part::Failed,
        Logger::Ata if begins("cmd ") => Part::Which,
        Logger::Ata if begins("res ") || begins("tag ") => Part::Result,
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
    let (logger, reported) = forms::heading(message);
    logger == Logger::Block && !reported.starts_with("Buffer I/O error")
}

impl Commands {
    /// Adds a line about a disk or port, with its event. Returns the complete log events.
    pub(super) fn take(
        &mut self,
        whose: &str,
        message: &Message,
        log_event: Option<LogEvent>,
    ) -> Vec<LogEvent> {
        let mut done = Vec::new();
        let Some(part) = part(&message.text).filter(|_| !whose.is_empty()) else {
            let Some(log_event) = log_event else { return done };
            // A port that froze: the commands that were lost by it follow.
            let froze =
                log_event.kind == MessageKind::Timeout && message.text.contains("exception Emask");
            if froze {
                done.extend(self.frozen.replace(log_event));
            } else {
                done.push(log_event);
            }
            return done;
        };
        let same = self.open.iter().position(|known| known.whose == whose);
        if let Some(place) = same.filter(|place| {
            !self.open.get(*place).is_some_and(|known| known.continues(part, message))
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
            known.add(part, message, log_event);
        }
        if part == Part::Request {
            let known = self.open.remove(place);
            self.close(known, &mut done);
        }
        done
    }

    /// Returns the waiting events.
    pub(super) fn finish(&mut self) -> Vec<LogEvent> {
        let mut done = Vec::new();
        for known in std::mem::take(&mut self.open) {
            self.close(known, &mut done);
        }
        done.extend(self.frozen.take());
        done
    }

    fn close(&mut self, command: Command, done: &mut Vec<LogEvent>) {
        let timed_out = command.log_events.iter().any(|known| known.kind == MessageKind::Timeout);
        if timed_out && self.frozen.as_ref().is_some_and(|froze| froze.name == command.whose) {
            self.frozen = None;
        }
        let failed = command.log_events.iter().any(|known| GAVE_UP.contains(&known.kind));
        if failed {
            self.failed(&command.whose, command.kind, command.at_s);
        }
        done.extend(command.log_events());
    }

    /// Remembers a command that was given up.
    pub(super) fn failed(&mut self, whose: &str, kind: Option<CommandKind>, at_s: Option<f64>) {
        if self.last.len() < OPEN || self.last.contains_key(whose) {
            self.last.insert(whose.to_string(), (kind, at_s));
        }
    }

    /// Whether what the kernel does now to a disk or port is what it does about a query or a
    /// discard that was given up: it is a part of that, and no fault of the path by itself.
    pub(super) fn recovers(&self, whose: &str, message: &Message) -> bool {
        let open = self.open.iter().find(|known| known.whose == whose);
        let open = open.filter(|known| known.kind.is_some() && !known.log_events.is_empty());
        let last = open.map(|known| (known.kind, known.at_s));
        let Some((kind, at_s)) = last.or_else(|| self.last.get(whose).copied()) else {
            return false;
        };
        let apart_s = at_s.zip(message.at_s).map(|(first, now)| now - first);
        matches!(kind, Some(CommandKind::Query | CommandKind::Io(Op::Discard)))
            && apart_s.is_none_or(|apart_s| (0.0..RECOVERS_S).contains(&apart_s))
    }

    /// The same of the only disk or port of which a command was given up.
    pub(super) fn recovers_only(&self, message: &Message) -> bool {
        let open = self.open.iter().map(|known| &known.whose);
        let mut all: Vec<&String> = open.chain(self.last.keys()).collect();
        all.sort_unstable();
        all.dedup();
        matches!(all[..], [whose] if self.recovers(whose, message))
    }

    /// The disk of a host adapter of which a command was given up last, if there is one only.
    pub(super) fn of_host(&self, host: u32) -> Option<String> {
        let open = self.open.iter().map(|known| known.whose.as_str());
        let all = open.chain(self.last.keys().map(String::as_str));
        let is_its = |whose: &&str| {
            whose.split(':').next().and_then(crate::integer) == Some(u64::from(host))
        };
        let mut all: Vec<&str> = all.filter(is_its).collect();
        all.dedup();
        match all[..] {
            [whose] => Some(whose.to_string()),
            _ => None,
        }
    }
}

/// Kinds of log events that a command which got no answer, or was refused, leads to.
const GAVE_UP: [MessageKind; 4] =
    [MessageKind::Timeout, MessageKind::Command, MessageKind::Controller, MessageKind::IoError];

impl Command {
    /// Whether a line is about the same command as those before it.
    fn continues(&self, part: Part, message: &Message) -> bool {
        let apart =
            self.at_s.zip(message.at_s).is_some_and(|(first, now)| (now - first).abs() > APART_S);
        part != Part::Failed && !self.parts.contains(&part) && !apart
    }

    fn add(&mut self, part: Part, message: &Message, log_event: Option<LogEvent>) {
        self.parts.push(part);
        self.at_s = message.at_s.or(self.at_s);
        if matches!(part, Part::Failed | Part::Which | Part::Request) {
            self.kind = self.kind.or(message.command);
        }
        self.floats |= part == Part::Result && message.is_of_a_floating_bus();
        if part == Part::Which {
            self.which = message.text.clone();
        }
        let Some(log_event) = log_event else { return };
        match self.log_events.iter_mut().find(|known| known.kind == log_event.kind) {
            Some(known) => {
                let sector = known.message.sector.or(log_event.message.sector);
                // The result is more specific than the failure, and the reason more specific than
                // the refusal.
                let why = part == Part::AdditionalSense && log_event.kind == MessageKind::Refused;
                if why || log_event.message.is_outcome() {
                    *known = log_event;
                }
                known.message.sector = sector;
            }
            None => self.log_events.push(log_event),
        }
    }

    /// The resulting event.
    fn log_events(mut self) -> Vec<LogEvent> {
        if self.floats {
            // No bit of it is an answer of the drive.
            let is_read = |kind| matches!(kind, MessageKind::Medium | MessageKind::Command);
            let mut is_known = false;
            self.log_events.retain_mut(|known| {
                if is_read(known.kind) {
                    known.kind = MessageKind::Link;
                }
                known.kind != MessageKind::Link || !std::mem::replace(&mut is_known, true)
            });
        }
        if self.kind == Some(CommandKind::Query) {
            // Link and medium errors count for any command.
            let mut was_given_up = false;
            self.log_events.retain_mut(|known| {
                if !GAVE_UP.contains(&known.kind) {
                    return true;
                }
                known.kind = MessageKind::Query;
                !std::mem::replace(&mut was_given_up, true)
            });
        }
        // Unsupported queries (log pages, SMART) are not a fault.
        if self.kind == Some(CommandKind::Query) {
            self.log_events.retain(|known| known.kind != MessageKind::Refused);
        }
        // It answered: the request failed, and nothing else.
        let answers = [
            MessageKind::Refused,
            MessageKind::Denied,
            MessageKind::NotReady,
            MessageKind::Reserved,
        ];
        if self.log_events.iter().any(|known| answers.contains(&known.kind)) {
            let repeats = [MessageKind::IoError, MessageKind::Command];
            self.log_events.retain(|known| !repeats.contains(&known.kind));
        }
        // What the drive reports about itself also appears as a failed request.
        if self.log_events.iter().any(|known| known.kind == MessageKind::Hardware) {
            self.log_events.retain(|known| known.kind != MessageKind::IoError);
        }
        // The reason is more specific than the failure.
        if self.log_events.iter().any(|known| known.kind != MessageKind::Command) {
            self.log_events.retain(|known| known.kind != MessageKind::Command);
        }
        let unnamed = |known: &&mut LogEvent| {
            let counts = known.kind == MessageKind::Refused || GAVE_UP.contains(&known.kind);
            known.message.command.is_none() && counts
        };
        for known in self.log_events.iter_mut().filter(unnamed) {
            known.message = with_command(&known.message, &self.which);
        }
        self.log_events
    }
}

/// A message that a command failed, with what the line that names the command reports of it: libata
/// prints both as one message of two lines.
pub(super) fn with_command(message: &Message, which: &str) -> Message {
    let (logger, reported) = forms::heading(which);
    if reported.is_empty() {
        return message.clone();
    }
    let (head, end) = match logger {
        // `ata1.00: cmd ea/00:... tag 0`, and then `res 40/00:... Emask 0x4 (timeout)`.
        Logger::Ata => {
            let (_, end) = forms::heading(&message.text);
            if end.starts_with("cmd ") {
                return message.clone();
            }
            (which.trim_end(), end)
        }
        _ => (message.text.trim_end(), reported.trim_end()),
    };
    let sector = message.sector;
    let whole = Message::new(&message.stamp, &format!("{head} {end}"));
    Message { sector: whole.sector.or(sector), ..whole }
}

#[cfg(test)]
mod tests {
    use iowhy_model::key;

    /// How many log events of a kind are kept, and how many counted.
    fn log_events(log: &str, kind: &'static str) -> usize {
        let facts = crate::scan::recorded(log);
        let all = facts.listings.iter().flat_map(|listing| &listing.facts);
        all.filter(|fact| fact.key == key::KERNEL_LOG.of(kind)).count()
    }

    #[test]
    fn what_is_read_from_a_floating_bus_is_no_answer_of_the_drive() {
        let of = |registers: &str| {
            format!(
                "[   53.185084] ata1.01: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen\n\
                 [   53.185215] ata1.01: cmd 25/00:08:00:9e:a1/00:00:12:00:00/f0 tag 0 dma 4096 \
                 in\n\
                 [   53.185218]          res {registers}/01:01:01:01:7f/7f Emask 0x2 (HSM \
                 violation)\n\
                 [   53.185354] ata1.01: status: {{ DRDY DF DRQ ERR }}\n\
                 [   53.185409] ata1.01: error: {{ UNC IDNF ABRT }}\n"
            )
        };
        for (registers, link, medium) in
            [("7f/7f:7f:7f:7f:7f", 1, 0), ("ff/ff:ff:ff:ff:ff", 1, 0), ("51/40:08:00:9e:a1", 0, 1)]
        {
            assert_eq!(log_events(&of(registers), "link"), link, "{registers}");
            assert_eq!(log_events(&of(registers), "medium"), medium, "{registers}");
        }
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
            assert_eq!(log_events(&log, "medium"), n);
            // Lines of two disks that alternate.
            let (one, other) =
                (log.clone(), log.replace("sdd", "sde").replace("2:0:0:0", "3:0:0:0"));
            let mixed: String =
                one.lines().zip(other.lines()).map(|(a, b)| format!("{a}\n{b}\n")).collect();
            assert_eq!(log_events(&mixed, "medium"), 2 * n);
        }
        // Lines that were cut off or filtered.
        let whole = of_scsi(0, "sdd");
        let lines: Vec<&str> = whole.lines().collect();
        for cut in 0..lines.len() - 1 {
            let rest = lines[cut..].join("\n") + "\n";
            assert_eq!(log_events(&rest, "medium"), 1, "{rest}");
            assert_eq!(
                log_events(&(lines[..=cut].join("\n") + "\n"), "medium"),
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
            assert_eq!((log_events(&log, "timeout"), log_events(&log, "command")), (n, 0));
        }
        let alone =
            "[ 7117.985396] ata3.00: exception Emask 0x0 SAct 0x3 SErr 0x0 action 0x6 frozen\n";
        assert_eq!(log_events(alone, "timeout"), 1);
    }

    #[test]
    fn a_question_to_the_drive_is_no_io() {
        let log = |size: u8, bytes: &str| {
            format!(
                "[ 7121.330] sd 1:0:2:0: [sdc] tag#9 FAILED Result: hostbyte=DID_TIME_OUT \
                 driverbyte=DRIVER_OK cmd_age=15s\n\
                 [ 7121.331] sd 1:0:2:0: [sdc] tag#9 CDB: ATA command pass through({size}) \
                 {bytes}\n"
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
                    (log_events(&log, "query"), log_events(&log, "timeout")),
                    (1, 0),
                    "{log}"
                );
            }
        }
        for command in [0x06, 0x20, 0x25, 0x35, 0x3d, 0x60, 0x61, 0x92, 0xc8, 0xca, 0xe7, 0xea] {
            for log in [long(command), short(command)] {
                assert_eq!(
                    (log_events(&log, "query"), log_events(&log, "timeout")),
                    (0, 1),
                    "{log}"
                );
            }
        }
        // However the kernel spells it.
        for spelled in ["opcode=0x85", "cdb[0]=0x85:", ""] {
            let log = long(0xe5).replace("ATA command pass through(16)", spelled);
            assert_eq!((log_events(&log, "query"), log_events(&log, "timeout")), (1, 0), "{log}");
        }
    }

    #[test]
    fn what_is_done_about_a_query_or_a_discard_is_no_fault_of_the_path() {
        let log = |command: &str| {
            format!(
                "sd 11:0:1:0: attempting task abort!scmd(0x00000000ef8da38c), outstanding for 2098 \
                 ms & timeout 1000 ms\n\
                 sd 11:0:1:0: [sdep] tag#4639 CDB: {command}\n\
                 scsi target11:0:1: handle(0x0009), sas_address(0x4433221105000000), phy(5)\n\
                 sd 11:0:1:0: task abort: SUCCESS scmd(0x00000000ef8da38c)\n\
                 sd 11:0:1:0: Power-on or device reset occurred\n"
            )
        };
        let smart =
            log("ATA command pass through(16) 85 08 0e 00 d5 00 01 00 e0 00 4f 00 c2 00 b0 00");
        assert_eq!((log_events(&smart, "query"), log_events(&smart, "controller")), (1, 0));
        let unmap = log("opcode=0x42 42 00 00 00 00 00 00 00 18 00");
        assert_eq!((log_events(&unmap, "timeout"), log_events(&unmap, "controller")), (1, 0));
        let read = log("Read(10) 28 00 1a 2b 3c 40 00 00 08 00");
        assert_eq!((log_events(&read, "timeout"), log_events(&read, "controller")), (1, 2));
        // Much later it is another matter.
        let times = ["[100.000000] ", "[100.000001] ", "[100.000002] ", "[100.500000] "];
        let dated = |last: &str| -> String {
            let of = times.into_iter().chain([last]);
            of.zip(unmap.lines()).map(|(time, line)| format!("{time}{line}\n")).collect()
        };
        assert_eq!(log_events(&dated("[101.000000] "), "controller"), 0);
        assert_eq!(log_events(&dated("[901.000000] "), "controller"), 1);
        let port = |command: &str| {
            format!(
                "[ 7117.985396] ata3.00: exception Emask 0x0 SAct 0x0 SErr 0x0 action 0x6 frozen\n\
                 [ 7117.985400] ata3.00: failed command: {command}\n\
                 [ 7117.985402]          res 40/00:00:00:00:00/00:00:00:00:00/00 Emask 0x4 \
                 (timeout)\n\
                 [ 7117.985404] ata3.00: status: {{ DRDY }}\n\
                 [ 7117.985406] ata3: hard resetting link\n\
                 [ 7123.985406] ata3: link is slow to respond, please be patient (ready=0)\n"
            )
        };
        let counts = |log: &str| ["query", "timeout", "link"].map(|kind| log_events(log, kind));
        assert_eq!(counts(&port("SMART")), [1, 0, 0]);
        assert_eq!(counts(&port("DATA SET MANAGEMENT")), [0, 1, 0]);
        assert_eq!(counts(&port("WRITE DMA")), [0, 1, 2]);
    }
}
