//! What can be watched on this machine, and what is missing.

use std::path::Path;

use crate::attach::KernelShape;
use crate::bpf::{Programs, Settings};
use crate::btf::{self, KernelTypes};
use crate::confine::{Confinement, FileRules, try_confinement};
use crate::rights::Rights;
use crate::{BlockDevice, Error, devices};

/// One check.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Check {
    /// What was checked: `kernel types (BTF)`.
    pub what: String,
    /// Whether it is there.
    pub ok: bool,
    /// Whether tracing is impossible without it.
    pub needed: bool,
    /// What was found.
    pub detail: String,
    /// What is impossible without it and the remedy; empty if it is there.
    pub consequence: String,
}

/// Clock sources that take far longer to read than a request takes to trace.
const SLOW_CLOCKS: [&str; 3] = ["hpet", "acpi_pm", "jiffies"];

/// Examines this machine without changing it; programs loaded for the test are unloaded at once.
pub fn examine() -> Vec<Check> {
    examine_at(Path::new("/"))
}

/// The same with files below `root`; privileges and the test load are this machine's.
pub fn examine_at(root: &Path) -> Vec<Check> {
    let rights = rights();
    let may_load = rights.ok;
    let mut checks =
        vec![counters(root), disks(root), stacks(root), clock(root), jit(root), rights];
    checks.push(confinement());
    checks.push(container(root));
    let types = KernelTypes::read();
    checks.push(described(types.as_ref()));
    if let Ok(types) = &types {
        let shape = KernelShape::of(types);
        checks.extend(attach_points(types));
        if let Ok(shape) = &shape {
            checks.push(queue_times(shape));
            checks.push(test_load(shape, may_load));
        }
    }
    checks
}

fn check(what: &str, needed: bool, found: Result<String, (String, &str)>) -> Check {
    let (ok, detail, consequence) = match found {
        Ok(detail) => (true, detail, String::new()),
        Err((detail, consequence)) => (false, detail, consequence.to_string()),
    };
    Check { what: what.to_string(), ok, needed, detail, consequence }
}

fn counters(root: &Path) -> Check {
    let path = root.join("proc/diskstats");
    let found = match std::fs::read_to_string(&path) {
        Ok(text) => {
            let widest = text.lines().map(|line| line.split_whitespace().count()).max();
            let kinds = match widest.unwrap_or(0) {
                20.. => "reads, writes, discards and flushes",
                18..20 => "reads, writes and discards, but not flushes",
                _ => "reads and writes only",
            };
            Ok(format!("`/proc/diskstats` counts {kinds}"))
        }
        Err(error) => Err((
            format!("`/proc/diskstats`: {error}"),
            "no sampling: mount /proc, or make it visible in the container",
        )),
    };
    check("counters", false, found)
}

fn disks(root: &Path) -> Check {
    let found = match devices(&root.join("sys")) {
        Ok(found) => {
            let sized = found.iter().filter(|device| device.bytes.is_some_and(|bytes| bytes > 0));
            let names: Vec<&str> = sized.map(|device| device.name.as_str()).collect();
            Ok(format!("{} devices: {}", names.len(), names.join(", ")))
        }
        Err(error) => Err((
            error.to_string(),
            "device names and underlying devices are not available: mount /sys",
        )),
    };
    check("devices", false, found)
}

/// How devices are stacked, and which are bio-based.
fn stacks(root: &Path) -> Check {
    let known = devices(&root.join("sys")).unwrap_or_default();
    let bare = known.iter().filter(|one| one.without_requests && one.bytes.unwrap_or(0) > 0);
    let bare: Vec<&str> = bare.map(|one| one.name.as_str()).collect();
    let mut words: Vec<String> = known.iter().filter_map(BlockDevice::stack_words).collect();
    if !bare.is_empty() {
        let names = bare.join(", ");
        words.push(format!("bio-based, traced per bio (Q2C only): {names}"));
    }
    let found =
        if words.is_empty() { "no stacked devices (dm, md)".to_string() } else { words.join("; ") };
    check("stacks", false, Ok(found))
}

fn clock(root: &Path) -> Check {
    let path = "sys/devices/system/clocksource/clocksource0/current_clocksource";
    let found = match std::fs::read_to_string(root.join(path)) {
        Ok(name) if SLOW_CLOCKS.contains(&name.trim()) => Err((
            format!("clock source `{}`, slow to read", name.trim()),
            "tracing costs several microseconds per request instead of 0.2: the kernel log shows \
             why the CPU's own clock (tsc) was rejected",
        )),
        Ok(name) => Ok(format!("`{}`, fast to read", name.trim())),
        Err(_) => Ok("the kernel does not report its clock source".to_string()),
    };
    check("clock", false, found)
}

fn jit(root: &Path) -> Check {
    let found = match std::fs::read_to_string(root.join("proc/sys/net/core/bpf_jit_enable")) {
        Ok(value) if value.trim() == "0" => Err((
            "BPF programs are interpreted".to_string(),
            "tracing costs several times as much: `sysctl net.core.bpf_jit_enable=1`",
        )),
        Ok(_) => Ok("BPF programs are compiled to machine code".to_string()),
        Err(_) => Ok("not readable by this user".to_string()),
    };
    check("BPF compiler", false, found)
}

fn rights() -> Check {
    let found = Rights::read().and_then(|rights| rights.suffice().map(|()| rights));
    let found = match found {
        Ok(Rights { sys_admin: true, .. }) => Ok("root, or equivalent capabilities".to_string()),
        Ok(_) => Ok("`CAP_BPF` and `CAP_PERFMON`".to_string()),
        Err(error) => Err((
            error.why(),
            "no tracing: run as root, or `setcap cap_bpf,cap_perfmon+ep` on the binary",
        )),
    };
    check("rights", true, found)
}

/// The confinement of commands that read untrusted captures.
fn confinement() -> Check {
    let without = "a vulnerable reader could open other files or run programs: a kernel with \
                   CONFIG_SECURITY_LANDLOCK (in `lsm=`) and CONFIG_SECCOMP_FILTER prevents it";
    let found = match try_confinement() {
        Some(Confinement { files, calls }) => {
            let files_words = match files {
                FileRules::Wholly => "files with Landlock",
                FileRules::Partly => "files with an older Landlock",
                FileRules::NotAtAll => "not for files: Landlock is missing",
            };
            let calls_words =
                if calls { "calls with seccomp" } else { "not for calls: seccomp is missing" };
            let text = format!("readers are confined: {files_words}, {calls_words}");
            if calls && files != FileRules::NotAtAll { Ok(text) } else { Err((text, without)) }
        }
        None => Err(("the kernel refuses to confine readers".to_string(), without)),
    };
    check("confinement", false, found)
}

/// The host's namespaces have fixed numbers: PROC_PID_INIT_INO and PROC_CGROUP_INIT_INO of
/// include/linux/proc_ns.h.
const PIDS_OF_THE_HOST: &str = "pid:[4026531836]";
const CGROUPS_OF_THE_HOST: &str = "cgroup:[4026531835]";
/// Files that Docker and Podman create in a container.
const MARKS: [&str; 2] = [".dockerenv", "run/.containerenv"];

/// Whether this process sees the host's processes, files and log.
fn container(root: &Path) -> Check {
    let namespace = |name: &str| std::fs::read_link(root.join("proc/self/ns").join(name)).ok();
    let other = |name: &str, host: &str| namespace(name).is_some_and(|one| one != Path::new(host));
    let marked = MARKS.iter().any(|mark| root.join(mark).exists());
    let found = if other("pid", PIDS_OF_THE_HOST) {
        Err((
            "in a container with its own PID namespace".to_string(),
            "traced pids are those of the host, and their open files are not available: use \
             `--pid=host`. Mount points are those of the container; the kernel log needs \
             `--device=/dev/kmsg --cap-add=SYSLOG`",
        ))
    } else if marked || other("cgroup", CGROUPS_OF_THE_HOST) {
        Ok("in a container with the host's PID namespace; mount points are those of the container"
            .to_string())
    } else {
        Ok("none detected from namespaces".to_string())
    };
    check("container", false, found)
}

/// Whether system calls of this process are filtered from outside (proc(5), `Seccomp`).
fn is_filtered() -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().any(|line| line.strip_prefix("Seccomp:").is_some_and(|mode| mode.trim() == "2"))
}

fn described(types: Result<&KernelTypes, &Error>) -> Check {
    let found = match types {
        Ok(_) => Ok(format!("`{}`", btf::PATH)),
        Err(error) => Err((
            error.why(),
            "no tracing: it needs a kernel built with CONFIG_DEBUG_INFO_BTF (all major \
             distributions since 2020)",
        )),
    };
    check("kernel types (BTF)", true, found)
}

fn attach_points(types: &KernelTypes) -> Vec<Check> {
    let points = [
        ("block_rq_issue", true, "no tracing: the block layer of this kernel is not supported"),
        ("block_rq_complete", true, "no tracing: the block layer of this kernel is not supported"),
        (
            "block_io_start",
            false,
            "the start is the time a request was allocated, and process and pid are those of the \
             issuer (Linux 6.5 has this tracepoint)",
        ),
        ("block_rq_requeue", false, "requests requeued by the driver are not counted"),
        (
            "block_bio_queue",
            false,
            "bio-based devices (dm, md, zram) and the time before a request are not available",
        ),
        ("block_bio_complete", false, "bio-based devices (dm, md, zram) are not available"),
        ("block_rq_merge", false, "requests merged after their start may be counted as lost"),
        (
            "balance_dirty_pages",
            false,
            "programs that the kernel pauses for their dirty pages (`load.writeback`) are not seen",
        ),
    ];
    let points = points.into_iter().map(|(name, needed, consequence)| {
        let found = match types.tracepoint_arguments(name) {
            Some(1) => Ok("present, 1 argument".to_string()),
            Some(n) => Ok(format!("present, {n} arguments")),
            None => Err(("not in this kernel".to_string(), consequence)),
        };
        check(name, needed, found)
    });
    points.collect()
}

fn queue_times(shape: &KernelShape) -> Check {
    let found = match (shape.start_is_seen, shape.start_in_request) {
        (true, _) => Ok("from `block_io_start`, with the tracer's own clock".to_string()),
        (_, true) => {
            Ok("from the time in the request, which this kernel reads for each request".to_string())
        }
        _ => Err((
            "this kernel stores one time for a whole batch of requests".to_string(),
            "queue time is not available; device time is correct",
        )),
    };
    check("queue time", false, found)
}

/// Loads the tracer with the ring as it will be used, attaches nothing, and unloads it.
fn test_load(shape: &KernelShape, may_load: bool) -> Check {
    if !may_load {
        let untried = ("not tried: privileges are missing".to_string(), "as above");
        return check("test load", true, Err(untried));
    }
    let settings = Settings {
        events: true,
        histograms: true,
        over_ns: 1,
        ops_wanted: u32::MAX,
        every_device: true,
        ring_bytes: 8 << 20,
        set_bits: 10,
        place_bits: 6,
        rows: 1,
        histogram_rows: 1,
        bios: true,
        before: true,
        cgroups: true,
        ..Settings::default()
    };
    let found = match Programs::load(shape, &settings) {
        Ok(_) => Ok("the kernel accepts all BPF programs and the ring buffer".to_string()),
        Err(error) => Err((
            error.why(),
            match is_filtered() {
                true => {
                    "no tracing: the seccomp profile of the container or service may block bpf(2). \
                     Use one that allows bpf and perf_event_open with CAP_BPF, or `--security-opt \
                     seccomp=unconfined`"
                }
                false => "no tracing: `iowhy stat` samples the counters instead",
            },
        )),
    };
    check("test load", true, found)
}
