//! Restricts a process once it has what it needs: few files, no programs, no sockets.
//!
//! A system call filter (seccomp) lists the calls of each role ([`calls`]), Landlock
//! (Documentation/userspace-api/landlock.rst) restricts files, ports and the targets of signals,
//! `no_new_privs` keeps started programs from gaining privileges. All of it is permanent and
//! applies to this thread and those that it starts. If the kernel lacks a part, iowhy runs without
//! it, and `iowhy doctor` reports that.

mod calls;
mod filter;
#[cfg(test)]
mod walk;

use std::path::{Path, PathBuf};

use crate::Error;
use crate::rights::{empty_bounding_set, give_up_all_rights};
use calls::Role;
use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, NetPort, PathBeneath,
    PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Access as May, AtFlags, CWD, accessat};
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};

/// What must remain allowed.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Files to read, and folders with everything below them.
    pub read: Vec<PathBuf>,
    /// Folders whose entries may be listed, but no file read.
    pub list: Vec<PathBuf>,
    /// Folders in which files may be created, renamed and removed.
    pub write: Vec<PathBuf>,
    /// The same, and also folders.
    pub fill: Vec<PathBuf>,
    /// The kernel's event text is read: its folder in tracefs is removed at the end.
    pub tracefs: bool,
    /// Keys and the size of the screen are read.
    pub terminal: bool,
    /// Collectors' ports to connect to.
    pub ports: Vec<u16>,
}

/// The parts that the kernel enforces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Confinement {
    /// Whether files are restricted: by all rules, by some, by none.
    pub files: FileRules,
    /// Whether system calls are filtered.
    pub calls: bool,
}

/// How far the rules for files are enforced.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileRules {
    /// Completely.
    Wholly,
    /// The kernel is older than some of the rules.
    Partly,
    /// The kernel has no Landlock, or it is disabled.
    NotAtAll,
}

/// The newest rules, including Unix sockets and UDP; older kernels use those they know.
const RULES: ABI = ABI::V10;
/// The rules of a pusher, which resolves names by UDP and Unix sockets: those of Linux 6.12.
const RULES_OF_A_PUSHER: ABI = ABI::V6;
/// The DNS port (RFC 1035, 4.2).
const DNS: u16 = 53;
/// Files that the C library reads to resolve a host, and the libraries it loads for that
/// (nsswitch.conf(5)).
const FOR_NAMES: [&str; 8] = [
    "/etc",
    "/usr/lib",
    "/lib",
    "/lib64",
    "/usr/lib64",
    "/run/systemd/resolve",
    "/run/nscd",
    "/run/NetworkManager",
];
/// Where tracefs is.
const TRACING: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];
/// The terminal of this process.
const TERMINAL: &str = "/dev/tty";

/// The user and group that own nothing: `overflowuid` of
/// Documentation/admin-guide/sysctl/kernel.rst.
const NOBODY: u32 = 65534;
/// `PIPEFS_MAGIC` of include/uapi/linux/magic.h.
const PIPES: rustix::fs::FsWord = 0x5049_5045;
/// The time zone files.
const TIME_OF_DAY: [&str; 2] = ["/usr/share/zoneinfo", "/etc/localtime"];

/// Confines a command that only reads captures: it keeps only the right to read the named inputs.
///
/// # Errors
/// If the kernel has a part of it and refuses it.
pub fn confine_reading(needs: &Needs) -> Result<Confinement, Error> {
    keep_for(needs)?;
    let mut needs = needs.clone();
    needs.read.extend(TIME_OF_DAY.map(PathBuf::from));
    let role = if needs.makes_files() { Role::ReaderWithOutput } else { Role::Reader };
    confine(&needs, RULES, role)
}

/// Confines a command that watches, once its collectors have begun: they keep access to the kernel
/// files they read. Capabilities are given up by [`give_up_rights`](crate::give_up_rights).
///
/// # Errors
/// If the kernel has a part of it and refuses it.
pub fn confine_watching(needs: &Needs) -> Result<Confinement, Error> {
    let needs = Needs { terminal: true, ..watching(needs) };
    let role = if needs.makes_files() { Role::WatcherWithOutput } else { Role::Watcher };
    confine(&needs, RULES, role)
}

/// Confines the recorder, which fills a store and answers on a socket that is open.
///
/// # Errors
/// If the kernel has a part of it and refuses it.
pub fn confine_recording(needs: &Needs) -> Result<Confinement, Error> {
    confine(&watching(needs), RULES, Role::Recorder)
}

/// Confines the process that sends metrics to a collector's port, once it has read all it needs:
/// root becomes nobody, only files of the C library can be opened.
///
/// # Errors
/// If the kernel has a part of it and refuses it.
pub fn confine_pushing(port: u16) -> Result<Confinement, Error> {
    if rustix::process::geteuid().is_root() {
        // A container may lack the capability, or the user.
        let _ = become_nobody();
    }
    give_up_all_rights()?;
    let read = FOR_NAMES.map(PathBuf::from).into();
    let needs = Needs { read, ports: vec![port, DNS], ..Needs::default() };
    confine(&needs, RULES_OF_A_PUSHER, Role::Pusher)
}

/// Filters system calls only, for a watcher that reads other processes' maps, which Landlock
/// forbids.
///
/// # Errors
/// If the kernel can filter and refuses.
pub fn confine_looking() -> Result<Confinement, Error> {
    Ok(Confinement { files: FileRules::NotAtAll, calls: filter_calls(Role::WatcherWithOutput)? })
}

/// Filters system calls only, for a command that may probe a device named later, through io_uring.
///
/// # Errors
/// If the kernel can filter and refuses.
pub fn confine_asking() -> Result<Confinement, Error> {
    Ok(Confinement { files: FileRules::NotAtAll, calls: filter_calls(Role::Prober)? })
}

impl Needs {
    fn makes_files(&self) -> bool {
        self.tracefs || !self.write.is_empty() || !self.fill.is_empty()
    }
}

/// Kernel files that a watcher reads, besides those requested.
fn watching(needs: &Needs) -> Needs {
    let mut needs = needs.clone();
    let read = ["/proc", "/sys"].into_iter().chain(TIME_OF_DAY);
    needs.read.extend(read.map(PathBuf::from));
    if needs.tracefs {
        needs.write.extend(TRACING.map(PathBuf::from));
    }
    needs
}

/// Landlock first: its system calls are allowed to no role.
fn confine(needs: &Needs, rules: ABI, role: Role) -> Result<Confinement, Error> {
    let files = bound_files(needs, rules)?;
    Ok(Confinement { files, calls: filter_calls(role)? })
}

/// What the kernel would enforce, tested in a temporary thread.
pub(crate) fn try_confinement() -> Option<Confinement> {
    std::thread::spawn(|| confine_reading(&Needs::default()).ok()).join().ok().flatten()
}

/// Drops all capabilities except those needed for the named files: root reads others' files by
/// CAP_DAC_READ_SEARCH, and Landlock restricts which. Root becomes nobody unless it writes a file,
/// which then belongs to root, or only root can read the named files and the kernel cannot restrict
/// that capability.
fn keep_for(needs: &Needs) -> Result<(), Error> {
    let refused = |error: rustix::io::Errno| Error::Rights { cause: error.into() };
    let none = CapabilitySet::empty();
    let had = capabilities(None).map_err(refused)?.permitted;
    let folders = needs.read.iter().any(|path| path.is_dir());
    empty_bounding_set(had);
    if needs.write.is_empty() && may_be_nobody(needs, folders) {
        set_keep_capabilities(true).map_err(refused)?;
        let outcome = become_nobody();
        set_keep_capabilities(false).map_err(refused)?;
        outcome.map_err(refused)?;
    }
    let set = |effective: CapabilitySet, permitted: CapabilitySet| {
        set_capabilities(None, CapabilitySets { effective, permitted, inheritable: none })
            .map_err(refused)
    };
    set(none, had)?;
    let mut kept = none;
    if folders || needs.read.iter().any(|path| !may(path, May::READ_OK)) {
        kept |= CapabilitySet::DAC_READ_SEARCH;
    }
    if needs.write.iter().chain(&needs.fill).any(|path| !may(path, May::WRITE_OK | May::EXEC_OK)) {
        kept |= CapabilitySet::DAC_OVERRIDE;
    }
    set(had & kept, had & kept)
}

/// Whether a path is accessible so, or does not exist.
fn may(path: &Path, how: May) -> bool {
    let known = accessat(CWD, path, how, AtFlags::EACCESS);
    matches!(known, Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR))
}

/// Whether this is root, can become nobody, and nobody can read the named files: by their modes,
/// else by a capability that Landlock restricts. Tested in a temporary thread.
fn may_be_nobody(needs: &Needs, folders: bool) -> bool {
    if !rustix::process::geteuid().is_root() {
        return false;
    }
    let tried = || match become_nobody() {
        Ok(()) => Some(!folders && needs.read.iter().all(|path| may(path, May::READ_OK))),
        Err(_) => None,
    };
    let tried = std::thread::scope(|scope| scope.spawn(tried).join().ok().flatten());
    tried.is_some_and(|readable| readable || bounds_files())
}

/// Whether the kernel has Landlock.
fn bounds_files() -> bool {
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let rules = rules.handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create);
    rules.is_ok()
}

/// From here on this thread runs as nobody, without groups.
fn become_nobody() -> rustix::io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)
}

fn bound_files(needs: &Needs, rules: ABI) -> Result<FileRules, Error> {
    let refused = |error: landlock::RulesetError| Error::Rights {
        cause: std::io::Error::other(error.to_string()),
    };
    let of_file = |access: BitFlags<AccessFs>| access & AccessFs::from_file(rules);
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(rules))
        .and_then(|set| set.handle_access(AccessNet::from_all(rules)))
        .and_then(|set| set.scope(Scope::from_all(rules)))
        .and_then(Ruleset::create)
        .map_err(refused)?;
    for port in &needs.ports {
        let port = NetPort::new(*port, AccessNet::ConnectTcp);
        rules = rules.add_rule(port).map_err(refused)?;
    }
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer;
    // Size and keys are read from it if standard input is something else.
    let terminal = (PathBuf::from(TERMINAL), read | AccessFs::WriteFile | AccessFs::IoctlDev);
    let all = needs.read.iter().map(|path| (path, read));
    let all = all.chain(needs.terminal.then_some((&terminal.0, terminal.1)));
    let list = BitFlags::from(AccessFs::ReadDir);
    let all = all.chain(needs.list.iter().map(|path| (path, list)));
    let all = all.chain(needs.write.iter().map(|path| (path, write)));
    let fill = write | AccessFs::MakeDir;
    for (path, access) in all.chain(needs.fill.iter().map(|path| (path, fill))) {
        // A missing or inaccessible file is reported when it is opened.
        let Ok(place) = PathFd::new(path) else { continue };
        // A pipe of the shell (`<(zcat FILE)`) is in no restricted file system, and a rule for it
        // is refused (EBADFD).
        if rustix::fs::fstatfs(&place).is_ok_and(|system| system.f_type == PIPES) {
            continue;
        }
        let access = if path.is_dir() { access } else { of_file(access) };
        rules = rules.add_rule(PathBeneath::new(place, access)).map_err(refused)?;
    }
    let status = rules.restrict_self().map_err(refused)?;
    Ok(match status.ruleset {
        RulesetStatus::FullyEnforced => FileRules::Wholly,
        RulesetStatus::PartiallyEnforced => FileRules::Partly,
        RulesetStatus::NotEnforced => FileRules::NotAtAll,
    })
}

/// Sets the filter of a role; returns whether the kernel can filter.
fn filter_calls(role: Role) -> Result<bool, Error> {
    let Some(filter) = calls::filter(role) else { return Ok(false) };
    match seccompiler::apply_filter(&filter) {
        Ok(()) => Ok(true),
        // CONFIG_SECCOMP_FILTER is missing (seccomp(2): EINVAL).
        Err(seccompiler::Error::Prctl(cause) | seccompiler::Error::Seccomp(cause))
            if matches!(cause.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) =>
        {
            Ok(false)
        }
        Err(error) => Err(Error::Rights { cause: std::io::Error::other(error.to_string()) }),
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::net::{TcpListener, UdpSocket};
    use std::os::unix::net::UnixStream;
    use std::process::Command;

    use super::*;

    #[test]
    fn a_reader_that_writes_nothing_is_nobody_and_reads_what_was_named() {
        let folder = std::env::temp_dir().join(format!("iowhy-nobody-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder in /tmp");
        let [open, secret, other] = ["open", "secret", "other"].map(|name| folder.join(name));
        for path in [&open, &secret, &other] {
            std::fs::write(path, "text").expect("a file");
            let mode = if *path == open { 0o644 } else { 0o600 };
            let mode = std::os::unix::fs::PermissionsExt::from_mode(mode);
            std::fs::set_permissions(path, mode).expect("its mode");
        }
        let as_reader = |named: &[&PathBuf]| {
            let needs =
                Needs { read: named.iter().map(|p| p.to_path_buf()).collect(), ..Needs::default() };
            std::thread::scope(|scope| {
                let confined = scope.spawn(|| {
                    let trusted = may_be_nobody(&needs, false);
                    let confinement = confine_reading(&needs).expect("it is confined");
                    let ids = (rustix::process::getuid(), rustix::process::geteuid());
                    assert!(named.iter().all(|path| std::fs::read(path).is_ok()), "{named:?}");
                    assert!(
                        confinement.files == FileRules::NotAtAll || File::open(&other).is_err()
                    );
                    (trusted, ids, capabilities(None).expect("capabilities").permitted)
                });
                confined.join().expect("all as it should be")
            })
        };
        let nobody = Uid::from_raw(NOBODY);
        let (trusted, ids, left) = as_reader(&[&open]);
        assert!(left.is_empty());
        assert!(!trusted || ids == (nobody, nobody));
        let (by_rule, ids, left) = as_reader(&[&open, &secret]);
        let needed = CapabilitySet::DAC_READ_SEARCH;
        assert!(!by_rule || (ids, left) == ((nobody, nobody), needed), "{ids:?} {left:?}");
        if !trusted {
            println!("skipped: root that becomes nobody: needs root");
        }
        std::fs::remove_dir_all(&folder).expect("nobody needs it");
    }

    #[test]
    fn a_reader_opens_no_other_file_no_socket_and_runs_nothing() {
        let folder = std::env::temp_dir().join(format!("iowhy-confined-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder in /tmp");
        let (named, other) = (folder.join("named"), folder.join("other"));
        std::fs::write(&named, "named").expect("a file");
        std::fs::write(&other, "other").expect("a file");
        let (out, fill) = (folder.join("out"), folder.join("fill"));
        std::fs::create_dir(&out).expect("a folder");
        std::fs::create_dir(&fill).expect("a folder");
        let listed = folder.join("list");
        std::fs::create_dir(&listed).expect("a folder");
        std::fs::write(listed.join("file"), "listed").expect("a file");
        std::thread::scope(|scope| {
            let confined = scope.spawn(|| {
                // All of it works before, or the refusals below prove nothing.
                assert!(Command::new("true").status().is_ok());
                assert!(TcpListener::bind("127.0.0.1:0").is_ok());
                let needs = Needs {
                    read: vec![named.clone()],
                    write: vec![out.clone()],
                    fill: vec![fill.clone()],
                    list: vec![listed.clone()],
                    ..Needs::default()
                };
                let confinement = confine_reading(&needs).expect("it is confined");
                println!("{confinement:?}");
                assert!(confinement.calls);
                assert_eq!(std::fs::read_to_string(&named).expect("it was named"), "named");
                std::fs::write(out.join("file"), "new").expect("a file where it may be");
                std::fs::rename(out.join("file"), out.join("renamed")).expect("a name");
                std::fs::create_dir(fill.join("folder")).expect("a folder where it may be");
                let listed = std::fs::read_dir(&listed).expect("it may be listed");
                assert_eq!(listed.count(), 1);
                if confinement.files != FileRules::NotAtAll {
                    assert!(File::open(folder.join("list/file")).is_err());
                    assert!(std::fs::create_dir(out.join("folder")).is_err());
                    for path in [other.as_path(), Path::new("/etc/passwd"), Path::new("/dev/zero")]
                    {
                        assert!(File::open(path).is_err(), "{}", path.display());
                    }
                    assert!(File::create(folder.join("new")).is_err());
                    assert!(std::fs::write(&other, "changed").is_err());
                    assert!(std::fs::remove_file(&other).is_err());
                } else {
                    println!("skipped: files: needs Landlock in the kernel");
                }
                assert!(Command::new("true").status().is_err(), "a program ran");
                assert!(TcpListener::bind("127.0.0.1:0").is_err(), "a socket of TCP");
                assert!(UdpSocket::bind("127.0.0.1:0").is_err(), "a socket of UDP");
                assert!(UnixStream::connect("/run/none").is_err(), "a socket of Unix");
                let status = std::fs::read_to_string("/proc/thread-self/status");
                // Not readable either: no rule names /proc.
                assert!(confinement.files == FileRules::NotAtAll || status.is_err());
                let left = capabilities(None).expect("capabilities").permitted;
                assert_eq!(left, CapabilitySet::empty());
            });
            confined.join().expect("all as it should be");
        });
        assert_eq!(std::fs::read_to_string(&other).expect("still there"), "other");
        std::fs::remove_dir_all(&folder).expect("nobody needs it");
    }
}
