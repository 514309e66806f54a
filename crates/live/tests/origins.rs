//! The file and the submitting stack of an I/O, on a private ext4.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

use iowhy_live::{TraceMode, TraceOptions};
use iowhy_model::{Event, Op, Recording};

use crate::rig::{Loop, can_run, run, trace};

/// A file system on a loop device, unmounted on drop.
struct MountGuard {
    place: PathBuf,
    disk: Loop,
}

impl MountGuard {
    fn new() -> MountGuard {
        let disk = Loop::new(64, None);
        run("mkfs.ext4", &["-q", "-E", "lazy_itable_init=0,lazy_journal_init=0", &disk.path]);
        let place = std::env::temp_dir().join(format!("iowhy-origins-{}", std::process::id()));
        std::fs::create_dir_all(&place).expect("a folder in /tmp");
        run("mount", &[&disk.path, &place.display().to_string()]);
        MountGuard { place, disk }
    }

    fn path(&self, name: &str) -> String {
        self.place.join(name).display().to_string()
    }
}

impl Drop for MountGuard {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.place).status();
        let _ = std::fs::remove_dir(&self.place);
    }
}

fn events<'a>(recording: &'a Recording, comm: &str, op: Op) -> Vec<&'a Event> {
    let all = recording.listings.iter().flat_map(|listing| &listing.events);
    let by = |event: &&Event| event.comm.is_some_and(|name| recording.text(name) == comm);
    all.filter(|event| event.op == op).filter(by).collect()
}

#[test]
fn files_and_stacks_are_told_of_direct_and_cached_ios() {
    if !can_run(&["dd", "mkfs.ext4"]) {
        return;
    }
    let system = MountGuard::new();
    std::fs::create_dir_all(system.path("data/my db")).expect("a folder");
    let (direct, cached) = (system.path("data/my db/direct"), system.path("cached"));
    let options =
        TraceOptions { files: true, stacks: true, ..system.disk.options(TraceMode::Events) };
    let (recording, mut tracer) = trace(options, 1_000_000, || {
        let dd = |from: &str, to: &str, how: &[&str]| {
            run("dd", &[&[from, to, "bs=64k", "count=16", "status=none"], how].concat());
        };
        dd("if=/dev/zero", &format!("of={direct}"), &["oflag=direct"]);
        dd("if=/dev/zero", &format!("of={cached}"), &["conv=fsync"]);
        std::fs::write("/proc/sys/vm/drop_caches", "1").expect("drop_caches");
        dd(&format!("if={cached}"), "of=/dev/null", &[]);
        // Frames of a program are named by its memory map, and `dd` may have ended before that is
        // read.
        std::fs::write(system.path("own"), [1; 65536]).expect("a file");
        File::open(system.path("own")).and_then(|own| own.sync_all()).expect("fsync");
    });
    let of = |path: &str, op| {
        let named = |event: &&&Event| event.file.is_some_and(|name| recording.text(name) == path);
        let all = events(&recording, "dd", op);
        let (count, bytes) = all
            .iter()
            .filter(named)
            .fold((0, 0), |(count, bytes), event| (count + 1, bytes + event.bytes.unwrap_or(0)));
        println!("{path} {}: {count} of {}, {bytes} bytes", op.name(), all.len());
        bytes
    };
    // A completion that this kernel hides costs at most one I/O of 64 KiB.
    let most = 15 * 65536..=16 * 65536;
    assert!(most.contains(&of(&direct, Op::Write)));
    assert!(most.contains(&of(&cached, Op::Write)));
    assert!(of(&cached, Op::Read) >= 8 * 65536);
    let (stacks, missed) = tracer.take_stacks();
    let sent: u64 = stacks.iter().map(|stack| stack.count).sum();
    let all: usize = recording.listings.iter().map(|listing| listing.events.len()).sum();
    assert_eq!(sent + missed, all as u64);
    let named = |stack: &&iowhy_live::StackCount, word: &str| {
        stack.kernel.iter().any(|frame| frame.contains(word))
    };
    let submits = stacks.iter().filter(|stack| named(stack, "submit_bio"));
    assert!(submits.clone().count() > 0, "{stacks:?}");
    let own = stacks.iter().filter(|stack| stack.user.iter().any(|frame| frame.contains("libc")));
    assert!(own.clone().any(|stack| stack.pid == Some(std::process::id())), "{stacks:?}");
    assert!(!stacks.iter().any(|stack| named(&stack, "__traceiter_")), "the tracer's own frames");
}
