//! Addresses in programs as functions of their files, by the symbols in these.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::Read;

use crate::symbols::FunctionTable;

/// Files above this size are not read for their symbols, bytes.
const LARGEST: u64 = 256 << 20;

/// Where a file lies: device and inode, as /proc/PID/maps has them.
type FileId = (String, String);

/// The mapped files of processes, and their functions; each is read when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct UserFrames {
    maps: HashMap<u32, Vec<MemoryMapping>>,
    functions: HashMap<FileId, FunctionTable>,
}

/// A part of a file in the memory of a process.
#[derive(Clone, PartialEq, Debug)]
struct MemoryMapping {
    start: u64,
    end: u64,
    offset: u64,
    id: FileId,
    path: String,
    /// Whether the path is another file's by now, or none.
    gone: bool,
}

impl UserFrames {
    /// An address of a process: `function (file)`, `file+0x1234` with the offset in the file if
    /// that does not name its functions, or the address itself.
    pub(crate) fn frame(&mut self, pid: Option<u32>, at: u64) -> String {
        let maps = pid
            .map_or(&[][..], |pid| self.maps.entry(pid).or_insert_with(|| mapped(pid)).as_slice());
        let Some(part) = maps.iter().find(|part| (part.start..part.end).contains(&at)) else {
            return format!("{at:#x}");
        };
        let file = part.path.rsplit('/').next().unwrap_or(&part.path);
        let offset = (at - part.start).saturating_add(part.offset);
        let functions = self.functions.entry(part.id.clone()).or_insert_with(|| {
            pid.filter(|_| !part.gone).map(|pid| functions(pid, &part.path)).unwrap_or_default()
        });
        match functions.at(offset) {
            Some(name) => format!("{name} ({file})"),
            None => format!("{file}+{offset:#x}"),
        }
    }
}

/// The functions of a file that a process sees under this path; none if it cannot be read.
fn functions(pid: u32, path: &str) -> FunctionTable {
    let mut bytes = Vec::new();
    let file = File::open(format!("/proc/{pid}/root{path}"));
    let is_file = |file: &File| file.metadata().is_ok_and(|about| about.is_file());
    let read = file.ok().filter(is_file).map(|file| file.take(LARGEST + 1).read_to_end(&mut bytes));
    match read {
        Some(Ok(_)) if bytes.len() as u64 <= LARGEST => FunctionTable::of(&bytes),
        _ => FunctionTable::default(),
    }
}

/// The files in a process's memory; none if it has exited, or may not be inspected.
fn mapped(pid: u32) -> Vec<MemoryMapping> {
    let text = fs::read_to_string(format!("/proc/{pid}/maps")).unwrap_or_default();
    text.lines().filter_map(part).collect()
}

/// A line of /proc/PID/maps; `None` if it is not a mapped file.
fn part(line: &str) -> Option<MemoryMapping> {
    let mut words = line.split_whitespace();
    let (start, end) = words.next()?.split_once('-')?;
    let number = |text: &str| u64::from_str_radix(text, 16).ok();
    let offset = words.nth(1)?;
    let id = (words.next()?.to_string(), words.next()?.to_string());
    let path = words.next()?.to_string();
    let gone = !path.starts_with('/') || line.ends_with(" (deleted)");
    Some(MemoryMapping {
        start: number(start)?,
        end: number(end)?,
        offset: number(offset)?,
        id,
        path,
        gone,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A function with a name of its own, whose address is known.
    #[inline(never)]
    fn known_by_its_name() -> u32 {
        std::process::id()
    }

    #[test]
    fn an_address_is_the_function_of_its_file_or_an_offset_in_it() {
        let mut frames = UserFrames::default();
        let (at, pid) = (known_by_its_name as *const () as u64, Some(known_by_its_name()));
        let own = std::env::current_exe().expect("this program");
        let own = own.file_name().expect("its name").to_string_lossy().into_owned();
        // Its symbol is decorated by the compiler.
        for at in [at, at + 1] {
            let frame = frames.frame(pid, at);
            let named =
                frame.contains("known_by_its_name") && frame.ends_with(&format!(" ({own})"));
            assert!(named, "{frame}");
        }
        assert_eq!(
            (frames.frame(None, at), frames.frame(pid, 1)),
            (format!("{at:#x}"), "0x1".into())
        );
        // Of a file that was replaced the present symbols are of another program.
        let parts = frames.maps.get_mut(&pid.unwrap()).expect("its maps");
        parts.iter_mut().for_each(|part| part.gone = true);
        frames.functions.clear();
        assert!(frames.frame(pid, at).starts_with(&format!("{own}+0x")));
    }

    #[test]
    fn a_line_of_maps_is_a_part_of_a_file() {
        let line = "55d0c0000000-55d0c0002000 r-xp 00001000 08:01 42    /usr/bin/dd";
        let known = part(line).expect("a file");
        assert_eq!((known.path.as_str(), known.offset, known.gone), ("/usr/bin/dd", 0x1000, false));
        assert!(part(&format!("{line} (deleted)")).expect("a file").gone);
        assert!(part("7ffd00000000-7ffd00002000 r-xp 00000000 00:00 0 [vdso]").expect("one").gone);
        assert_eq!(part("7f0000000000-7f0000001000 rw-p 00000000 00:00 0 "), None);
        let mut frames = UserFrames::default();
        frames.maps.insert(7, vec![MemoryMapping { gone: true, ..known }]);
        assert_eq!(frames.frame(Some(7), 0x55d0_c000_0010), "dd+0x1010");
    }
}
