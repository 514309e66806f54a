//! Which system calls each role may make: a list of what is allowed. Anything else is refused.
//!
//! Refused calls return EPERM, because libraries try calls and have fallbacks (std for
//! `copy_file_range`, crossterm for starting `tput`), and a refused call does no harm. `clone3`
//! returns ENOSYS: its flags are in memory, where no filter can read them, and C libraries then use
//! `clone`. Calls that no library tries end the process.

use std::collections::BTreeMap;

use seccompiler::BpfProgram;

use super::filter::{ALLOWED, Case, Cases, ENDED, MISSING, Test, assembled};

/// The role of a process.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Role {
    /// Reads captures and writes to stdout.
    Reader,
    /// Reads captures and writes files.
    ReaderWithOutput,
    /// Watches this machine and writes to stdout.
    Watcher,
    /// Watches this machine and writes files, or creates and removes a folder in tracefs.
    WatcherWithOutput,
    /// Watches until it is stopped, fills a store, and answers scrapes.
    Recorder,
    /// Judges, then asks whether to run a probe.
    Prober,
    /// Sends metrics to a collector.
    Pusher,
}

/// An argument, and the values that it may have. Only the lower half is compared: the kernel treats
/// these as `int`.
type Values = (u8, &'static [u32]);

/// When a call is allowed.
#[derive(Clone, Copy)]
enum When {
    /// An argument has one of these values.
    Is(Values),
    /// Two arguments each have one of these values.
    Both(Values, Values),
    /// These bits of an argument have these values.
    Bits(u8, u32, u32),
    /// One argument has one of these values, and these bits of another have these values.
    IsWithBits(Values, (u8, u32, u32)),
    /// An argument of 64 bits is 0.
    Zero(u8),
    /// An argument is this process.
    Itself(u8),
}

/// A call by its name and number.
type Call = (&'static str, i64);

macro_rules! calls {
    ($($name:ident)*) => { &[$((stringify!($name), libc::$name)),*] };
}

/// Memory, threads, time, and queries of the process about itself.
const OWN: &[Call] = calls![
    SYS_brk SYS_munmap SYS_mremap SYS_madvise SYS_membarrier
    SYS_futex SYS_set_robust_list SYS_rseq SYS_set_tid_address SYS_gettid SYS_getpid SYS_getppid SYS_getpgid
    SYS_getsid SYS_getuid SYS_geteuid SYS_getgid SYS_getegid SYS_getgroups SYS_capget SYS_sched_yield
    SYS_sched_getaffinity SYS_getcpu SYS_getpriority SYS_exit SYS_exit_group SYS_restart_syscall
    SYS_rt_sigaction SYS_rt_sigprocmask SYS_rt_sigreturn SYS_sigaltstack
    SYS_clock_gettime SYS_clock_getres SYS_clock_nanosleep SYS_nanosleep SYS_gettimeofday
    SYS_getrusage SYS_times SYS_uname SYS_sysinfo SYS_getrandom SYS_getcwd
];
#[cfg(target_arch = "x86_64")]
const OWN_OLD: &[Call] = calls![SYS_time SYS_getpgrp SYS_getrlimit];
#[cfg(not(target_arch = "x86_64"))]
const OWN_OLD: &[Call] = &[];

/// Files, restricted by Landlock, and open descriptors.
const FILES: &[Call] = calls![
    SYS_openat SYS_openat2 SYS_close SYS_read SYS_readv SYS_pread64 SYS_preadv SYS_preadv2
    SYS_write SYS_writev SYS_pwrite64 SYS_pwritev SYS_lseek SYS_fstat SYS_newfstatat SYS_statx SYS_fstatfs
    SYS_statfs SYS_faccessat SYS_faccessat2 SYS_readlinkat SYS_getdents64 SYS_dup SYS_dup3 SYS_pipe2
    SYS_fsync SYS_fdatasync SYS_ftruncate SYS_fallocate SYS_flock SYS_fadvise64
    SYS_ppoll SYS_pselect6 SYS_epoll_create1 SYS_epoll_ctl SYS_epoll_pwait SYS_eventfd2
    SYS_recvfrom SYS_shutdown
];
#[cfg(target_arch = "x86_64")]
const FILES_OLD: &[Call] = calls![
    SYS_open SYS_stat SYS_lstat SYS_access SYS_readlink SYS_dup2 SYS_pipe SYS_poll SYS_select SYS_epoll_wait
];
#[cfg(not(target_arch = "x86_64"))]
const FILES_OLD: &[Call] = &[];

/// Names in folders, restricted by Landlock.
const NAMES: &[Call] = calls![
    SYS_mkdirat SYS_unlinkat SYS_linkat SYS_renameat SYS_renameat2
];
#[cfg(target_arch = "x86_64")]
const NAMES_OLD: &[Call] = calls![SYS_mkdir SYS_rmdir SYS_unlink SYS_link SYS_rename];
#[cfg(not(target_arch = "x86_64"))]
const NAMES_OLD: &[Call] = &[];

/// The exit status of a command that is watched.
const OF_A_COMMAND: &[Call] = calls![SYS_waitid];

/// Answering on an open socket, and waiting for processes started earlier.
const SERVING: &[Call] = calls![
    SYS_accept4 SYS_getsockname SYS_getpeername SYS_getsockopt SYS_wait4 SYS_waitid
];

/// Looks up a host and connects to it.
const SENDING: &[Call] = calls![
    SYS_connect SYS_bind SYS_sendto SYS_sendmsg SYS_sendmmsg SYS_recvmsg SYS_recvmmsg SYS_getsockname
    SYS_getpeername SYS_getsockopt SYS_setsockopt SYS_mmap SYS_mprotect
];

/// io_uring for probes.
const RINGS: &[Call] = calls![
    SYS_io_uring_setup SYS_io_uring_enter SYS_io_uring_register SYS_pwritev2 SYS_sched_setaffinity
    SYS_mlock SYS_munlock SYS_sync_file_range
];

/// Calls that no linked library makes in any role: they read other processes, change the machine,
/// or circumvent filters.
const ATTACKS: &[Call] = calls![
    SYS_ptrace SYS_process_vm_readv SYS_process_vm_writev SYS_process_madvise SYS_pidfd_getfd SYS_kcmp
    SYS_mount SYS_umount2 SYS_move_mount SYS_open_tree SYS_fsopen SYS_fsmount SYS_fsconfig SYS_fspick
    SYS_mount_setattr SYS_pivot_root SYS_chroot SYS_setns SYS_unshare
    SYS_init_module SYS_finit_module SYS_delete_module SYS_kexec_load SYS_reboot SYS_swapon SYS_swapoff
    SYS_userfaultfd SYS_add_key SYS_request_key SYS_keyctl SYS_open_by_handle_at
    SYS_settimeofday SYS_clock_settime SYS_sethostname SYS_setdomainname SYS_acct SYS_quotactl SYS_personality
];
/// Types into a terminal, or pastes into it.
const ATTACKS_ON_TERMINALS: &[u32] = &[libc::TIOCSTI as u32, TIOCLINUX];
/// `TIOCLINUX` of include/uapi/asm-generic/ioctls.h.
const TIOCLINUX: u32 = 0x541c;

/// Size, settings and foreground group of a terminal, and what std and mio ask of files; the
/// settings also in the form that rustix uses (include/uapi/asm-generic/ioctls.h, TCGETS2 to
/// TCSETSF2).
const IOCTLS: &[u32] = &[
    libc::TCGETS as u32,
    libc::TCSETS as u32,
    libc::TCSETSW as u32,
    libc::TCSETSF as u32,
    0x802c_542a,
    0x402c_542b,
    0x402c_542c,
    0x402c_542d,
    libc::TIOCGPGRP as u32,
    libc::TIOCGWINSZ as u32,
    libc::FIONREAD as u32,
    libc::FIONBIO as u32,
    libc::FIOCLEX as u32,
];
/// The same without a terminal: for a pusher, and for the tracer's counters while it closes them
/// (`PERF_EVENT_IOC_ENABLE` and `_DISABLE` of include/uapi/linux/perf_event.h).
const IOCTLS_OF_SOCKETS: &[u32] =
    &[libc::TCGETS as u32, libc::FIONREAD as u32, libc::FIONBIO as u32, libc::FIOCLEX as u32];
const IOCTLS_OF_TRACERS: &[u32] = &[0x2400, 0x2401];

/// Commands of bpf(2) on open tables, and to detach a program (include/uapi/linux/bpf.h): look up,
/// update, delete, next key, information, look up and delete, the same in batches, detach.
const BPF: &[u32] = &[1, 2, 3, 4, 15, 21, 24, 25, 34];
/// And to attach a loaded program, for turns of the exact tracer.
const BPF_OF_RECORDERS: &[u32] = &[17];

/// Commands of fcntl(2): flags, copies, sizes of pipes. Not the owner of signals.
const FCNTL: &[u32] = &[
    libc::F_DUPFD as u32,
    libc::F_DUPFD_CLOEXEC as u32,
    libc::F_GETFD as u32,
    libc::F_SETFD as u32,
    libc::F_GETFL as u32,
    libc::F_SETFL as u32,
    libc::F_GETPIPE_SZ as u32,
];

/// Options of prctl(2): the names of threads and of memory, and timer slack.
const PRCTL: &[u32] = &[
    libc::PR_SET_NAME as u32,
    libc::PR_GET_NAME as u32,
    0x5356_4d41, // PR_SET_VMA
    libc::PR_GET_TIMERSLACK as u32,
    libc::PR_SET_TIMERSLACK as u32,
];

/// A thread of this process, without its own namespaces (include/uapi/linux/sched.h).
const THREAD: u32 = libc::CLONE_THREAD as u32;
const NOT_A_THREAD: u32 = (libc::CLONE_NEWNS
    | libc::CLONE_NEWCGROUP
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUSER
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_PTRACE) as u32;

/// Families and types of sockets.
const UNIX: u32 = libc::AF_UNIX as u32;
const FAMILIES: &[u32] =
    &[UNIX, libc::AF_INET as u32, libc::AF_INET6 as u32, libc::AF_NETLINK as u32];
const TYPE: u32 = 0xf;
/// Time limits of a socket (SO_RCVTIMEO and SO_SNDTIMEO, also in the form of 64 bits) and no delay:
/// level and options.
const LIMITS: &[u32] = &[20, 21, 66, 67];

/// Calls whose arguments are checked in every role: no executable memory, new threads but no
/// processes, signals to this process only, socket pairs only as streams.
const LOOKED_AT: &[(i64, When)] = &[
    (libc::SYS_mmap, When::Bits(2, libc::PROT_EXEC as u32, 0)),
    (libc::SYS_mprotect, When::Bits(2, libc::PROT_EXEC as u32, 0)),
    (libc::SYS_clone, When::Bits(0, THREAD | NOT_A_THREAD, THREAD)),
    (libc::SYS_kill, When::Itself(0)),
    (libc::SYS_tgkill, When::Itself(0)),
    (libc::SYS_fcntl, When::Is((1, FCNTL))),
    (libc::SYS_prctl, When::Is((0, PRCTL))),
    (libc::SYS_prlimit64, When::Zero(2)),
    (libc::SYS_socketpair, When::IsWithBits((0, &[UNIX]), (1, TYPE, libc::SOCK_STREAM as u32))),
    (libc::SYS_sendto, When::Zero(4)),
];

/// Additional calls of a role.
fn more(role: Role) -> (&'static [&'static [Call]], &'static [(i64, When)]) {
    const TERMINAL: (i64, When) = (libc::SYS_ioctl, When::Is((1, IOCTLS)));
    const TRACER: [(i64, When); 3] = [
        TERMINAL,
        (libc::SYS_ioctl, When::Is((1, IOCTLS_OF_TRACERS))),
        (libc::SYS_bpf, When::Is((0, BPF))),
    ];
    match role {
        Role::Reader => (&[], &[TERMINAL]),
        Role::ReaderWithOutput => (&[NAMES, NAMES_OLD], &[TERMINAL]),
        Role::Watcher => (&[OF_A_COMMAND], &TRACER),
        Role::WatcherWithOutput => (&[NAMES, NAMES_OLD, OF_A_COMMAND], &TRACER),
        Role::Recorder => (
            &[NAMES, NAMES_OLD, SERVING],
            const {
                &[
                    (libc::SYS_ioctl, When::Is((1, IOCTLS_OF_SOCKETS))),
                    TRACER[1],
                    TRACER[2],
                    (libc::SYS_bpf, When::Is((0, BPF_OF_RECORDERS))),
                    // The judge lowers its own priority.
                    (libc::SYS_setpriority, When::Both((0, &[0]), (1, &[0]))),
                    (
                        libc::SYS_setsockopt,
                        When::Both((1, &[libc::SOL_SOCKET as u32]), (2, LIMITS)),
                    ),
                    (
                        libc::SYS_setsockopt,
                        When::Both(
                            (1, &[libc::IPPROTO_TCP as u32]),
                            (2, &[libc::TCP_NODELAY as u32]),
                        ),
                    ),
                ]
            },
        ),
        Role::Prober => (&[NAMES, NAMES_OLD, RINGS, OF_A_COMMAND], &TRACER),
        Role::Pusher => (
            &[SENDING],
            const {
                &[
                    (libc::SYS_ioctl, When::Is((1, IOCTLS_OF_SOCKETS))),
                    (libc::SYS_socket, When::Is((0, FAMILIES))),
                ]
            },
        ),
    }
}

impl When {
    /// As alternatives: all tests of one must hold.
    fn alternatives(self) -> Vec<Vec<Test>> {
        let one = |argument, value| Test { argument, upper: false, mask: u32::MAX, value };
        let is = |(argument, values): Values| values.iter().map(move |value| one(argument, *value));
        match self {
            When::Is(values) => is(values).map(|one| vec![one]).collect(),
            When::Both(first, second) => {
                is(first).flat_map(|a| is(second).map(move |b| vec![a, b])).collect()
            }
            When::Bits(argument, mask, value) => {
                vec![vec![Test { argument, upper: false, mask, value }]]
            }
            When::IsWithBits(values, (argument, mask, value)) => {
                let bits = Test { argument, upper: false, mask, value };
                is(values).map(|one| vec![one, bits]).collect()
            }
            When::Zero(argument) => {
                vec![vec![one(argument, 0), Test { upper: true, ..one(argument, 0) }]]
            }
            When::Itself(argument) => vec![vec![one(argument, std::process::id())]],
        }
    }

    fn cases(self, answer: u32) -> impl Iterator<Item = Case> {
        self.alternatives().into_iter().map(move |tests| Case { tests, answer })
    }
}

/// The result of each call that a role may make, or that ends it.
fn answers(role: Role) -> BTreeMap<u32, Cases> {
    let (calls, looked_at) = more(role);
    let mut answers: BTreeMap<u32, Cases> = BTreeMap::new();
    // The first matching case counts, so those that end the process come first.
    let terminals = (libc::SYS_ioctl, When::Is((1, ATTACKS_ON_TERMINALS)));
    answers.insert(terminals.0 as u32, terminals.1.cases(ENDED).collect());
    for (call, when) in LOOKED_AT.iter().chain(looked_at) {
        answers.entry(*call as u32).or_default().extend(when.cases(ALLOWED));
    }
    let whole = |answer| vec![Case { tests: Vec::new(), answer }];
    let every_role = [OWN, OWN_OLD, FILES, FILES_OLD].into_iter();
    let allowed = every_role.chain(calls.iter().copied()).flatten();
    answers.extend(allowed.map(|(_, call)| (*call as u32, whole(ALLOWED))));
    answers.extend(ATTACKS.iter().map(|(_, call)| (*call as u32, whole(ENDED))));
    answers.insert(libc::SYS_clone3 as u32, whole(MISSING));
    answers
}

/// Every call that is named here, for the table of what each role may do.
#[cfg(test)]
pub(super) const NAMED: &[&[Call]] = &[
    OWN,
    OWN_OLD,
    FILES,
    FILES_OLD,
    NAMES,
    NAMES_OLD,
    OF_A_COMMAND,
    SERVING,
    SENDING,
    RINGS,
    ATTACKS,
    calls![
        SYS_mmap SYS_mprotect SYS_clone SYS_clone3 SYS_kill SYS_tgkill SYS_fcntl SYS_prctl SYS_prlimit64 SYS_socketpair
        SYS_ioctl SYS_bpf SYS_setpriority SYS_socket
    ],
];

/// The filter of a role; none where the architecture is not known to [`assembled`].
pub(super) fn filter(role: Role) -> Option<BpfProgram> {
    assembled(&answers(role))
}
