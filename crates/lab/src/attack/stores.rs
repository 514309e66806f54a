//! A recorder's store with foreign contents: links, pipes, foreign files, damaged blocks,
//! invalid verdicts.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::{Command, Stdio};

use iowhy_model::Random;

use super::folders::{GOOD, SECRET};
use super::{AttackRow, Field};

const STORES: &str = "stores with links, FIFOs, damaged blocks and invalid verdicts";
/// What a store begins with (`store.rs` of iowhy-store).
const MARK: (&str, &str) = ("iowhy-store", "iowhy flight recorder, store 1\n");
/// When its segments began: one is as late as a name can express.
const BEGAN: [&str; 3] = ["20261122T190000Z", "20261122T200000Z", "99991231T235959Z"];
const COMMANDS: &[&str] = &[
    "why --store {in} --since 2026-11-22",
    "why --store {in} --at 2026-11-22T19:00:01Z",
    "stat --store {in} --since 2026-11-22",
    "hist --json --store {in} --since 2026-11-22",
    "map --json --store {in} --since 2026-11-22",
    "snoop --store {in} --since 2026-11-22",
    "incidents --store {in}",
    "incidents --json --store {in}",
    "report --store {in} --since 2026-11-22 -o {out}",
    "mark --store {in} text",
];

impl Field<'_> {
    pub(super) fn stores(&mut self, count: u64, random: &mut Random) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(STORES);
        fs::write(self.at("input"), GOOD)?;
        self.run("convert {in} {out} --to iowhy-capture", "input", true)?;
        let capture = fs::read(self.at("output"))?;
        let secret = self.at("secret-capture");
        fs::write(&secret, GOOD.replace("sdb", SECRET))?;
        for number in 0..count as usize {
            let store = self.at("store");
            let _ = fs::remove_dir_all(&store);
            made(&store, &secret, &capture, random)?;
            row.inputs += 1;
            for step in 0..2 {
                let command = COMMANDS[(number * 2 + step) % COMMANDS.len()];
                let failed = self.run(command, "store", true)?;
                row.ran(failed.map(|why| self.kept(&format!("`iowhy {command}`: {why}"), b"")));
            }
        }
        let _ = fs::remove_dir_all(self.at("store"));
        fs::remove_file(&secret)?;
        Ok(row)
    }
}

fn made(store: &Path, secret: &Path, capture: &[u8], random: &mut Random) -> io::Result<()> {
    let (segments, incidents) = (store.join("segments"), store.join("incidents"));
    fs::create_dir_all(&segments)?;
    fs::create_dir_all(&incidents)?;
    match random.place(12) {
        0 => pipe(&store.join(MARK.0))?,
        1 => symlink(secret, store.join(MARK.0))?,
        2 => fs::write(store.join(MARK.0), vec![b'x'; 1 << 20])?,
        _ => fs::write(store.join(MARK.0), MARK.1)?,
    }
    for began in BEGAN {
        let grain = ["seconds", "minutes", "hours"][random.place(3)];
        put(&segments.join(format!("{began}.{grain}.iowhy")), secret, capture, random)?;
        let id = format!("{began}-sd\u{1b}[2J{}", random.place(3));
        put(&incidents.join(format!("{id}.iowhy")), secret, capture, random)?;
        let verdict = incidents.join(format!("{id}.json"));
        let text = match random.place(9) {
            0 => "[]".to_string(),
            1 => "null".to_string(),
            2 => "{\"at_ns\": 9223372036854775807, \"verdict\": []}".to_string(),
            3 => "[".repeat(100_000),
            4 => "{\"device\": \"sd\\u001b]0;x\\u0007\", \"verdict\": \"\u{9b}31m\", \"others\": \
                  [1, {\"device\": {}}]}"
                .to_string(),
            5 => "{\"at_ns\": -9223372036854775808, \"length_s\": 1e308, \"confidence\": \
                  -1e308}"
                .to_string(),
            6 => String::new(),
            7 => {
                put(&verdict, secret, capture, random)?;
                continue;
            }
            _ => "{\"at_ns\": 1795374000000000000, \"device\": \"sdb\"}".to_string(),
        };
        fs::write(&verdict, text)?;
    }
    Ok(())
}

/// A capture, a damaged one, or one that no recorder writes.
fn put(at: &Path, secret: &Path, capture: &[u8], random: &mut Random) -> io::Result<()> {
    match random.place(9) {
        0 => pipe(at),
        1 => symlink(secret, at),
        2 => symlink("/dev/zero", at),
        3 => fs::create_dir(at),
        4 => fs::File::create(at)?.set_len(1 << 40),
        5 => fs::write(at, GOOD),
        6 => {
            let mut bytes = capture.to_vec();
            let place = random.place(bytes.len());
            bytes[place] ^= 1 << random.place(8);
            fs::write(at, bytes)
        }
        7 => fs::write(at, &capture[..random.place(capture.len())]),
        _ => fs::write(at, capture),
    }
}

fn pipe(at: &Path) -> io::Result<()> {
    Command::new("mkfifo").arg(at).stdin(Stdio::null()).status().map(|_| ())
}
