//! The filter of system calls in the kernel's form: classic BPF
//! (Documentation/userspace-api/seccomp_filter.rst), assembled here so that one filter has all
//! answers and finds a number by binary search. The kernel runs a filter once for every number when
//! it is set, and then for each call whose arguments are checked.

use std::collections::BTreeMap;

use seccompiler::{BpfProgram, sock_filter};

/// The result of a call: `SECCOMP_RET_*` of include/uapi/linux/seccomp.h.
pub(super) const ALLOWED: u32 = libc::SECCOMP_RET_ALLOW;
pub(super) const ENDED: u32 = libc::SECCOMP_RET_KILL_PROCESS;
pub(super) const REFUSED: u32 = libc::SECCOMP_RET_ERRNO | libc::EPERM as u32;
pub(super) const MISSING: u32 = libc::SECCOMP_RET_ERRNO | libc::ENOSYS as u32;

/// Bits of an argument that must have a value; only one half of its 64 bits is compared.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Test {
    pub(super) argument: u8,
    pub(super) upper: bool,
    pub(super) mask: u32,
    pub(super) value: u32,
}

/// A result of a call, and the tests that must hold for it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Case {
    pub(super) tests: Vec<Test>,
    pub(super) answer: u32,
}

/// The cases of a call; the first match counts, without a match it is refused.
pub(super) type Cases = Vec<Case>;

/// AUDIT_ARCH_* of include/uapi/linux/audit.h.
const ARCHITECTURE: Option<u32> = match std::env::consts::ARCH.as_bytes() {
    b"x86_64" => Some(0xc000_003e),
    b"aarch64" => Some(0xc000_00b7),
    b"riscv64" => Some(0xc000_00f3),
    _ => None,
};
/// Where `struct seccomp_data` has the number, the architecture and the arguments.
const NUMBER: u32 = 0;
const OF_ARCHITECTURE: u32 = 4;
const ARGUMENTS: u32 = 16;

/// Codes of include/uapi/linux/bpf_common.h.
const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const IF_EQUAL: u16 = 0x15;
const IF_AT_LEAST: u16 = 0x35;
const RETURN: u16 = 0x06;

fn step(code: u16, k: u32) -> sock_filter {
    sock_filter { code, jt: 0, jf: 0, k }
}

/// The filter with these results for these numbers, which refuses all others; `None` on an
/// architecture whose number is not known here.
pub(super) fn assembled(calls: &BTreeMap<u32, Cases>) -> Option<BpfProgram> {
    let mut program = vec![
        step(LOAD, OF_ARCHITECTURE),
        sock_filter { code: IF_EQUAL, jt: 1, jf: 0, k: ARCHITECTURE? },
        step(RETURN, ENDED),
        step(LOAD, NUMBER),
    ];
    program.extend(found(&ranges(calls)));
    Some(program)
}

/// Numbers from 0, each range by its first number, with its results.
fn ranges(calls: &BTreeMap<u32, Cases>) -> Vec<(u32, &[Case])> {
    let mut ranges: Vec<(u32, &[Case])> = vec![(0, &[])];
    let mut begin = |number: u32, cases| match ranges.last_mut() {
        Some((_, last)) if *last == cases => {}
        Some((from, last)) if *from == number => *last = cases,
        _ => ranges.push((number, cases)),
    };
    for (number, cases) in calls {
        begin(*number, cases);
        begin(*number + 1, if let Some(next) = calls.get(&(number + 1)) { next } else { &[] });
    }
    ranges
}

/// Instructions that find the range of the loaded number and return its result.
fn found(ranges: &[(u32, &[Case])]) -> BpfProgram {
    if let [(_, cases)] = ranges {
        return answered(cases);
    }
    let (lower, upper) = ranges.split_at(ranges.len() / 2);
    let Some((from, _)) = upper.first() else { return answered(&[]) };
    let below = found(lower);
    // A conditional jump skips at most 255 instructions.
    let mut program = match u8::try_from(below.len()) {
        Ok(over) => vec![sock_filter { code: IF_AT_LEAST, jt: over, jf: 0, k: *from }],
        Err(_) => vec![
            sock_filter { code: IF_AT_LEAST, jt: 0, jf: 1, k: *from },
            step(JUMP, below.len() as u32),
        ],
    };
    program.extend(below);
    program.extend(found(upper));
    program
}

/// Instructions that decide by the arguments.
fn answered(cases: &[Case]) -> BpfProgram {
    let mut program = BpfProgram::new();
    for case in cases {
        // Built from its end, because a failing test skips the rest of the case.
        let mut rest = vec![step(RETURN, case.answer)];
        for test in case.tests.iter().rev() {
            let place = ARGUMENTS + 8 * u32::from(test.argument) + 4 * u32::from(test.upper);
            let over = rest.len() as u8;
            let mut steps = vec![step(LOAD, place)];
            if test.mask != u32::MAX {
                steps.push(step(AND, test.mask));
            }
            steps.push(sock_filter { code: IF_EQUAL, jt: 0, jf: over, k: test.value });
            steps.extend(rest);
            rest = steps;
        }
        program.extend(rest);
    }
    if cases.last().is_none_or(|last| !last.tests.is_empty()) {
        program.push(step(RETURN, REFUSED));
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The result of a filter, by the rules of the kernel's interpreter, and the number of
    /// instructions run.
    fn run(program: &BpfProgram, number: u32, arguments: [u64; 6]) -> (u32, usize) {
        let (mut at, mut held, mut steps) = (0, 0, 0);
        loop {
            let now = &program[at];
            (at, steps) = (at + 1, steps + 1);
            let jump = |yes: bool| usize::from(if yes { now.jt } else { now.jf });
            match now.code {
                LOAD if now.k == NUMBER => held = number,
                LOAD if now.k == OF_ARCHITECTURE => held = ARCHITECTURE.unwrap(),
                LOAD => {
                    let place = now.k - ARGUMENTS;
                    held = (arguments[place as usize / 8] >> (8 * (place % 8))) as u32;
                }
                AND => held &= now.k,
                JUMP => at += now.k as usize,
                IF_EQUAL => at += jump(held == now.k),
                IF_AT_LEAST => at += jump(held >= now.k),
                RETURN => return (now.k, steps),
                other => panic!("{other:#x}"),
            }
        }
    }

    #[test]
    fn every_number_is_found_in_few_steps() {
        let plain = |answer| vec![Case { tests: Vec::new(), answer }];
        let test = Test { argument: 1, upper: false, mask: u32::MAX, value: 7 };
        let upper = Test { argument: 2, upper: true, mask: 0xf0, value: 0x30 };
        let cases = vec![
            Case { tests: vec![test, upper], answer: ALLOWED },
            Case { tests: vec![Test { value: 9, ..test }], answer: ENDED },
        ];
        // Every third and every fifth of a thousand, so that there are ranges of each kind and long
        // jumps.
        let answer = |number: u32| match (number.is_multiple_of(3), number.is_multiple_of(5)) {
            (true, true) => Some(cases.clone()),
            (true, false) => Some(plain(ALLOWED)),
            (false, true) => Some(plain(MISSING)),
            (false, false) => None,
        };
        let calls: BTreeMap<u32, Cases> =
            (0..1000).filter_map(|number| Some((number, answer(number)?))).collect();
        let Some(program) = assembled(&calls) else { return };
        assert!(program.len() < 4096, "BPF_MAXINSNS: {}", program.len());
        for number in (0..1100).chain([u32::MAX, 0x4000_0000]) {
            let known = answer(number).filter(|_| number < 1000).unwrap_or_default();
            for arguments in [[0; 6], [0, 7, 0x35 << 32, 0, 0, 0], [0, 9 | 1 << 40, 0, 0, 0, 0]] {
                let holds = |test: &Test| {
                    let half =
                        arguments[usize::from(test.argument)] >> (32 * u32::from(test.upper));
                    half as u32 & test.mask == test.value
                };
                let case = known.iter().find(|case| case.tests.iter().all(holds));
                let (answered, steps) = run(&program, number, arguments);
                assert_eq!(answered, case.map_or(REFUSED, |case| case.answer), "{number}");
                assert!(steps < 32, "{number}: {steps}");
            }
        }
    }
}
