//! What a process may still do once it has what it needs: few files, no program, no socket.
//!
//! Landlock (Documentation/userspace-api/landlock.rst) bounds which files can be opened, a filter of
//! system calls (seccomp) what can be asked of the kernel at all, `no_new_privs` keeps every
//! program that would be started from having more. All of it holds for this thread and those that
//! it starts, and for good. A kernel that lacks a part runs without it, and `iowhy doctor` says so.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, PathBeneath, PathFd,
    Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use rustix::fs::{Access as May, AtFlags, CWD, accessat};
use rustix::process::{Gid, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, capabilities, set_capabilities, set_keep_capabilities,
    set_thread_groups, set_thread_res_gid, set_thread_res_uid,
};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter, TargetArch};

use crate::Error;
use crate::rights::empty_bounding_set;

/// What has to stay possible.
#[derive(Clone, Debug, Default)]
pub struct Needs {
    /// Files to read, and folders with all below them.
    pub read: Vec<PathBuf>,
    /// Folders in which files are made, renamed and removed.
    pub write: Vec<PathBuf>,
    /// The same, where folders are made, too.
    pub fill: Vec<PathBuf>,
}

/// What of it the kernel enforces.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Confinement {
    /// Whether files are bounded: by all rules, by some, by none.
    pub files: FileRules,
    /// Whether system calls are filtered.
    pub calls: bool,
}

/// How far the rules for files hold.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum FileRules {
    /// As asked for.
    Wholly,
    /// The kernel is older than some of the rules.
    Partly,
    /// The kernel has no Landlock, or it is switched off.
    NotAtAll,
}

/// The rules of Linux 6.12; older kernels take those they know.
const RULES: ABI = ABI::V6;

/// The user and group that own nothing: `overflowuid` of Documentation/admin-guide/sysctl/kernel.rst.
const NOBODY: u32 = 65534;
/// `PIPEFS_MAGIC` of include/uapi/linux/magic.h.
const PIPES: rustix::fs::FsWord = 0x5049_5045;
/// The rules of the time of day.
const TIME_OF_DAY: [&str; 2] = ["/usr/share/zoneinfo", "/etc/localtime"];

/// Calls that nothing needs once a command runs: they start programs, speak to others, look into
/// other processes, or change the machine. Those of threads, memory and files are left, and pairs of
/// sockets, which reach nobody: the reader of a terminal's keys wakes itself by one.
const REFUSED: &[i64] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_socket,
    libc::SYS_connect,
    libc::SYS_bind,
    libc::SYS_listen,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    libc::SYS_fsconfig,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_setns,
    libc::SYS_unshare,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_sethostname,
    libc::SYS_acct,
    libc::SYS_quotactl,
];

/// Confines a command that only reads captures: every right but that to read what was named goes.
///
/// # Errors
/// If the kernel has a part of it and refuses it.
pub fn confine_reading(needs: &Needs) -> Result<Confinement, Error> {
    keep_for(needs)?;
    let mut needs = needs.clone();
    needs.read.extend(TIME_OF_DAY.map(PathBuf::from));
    let files = bound_files(&needs)?;
    // Neither programs of the kernel nor rings are for those who read.
    let calls = filter_calls(&[libc::SYS_bpf, libc::SYS_io_uring_setup])?;
    Ok(Confinement { files, calls })
}

/// Confines a command that watches, once its collectors have begun: what they read of the kernel
/// stays open to them. Capabilities are given up by [`give_up_rights`](crate::give_up_rights).
///
/// # Errors
/// If the kernel has a part of it and refuses it.
pub fn confine_watching(needs: &Needs) -> Result<Confinement, Error> {
    let mut needs = needs.clone();
    // The terminal of `top`, where standard input is another.
    needs
        .read
        .extend(["/proc", "/sys", "/dev/tty"].into_iter().chain(TIME_OF_DAY).map(PathBuf::from));
    let tracing = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"].map(PathBuf::from);
    needs.write.extend(tracing);
    let files = bound_files(&needs)?;
    Ok(Confinement { files, calls: filter_calls(&[])? })
}

/// Filters system calls only, for a watcher that has to look into other processes' maps, which
/// Landlock forbids.
///
/// # Errors
/// If the kernel can filter and refuses.
pub fn confine_calls() -> Result<Confinement, Error> {
    Ok(Confinement { files: FileRules::NotAtAll, calls: filter_calls(&[])? })
}

/// What the kernel would enforce, tried in a thread that ends.
pub fn try_confinement() -> Option<Confinement> {
    std::thread::spawn(|| confine_reading(&Needs::default()).ok()).join().ok().flatten()
}

/// Gives up all capabilities but those without which what was named cannot be read or written:
/// root reads others' files by CAP_DAC_READ_SEARCH, and Landlock bounds which. Root becomes nobody
/// unless a file is to be written, which then belongs to root, or what was named can be read by root only
/// and the kernel cannot bound what that capability reads.
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

/// Whether it may be done to a path, or it is not there.
fn may(path: &Path, how: May) -> bool {
    let known = accessat(CWD, path, how, AtFlags::EACCESS);
    matches!(known, Ok(()) | Err(rustix::io::Errno::NOENT | rustix::io::Errno::NOTDIR))
}

/// Whether this is root, whom the kernel lets become nobody, and nobody can read what was named: by the
/// modes of the files, else by a capability that Landlock bounds. Tried in a thread that ends.
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

/// Whether the kernel can bound files at all.
fn bounds_files() -> bool {
    let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
    let rules = rules.handle_access(AccessFs::from_all(ABI::V1)).and_then(Ruleset::create);
    rules.is_ok()
}

/// This thread is nobody's from here on, of no group.
fn become_nobody() -> rustix::io::Result<()> {
    let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
    set_thread_groups(&[])?;
    set_thread_res_gid(group, group, group)?;
    set_thread_res_uid(user, user, user)
}

fn bound_files(needs: &Needs) -> Result<FileRules, Error> {
    let refused = |error: landlock::RulesetError| Error::Rights {
        cause: std::io::Error::other(error.to_string()),
    };
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(RULES))
        .and_then(|rules| rules.handle_access(AccessNet::from_all(RULES)))
        .and_then(|rules| rules.scope(Scope::from_all(RULES)))
        .and_then(Ruleset::create)
        .map_err(refused)?;
    let read = AccessFs::ReadFile | AccessFs::ReadDir;
    let write = read
        | AccessFs::WriteFile
        | AccessFs::Truncate
        | AccessFs::MakeReg
        | AccessFs::RemoveFile
        | AccessFs::RemoveDir
        | AccessFs::Refer;
    let of_file = |access: BitFlags<AccessFs>| access & AccessFs::from_file(RULES);
    let all = needs.read.iter().map(|path| (path, read));
    let all = all.chain(needs.write.iter().map(|path| (path, write)));
    let fill = write | AccessFs::MakeDir;
    for (path, access) in all.chain(needs.fill.iter().map(|path| (path, fill))) {
        // What is not there, or may not even be looked at, says so itself when it is opened.
        let Ok(place) = PathFd::new(path) else { continue };
        // A pipe of the shell's (`<(zcat FILE)`) lies in no file system that is bounded, and a rule
        // about it is refused (EBADFD).
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

/// Refuses [`REFUSED`] and these with EPERM; whether the kernel filters at all.
fn filter_calls(more: &[i64]) -> Result<bool, Error> {
    let refused = |error: String| Error::Rights { cause: std::io::Error::other(error) };
    // An architecture that the filter's compiler does not know.
    let Ok(architecture) = TargetArch::try_from(std::env::consts::ARCH) else { return Ok(false) };
    let rules: BTreeMap<i64, Vec<seccompiler::SeccompRule>> =
        REFUSED.iter().chain(more).map(|call| (*call, Vec::new())).collect();
    let filter = SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        architecture,
    );
    let program: BpfProgram =
        filter.and_then(BpfProgram::try_from).map_err(|error| refused(error.to_string()))?;
    match seccompiler::apply_filter(&program) {
        Ok(()) => Ok(true),
        // CONFIG_SECCOMP_FILTER is missing (seccomp(2): EINVAL).
        Err(seccompiler::Error::Prctl(cause) | seccompiler::Error::Seccomp(cause))
            if matches!(cause.raw_os_error(), Some(libc::EINVAL | libc::ENOSYS)) =>
        {
            Ok(false)
        }
        Err(error) => Err(refused(error.to_string())),
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
        std::thread::scope(|scope| {
            let confined = scope.spawn(|| {
                // All of it works before, or the refusals below say nothing.
                assert!(Command::new("true").status().is_ok());
                assert!(TcpListener::bind("127.0.0.1:0").is_ok());
                let needs = Needs {
                    read: vec![named.clone()],
                    write: vec![out.clone()],
                    fill: vec![fill.clone()],
                };
                let confinement = confine_reading(&needs).expect("it is confined");
                println!("{confinement:?}");
                assert!(confinement.calls);
                assert_eq!(std::fs::read_to_string(&named).expect("it was named"), "named");
                std::fs::write(out.join("file"), "new").expect("a file where it may be");
                std::fs::rename(out.join("file"), out.join("renamed")).expect("a name");
                std::fs::create_dir(fill.join("folder")).expect("a folder where it may be");
                if confinement.files != FileRules::NotAtAll {
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
