//! Packed captures of many frames, damaged and cut frames, and bombs of many members: all of it is
//! read, or the rest is reported.

use std::io::{self, Write};
use std::process::{Command, Stdio};

use iowhy_model::Random;

use super::folders::header;
use super::{AttackRow, Field, folders};

const PACKED: &str = "packed captures of many frames, damaged and cut ones, bombs of many members";
/// Frames of a capture, and I/Os of each.
const FRAMES: usize = 3;
const IOS: usize = 400;
/// Members that are read, and those after them.
const MEMBERS: usize = 200_000;
const PAST: usize = 101;

/// What packs in the program itself: each member a file of its own.
const ZIP: &str = "zip";

/// Members of a bomb.
const BOMB_MEMBERS: usize = 40;

/// The tools that pack, and how an archive is packed best with them.
const PACKERS: [(&str, &[&str]); 4] =
    [("gzip", &["-9"]), ("xz", &["-9"]), ("bzip2", &["-9"]), ("zstd", &["-q", "--long=27"])];

impl Field<'_> {
    /// Of packers that are not installed nothing is tried.
    pub(super) fn packed(
        &mut self,
        count: u64,
        long: bool,
        random: &mut Random,
    ) -> io::Result<AttackRow> {
        let mut row = AttackRow::of(PACKED);
        let head = folders::GOOD.lines().next().unwrap_or_default();
        let line = |io: usize| {
            format!("{:.6} dd 1 sda R {} 4096 1.{:02}\n", io as f64 / 1e3, io * 8, io % 97)
        };
        let part = |part: usize| -> String { (part * IOS..(part + 1) * IOS).map(line).collect() };
        std::fs::write(self.at("other"), folders::GOOD)?;
        for (packer, best) in PACKERS.into_iter().chain([(ZIP, &[][..])]) {
            let headed = |text: String| format!("{head}\n{text}");
            let frames = if packer == ZIP {
                let members: Vec<String> = (0..FRAMES).map(|number| headed(part(number))).collect();
                vec![zip(members.iter().map(String::as_bytes))?]
            } else {
                let parts = [headed(part(0)), part(1), part(2)];
                let frames = parts.iter().map(|text| pack(packer, &[], text.as_bytes()));
                let Ok(frames) = frames.collect::<io::Result<Vec<_>>>() else { continue };
                frames
            };
            let whole = frames.concat();
            let undamaged = self.listed(&whole)?;
            let ios = undamaged.1.matches("iowhy.event").count();
            let lost = undamaged.0 != Some(0) || ios != FRAMES * IOS;
            row.inputs += 1;
            row.ran(lost.then(|| format!("{packer}: {ios} I/Os of {}", FRAMES * IOS)));
            let first = if packer == ZIP { 0 } else { frames.first().map_or(0, Vec::len) };
            for _ in 0..count {
                let mut damaged = whole.clone();
                let place = first + random.place(whole.len() - first);
                let what = match random.place(3) {
                    0 => {
                        damaged.truncate(place);
                        format!("cut at {place}")
                    }
                    _ => {
                        let bit = random.place(8);
                        damaged[place] ^= 1 << bit;
                        format!("bit {bit} of byte {place} flipped")
                    }
                };
                row.inputs += 1;
                let (status, text) = self.listed(&damaged)?;
                // Between frames, and in what is not content, nothing is lost.
                let at_an_end = what.starts_with("cut")
                    && (1..=frames.len()).any(|end| frames[..end].concat().len() == damaged.len());
                // The name of a member has no checksum.
                let is_all = match packer {
                    ZIP => text.matches("iowhy.event").count() == ios,
                    _ => text == undamaged.1,
                };
                let unsaid = status == Some(0) && !is_all && !at_an_end;
                let failed = unsaid || !matches!(status, Some(0..=2));
                row.ran(
                    failed.then(|| self.kept(&format!("{packer}: {what}: {status:?}"), &damaged)),
                );
            }
            if best.contains(&"-9") && packer != "xz" {
                continue;
            }
            row.inputs += 1;
            let bomb = match packer {
                ZIP => zip(std::iter::repeat_n(&text_of_a_bomb(10)[..], BOMB_MEMBERS))?,
                _ => pack(packer, best, &members_of_a_bomb()?)?,
            };
            std::fs::write(self.at("input"), &bomb)?;
            let failed = self.run("why {in}", "input", false)?;
            let reported = std::fs::read_to_string(self.at("stderr"))?;
            let stopped = reported.contains("500 times") || reported.contains("CPU time");
            let failed =
                failed.filter(|why| !["status Some(1)", "status Some(2)"].contains(&why.as_str()));
            row.ran(
                failed.or_else(|| (!stopped).then(|| format!("{packer}: a bomb is not reported"))),
            );
        }
        if long {
            let mut archive = Vec::new();
            for member in 0..MEMBERS + PAST {
                archive.extend_from_slice(&header(&format!("f{member}"), b'0', 0, ""));
            }
            std::fs::write(self.at("input"), &archive)?;
            row.inputs += 1;
            let failed = self.run("why {in}", "input", false)?;
            let reported = std::fs::read_to_string(self.at("stderr"))?;
            let counted = reported.contains(&format!("{PAST} were skipped"));
            let failed = failed.filter(|why| why != "status Some(2)");
            row.ran(
                failed.or_else(|| (!counted).then(|| format!("members not counted: {reported}"))),
            );
        }
        Ok(row)
    }

    /// The status of `snoop --json` and what it prints, on these bytes.
    fn listed(&self, bytes: &[u8]) -> io::Result<(Option<i32>, String)> {
        std::fs::write(self.at("input"), bytes)?;
        let run =
            Command::new(self.iowhy).args(["snoop", "--json"]).arg(self.at("input")).output()?;
        Ok((run.status.code(), String::from_utf8_lossy(&run.stdout).into_owned()))
    }
}

/// The same, packed.
fn pack(packer: &str, options: &[&str], bytes: &[u8]) -> io::Result<Vec<u8>> {
    let mut run = Command::new(packer)
        .args(options)
        .arg("-c")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let stdin = run.stdin.take();
    std::thread::scope(|scope| {
        scope.spawn(move || stdin.map(|mut stdin| stdin.write_all(bytes)));
        Ok(run.wait_with_output()?.stdout)
    })
}

/// A zip archive of these members.
fn zip<'m>(members: impl Iterator<Item = &'m [u8]>) -> io::Result<Vec<u8>> {
    let mut archive = zip::ZipWriter::new(io::Cursor::new(Vec::new()));
    let options = zip::write::SimpleFileOptions::default()
        .compression_method(zip::CompressionMethod::Deflated)
        .compression_level(Some(9));
    for (number, member) in members.enumerate() {
        archive.start_file(format!("f{number}.txt"), options)?;
        archive.write_all(member)?;
    }
    Ok(archive.finish()?.into_inner())
}

/// Text that each packer makes more than 500 times smaller.
fn text_of_a_bomb(mib: usize) -> Vec<u8> {
    let line = [vec![b'0'; 60_000], b"\n".to_vec()].concat();
    line.repeat((mib << 20) / line.len())
}

/// An archive of 40 captures of 30 MiB, each packed a thousand times smaller.
fn members_of_a_bomb() -> io::Result<Vec<u8>> {
    let member = pack("gzip", &["-9"], &text_of_a_bomb(30))?;
    let mut archive = Vec::new();
    for number in 0..BOMB_MEMBERS {
        archive.extend_from_slice(&header(&format!("f{number}.gz"), b'0', member.len() as u64, ""));
        archive.extend_from_slice(&member);
        archive.resize(archive.len().next_multiple_of(512), 0);
    }
    Ok(archive)
}
