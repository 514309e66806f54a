//! Hostile archives and folders, and hostile output paths.

use std::fs;
use std::io;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;
use std::process::{Command, Stdio};

use iowhy_model::Random;

/// A capture that any reader recognises.
pub(super) const GOOD: &str = "TIME(s) COMM PID DISK T SECTOR BYTES LAT(ms)\n\
    0.000000 dd 1 sdb R 8 131072 77.96\n0.143268 dd 1 sdb R 264 131072 143.20\n\
    0.361565 dd 1 sdb R 520 131072 218.24\n";
/// Contained in what no input names: it must come out of no command.
pub(super) const SECRET: &str = "sdsecret";

/// A tar archive made by a seed.
pub(super) fn archive(random: &mut Random) -> Vec<u8> {
    let mut out = Vec::new();
    for member in 0..1 + random.place(30) {
        let (kind, size, link): (u8, u64, &str) = match random.place(14) {
            0 => (b'6', 0, ""),
            1 => (b'3', 0, ""),
            2 => (b'4', 0, ""),
            3 => (b'2', 0, "/etc/passwd"),
            4 => (b'1', 0, "../../etc/passwd"),
            // Sizes that are not there: a sparse file, one past all disks, one without an end.
            5 => (b'S', 1 << 40, ""),
            6 => (b'0', 1 << 33, ""),
            7 => (b'L', 1 << 30, ""),
            8 => (b'x', 5000, ""),
            _ => (b'0', GOOD.len() as u64, ""),
        };
        let name = match random.place(6) {
            0 => "../../../tmp/iowhy-escaped".to_string(),
            1 => "/etc/iowhy-escaped".to_string(),
            2 => format!("sys/block/sd{member}/queue/scheduler"),
            3 => format!("{}{member}", "d/".repeat(random.place(60))),
            4 => format!("n\u{1b}[2J{member}"),
            _ => format!("host/capture-{member}"),
        };
        out.extend_from_slice(&header(&name, kind, size, link));
        if kind == b'0' && size == GOOD.len() as u64 {
            out.extend_from_slice(GOOD.as_bytes());
            out.resize(out.len().next_multiple_of(512), 0);
        }
    }
    if random.place(3) > 0 {
        out.extend_from_slice(&[0; 1024]);
    }
    out.truncate(out.len() - if random.place(4) == 0 { random.place(out.len()) } else { 0 });
    match random.place(3) {
        0 => packed(&out),
        _ => out,
    }
}

/// A gzip of stored blocks: no packer is needed for that.
fn packed(bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 255];
    for (place, part) in bytes.chunks(65_535).enumerate() {
        let last = (place + 1) * 65_535 >= bytes.len();
        let length = part.len() as u16;
        out.push(u8::from(last));
        out.extend(length.to_le_bytes().into_iter().chain((!length).to_le_bytes()));
        out.extend_from_slice(part);
    }
    // The sum does not fit: that is to be reported.
    out.extend([0; 4]);
    out.extend((bytes.len() as u32).to_le_bytes());
    out
}

/// A header of ustar with a sum that fits.
pub(super) fn header(name: &str, kind: u8, size: u64, link: &str) -> [u8; 512] {
    let mut block = [0; 512];
    let mut put = |at: usize, most: usize, bytes: &[u8]| {
        let bytes = &bytes[..bytes.len().min(most)];
        block[at..at + bytes.len()].copy_from_slice(bytes);
    };
    put(0, 100, name.as_bytes());
    put(100, 8, b"0000644\0");
    put(108, 8, b"0000000\0");
    put(116, 8, b"0000000\0");
    put(124, 12, format!("{size:011o}\0").as_bytes());
    put(136, 12, b"00000000000\0");
    put(148, 8, b"        ");
    put(156, 1, &[kind]);
    put(157, 100, link.as_bytes());
    put(257, 8, b"ustar\x0000");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

/// A folder made by a seed below `at`; the secret lies beside it.
pub(super) fn folder(at: &Path, random: &mut Random) -> io::Result<()> {
    let inside = at.join("folder");
    let sys = inside.join("host/sys/block/sda/queue");
    fs::create_dir_all(&sys)?;
    fs::write(at.join("secret"), GOOD.replace("sdb", SECRET))?;
    fs::write(inside.join("capture.txt"), GOOD)?;
    fs::write(inside.join("host/sys/block/sda/dev"), "8:0")?;
    for place in 0..1 + random.place(12) {
        let below = [&inside, &inside.join("host"), &sys][random.place(3)].clone();
        let attribute = ["scheduler", "rotational", "nr_requests"][random.place(3)];
        let name = if below == sys { attribute.to_string() } else { format!("x{place}") };
        let path = below.join(name);
        let _ = fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path));
        match random.place(10) {
            0 => run("mkfifo", &[&path])?,
            1 => symlink("/dev/zero", &path)?,
            2 => symlink(at.join("secret"), &path)?,
            3 => symlink("../../../../../secret", &path)?,
            4 => symlink(".", &path)?,
            5 => {
                // As root a node of /dev/zero, else refused and nothing is there.
                let mut node = Command::new("mknod");
                node.arg(&path).args(["c", "1", "5"]).stderr(Stdio::null()).status()?;
            }
            6 => fs::File::create(&path)?.set_len(1 << 42)?,
            7 => fs::create_dir_all(path.join("d/".repeat(20 + random.place(40))))?,
            8 => fs::set_permissions(inside.join("capture.txt"), fs::Permissions::from_mode(0o0))?,
            _ => symlink("/proc/kmsg", &path)?,
        }
    }
    Ok(())
}

/// Something that exists where a command is to write; what must be as it was afterwards.
pub(super) fn occupied(at: &Path, random: &mut Random) -> io::Result<()> {
    let (out, victim) = (at.join("output"), at.join("victim"));
    let _ = fs::remove_file(&out).or_else(|_| fs::remove_dir_all(&out));
    fs::write(&victim, "a victim")?;
    match random.place(7) {
        0 => symlink(&victim, &out)?,
        1 => fs::hard_link(at.join("input"), &out)?,
        2 => run("mkfifo", &[&out])?,
        3 => fs::create_dir(&out)?,
        4 => symlink(at.join("nothing-there"), &out)?,
        5 => symlink("/dev/null", &out)?,
        _ => fs::rename(&victim, &out).and_then(|()| fs::write(&victim, "a victim"))?,
    }
    Ok(())
}

fn run(program: &str, paths: &[&Path]) -> io::Result<()> {
    Command::new(program).args(paths).status().map(|_| ())
}
