//! Where io_uring is forbidden, as in many containers, plain system calls measure the same.

use iowhy_probe::{
    Clock, Durable, EngineChoice, Job, Load, Order, Purpose, Terms, Watcher, examine, run,
};

use crate::rig::Folder;

/// Forbids io_uring to the calling thread, as a container's seccomp profile does; whether it could.
fn forbid_io_uring() -> bool {
    let word =
        |code: u32, jt: u8, jf: u8, k: u32| libc::sock_filter { code: code as u16, jt, jf, k };
    // Load the number of the system call; io_uring_setup answers EPERM, all others are allowed
    // (seccomp(2), bpf(4)).
    let mut filter = [
        word(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0, 0),
        word(libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K, 0, 1, libc::SYS_io_uring_setup as u32),
        word(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        word(libc::BPF_RET | libc::BPF_K, 0, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog { len: filter.len() as u16, filter: filter.as_mut_ptr() };
    // SAFETY: both calls take plain numbers and a program that lives across the call.
    unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &program) == 0
    }
}

#[test]
fn without_io_uring_threads_do_the_same_ios() {
    let worked = std::thread::spawn(|| {
        if !forbid_io_uring() {
            return false;
        }
        let folder = Folder::new("fallback");
        let stop = false.into();
        let mut watcher = Watcher { stop: &stop, tick: &mut |_| {} };
        let purpose = Purpose::Write { span: 1 << 20, bytes: 1 << 20, dsync: false };
        let permit = examine(&folder.0, purpose, &Terms::default()).unwrap();
        let target = permit.open(&mut watcher).unwrap();
        for (op, durable) in [
            (iowhy_model::Op::Read, Durable::Plain),
            (iowhy_model::Op::Write, Durable::RwfDsync),
            (iowhy_model::Op::Write, Durable::Fdatasync),
        ] {
            let job = Job {
                op,
                durable,
                order: Order::Sequential,
                count: Some(64),
                load: Load::Closed { depth: 4 },
                ..Job::reads(4096, 4, 1 << 20)
            };
            let run = run(&target, &job, Clock::start(), &mut watcher).unwrap();
            assert_eq!((run.way, run.latency.n, run.failed), ("calls", 64, None), "{durable:?}");
        }
        let ring = Job { way: EngineChoice::Ring, count: Some(1), ..Job::reads(4096, 1, 1 << 20) };
        let Err(error) = run(&target, &ring, Clock::start(), &mut watcher) else {
            panic!("io_uring was forbidden");
        };
        assert!(error.to_string().contains("io_uring is not available"), "{error}");
        assert!(error.hint().contains("--engine calls"), "{}", error.hint());
        true
    });
    if !worked.join().unwrap() {
        println!("skipped: without io_uring: needs seccomp");
    }
}
