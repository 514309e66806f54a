//! Vetoes of HEALTHY verdicts, and no accusation for waits elsewhere: each kind over many captures.

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Medium, Op, Recording, STANDS};

use crate::made::{self, beside::read};
use crate::made::{MadeCapture, Row, accuses, brief, confidence, of};

fn judged(text: &str) -> Vec<Finding> {
    let mut recording = Recording::new();
    iowhy_read::scan("capture", &mut text.as_bytes(), None, &mut recording).unwrap();
    judge(&recording, &Options::default())
}

const OLD: &str =
    "Device: rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await svctm %util";

/// Rows of iostat: name, reads per second, KiB each, await in ms, busy share.
fn iostat(rows: &[(&str, f64, f64, f64, f64)]) -> String {
    let row = |(name, per_s, kib, ms, busy): &(&str, f64, f64, f64, f64)| {
        let (kb, sectors, queue) = (per_s * kib, 2.0 * kib, per_s * ms / 1e3);
        format!(
            "{name} 0.00 0.00 {per_s:.2} 0.00 {kb:.2} 0.00 {sectors:.2} {queue:.2} {ms:.2} {ms:.2} 0.00 {:.2} {:.2}\n",
            busy * 1e3 / per_s,
            busy * 100.0
        )
    };
    format!("{OLD}\n{}", rows.iter().map(row).collect::<String>())
}

#[test]
fn a_clean_bill_leads_no_page_on_which_another_disk_waits() {
    let mut waited = 0;
    for ms in [0.5, 2.0, 8.0, 20.0, 44.0, 90.0, 400.0] {
        for per_s in [10.0, 60.0, 157.0, 600.0] {
            for busy in [0.3f64, 0.7, 0.99] {
                let one = ("sda", per_s, 34.0, ms, busy.min(per_s * ms / 1e3));
                let findings = judged(&iostat(&[one, ("sdc", 436.0, 26.0, 0.2, 0.09)]));
                let first = &findings[0];
                let cleared =
                    first.evidence.iter().any(|known| known.disk.as_deref() == Some("sda"));
                let waits = per_s * ms / 1e3 > 1.0;
                if first.verdict == "healthy" && !cleared {
                    assert!(!waits, "{ms} ms at {per_s}: {}", brief(&findings));
                }
                waited += usize::from(waits);
            }
        }
    }
    assert!(waited > 20, "{waited}");
}

#[test]
fn disks_of_one_arm_that_never_pause_are_full() {
    let names = ["sdc", "sdd", "sde", "sdf", "sdg", "sdh"];
    for members in 2..=6 {
        for (ms, per_s) in [(15.0, 160.0), (18.0, 152.0), (25.0, 150.0), (60.0, 130.0)] {
            let rows: Vec<_> = names[..members]
                .iter()
                .enumerate()
                .map(|(k, name)| (*name, per_s + k as f64, 34.0, ms + 0.1 * k as f64, 0.96))
                .collect();
            let findings = judged(&iostat(&rows));
            assert!(!accuses(&findings, "healthy"), "{members}, {ms}: {}", brief(&findings));
            assert_eq!(
                findings[0].verdict,
                "load.saturated",
                "{members}, {ms}: {}",
                brief(&findings)
            );
        }
    }
    // Near miss: flash serves several at once, and is as busy.
    for (ms, per_s) in [(0.1, 25_000.0), (0.2, 14_000.0)] {
        let findings = judged(&iostat(&[("nvme0n1", per_s, 4.0, ms, 0.97)]));
        assert!(!accuses(&findings, "load.saturated"), "{}", brief(&findings));
    }
}

/// What fio prints of one job at depth 1: percentiles in us.
fn fio(mean_us: f64, percentiles: &[(f64, f64)], max_us: f64) -> String {
    let shown: Vec<String> =
        percentiles.iter().map(|(percent, us)| format!("{percent:.2}th=[{us:5.0}]")).collect();
    let iops = 1e6 / mean_us;
    format!(
        "job: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
         ioengine=psync, iodepth=1\n\
         fio-3.28\n\
         Starting 1 process\n\
         job: (groupid=0, jobs=1): err= 0: pid=2210: Tue Oct  6 09:12:44 2026\n\
         \x20 read: IOPS={iops:.0}, BW={:.0}KiB/s (10MB/s)(288MiB/30020msec)\n\
         \x20   clat (usec): min=60, max={max_us:.0}, avg={mean_us:.2}, stdev=100.0\n\
         \x20   clat percentiles (usec):\n\
         \x20    | {}\n\
         ",
        4.0 * iops,
        shown.join(", ")
    )
}

#[test]
fn a_tail_that_holds_most_of_the_time_is_no_clean_bill() {
    let (mut withheld, mut cleared) = (0, 0);
    for share in [0.0, 0.001, 0.003, 0.006, 0.01] {
        for slow_us in [3_000.0, 12_000.0, 50_000.0, 200_000.0] {
            for quick_us in [80.0, 120.0, 150.0] {
                let mean = quick_us * (1.0 - share) + slow_us * share;
                let at = |percent: f64| {
                    if percent > 100.0 * (1.0 - share) {
                        slow_us
                    } else {
                        quick_us * (0.9 + percent / 500.0)
                    }
                };
                let whole: Vec<(f64, f64)> = [1.0, 25.0, 50.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9]
                    .map(|percent| (percent, at(percent)))
                    .to_vec();
                for shown in [&whole[..], &whole[..4]] {
                    let max = if share > 0.0 { slow_us } else { 2.0 * quick_us };
                    let findings = judged(&fio(mean, shown, max));
                    let of_tail = slow_us * share / mean;
                    // Of a fifth that is not shown the mean alone is known: it must be beyond three
                    // healthy times.
                    let is_known = shown.len() == whole.len() || slow_us * share > 150.0;
                    if of_tail > 0.6 && is_known {
                        withheld += 1;
                        assert!(
                            !accuses(&findings, "healthy"),
                            "{share} of {slow_us} us: {}",
                            brief(&findings)
                        );
                    } else if share == 0.0 {
                        cleared += 1;
                        assert!(
                            accuses(&findings, "healthy"),
                            "{quick_us} us: {}",
                            brief(&findings)
                        );
                    }
                }
            }
        }
    }
    assert!(withheld > 20 && cleared > 10, "{withheld} {cleared}");
}

#[test]
fn a_few_slow_pings_speak_against_the_quick_ones_beside_them() {
    let pings = |us: f64, pause: &str| -> String {
        let rows = (1..=8).map(|k| {
            format!(
                "4 KiB <<< /dev/nvme2n1 (block device 476.9 GiB): request={k} time={:.1} us\n",
                us + f64::from(k)
            )
        });
        format!("# ioping -c8 -D -i {pause} /dev/nvme2n1\n{}", rows.collect::<String>())
    };
    for slow_us in [2_000.0, 7_900.0, 40_000.0] {
        let both = [pings(slow_us, "1"), pings(95.0, "0.01")];
        for text in [both.concat(), [both[1].clone(), both[0].clone()].concat()] {
            let findings = judged(&text);
            assert!(!accuses(&findings, "healthy"), "{slow_us} us: {}", brief(&findings));
        }
    }
    let findings = judged(&pings(95.0, "0.01"));
    assert!(accuses(&findings, "healthy"), "{}", brief(&findings));
}

#[test]
fn no_depth_makes_the_latency_of_a_device_that_gives_a_part_of_its_class() {
    let run = |disk: &str, per_s: f64, depth: f64| {
        let ms = depth / per_s * 1e3;
        judged(&format!(
            "$ fio --name=rand --filename=/dev/{disk} --rw=randread --bs=4k --ioengine=libaio \
             --iodepth={depth} --direct=1\n\
             rand: (g=0): rw=randread, bs=(R) 4096B-4096B, (W) 4096B-4096B, (T) 4096B-4096B, \
             ioengine=libaio, iodepth={depth}\n\
             fio-3.28\n\
             Starting 1 process\n\
             rand: (groupid=0, jobs=1): err= 0: pid=4021: Tue Nov 24 11:02:13 2026\n\
             \x20 read: IOPS={per_s:.0}, BW={:.0}KiB/s (5325kB/s)(304.7MiB/60004msec)\n\
             \x20   clat (usec): min={:.0}, max={:.0}, avg={:.2}, stdev={:.2}\n\
             ",
            4.0 * per_s,
            ms * 50.0,
            ms * 5e3,
            ms * 1e3,
            ms * 300.0
        ))
    };
    for depth in [16.0, 32.0, 64.0, 128.0] {
        for per_s in [300.0, 1_300.0, 2_900.0] {
            let findings = run("nvme0n1", per_s, depth);
            assert!(
                !accuses(&findings, "load.saturated"),
                "{per_s} at {depth}: {}",
                brief(&findings)
            );
            assert!(!accuses(&findings, "healthy"), "{per_s} at {depth}: {}", brief(&findings));
        }
        let findings = run("nvme0n1", 180_000.0, depth);
        assert!(!made::blames_a_device(&findings), "{}", brief(&findings));
        // A spinning disk gives no more, whatever the depth.
        let findings = run("hda", 180.0, depth);
        assert!(accuses(&findings, "load.saturated"), "{depth}: {}", brief(&findings));
    }
}

/// Reads of a drive one after the other, each around so many ms.
fn traced(ms: f64, pause_ms: f64) -> MadeCapture {
    let mut capture = MadeCapture::traced();
    capture.medium("nvme0n1", Medium::Nvme);
    let mut at = 0.0;
    for _ in 0..1500 {
        let took = ms * capture.about(0.15);
        let sector = (capture.chance() * 1e8) as u64 * 8;
        capture.io("nvme0n1", Op::Read, sector, 4096, at, took);
        at += took + pause_ms;
    }
    capture
}

#[test]
fn pressure_on_processors_is_a_note_beside_disks_that_answer_well() {
    for ms in [0.06, 0.1, 0.18, 0.25] {
        for pause_ms in [0.0, 0.05, 3.0] {
            for pressure in [55.0, 77.0, 99.0] {
                let mut capture = traced(ms, pause_ms);
                let text = format!(
                    "==> /proc/pressure/cpu <==\nsome avg10={pressure:.2} avg60={pressure:.2} avg300={pressure:.2} total=1\n"
                );
                read(&mut capture, "capture.txt", &text);
                let findings = capture.judge();
                let reported = confidence(&findings, "layer.cpu");
                assert!(reported < STANDS, "{ms} ms, {pressure} %: {}", brief(&findings));
                assert_ne!(findings[0].verdict, "layer.cpu", "{}", brief(&findings));
            }
        }
    }
    // Near miss: the same pressure beside a disk of which each I/O takes seven times as long.
    let mut capture = traced(0.7, 0.05);
    let text = "==> /proc/pressure/cpu <==\nsome avg10=90.00 avg60=90.00 avg300=90.00 total=1\n";
    read(&mut capture, "capture.txt", text);
    let findings = capture.judge();
    assert!(confidence(&findings, "layer.cpu") > 0.3, "{}", brief(&findings));
}

#[test]
fn io_pressure_far_above_that_of_memory_comes_first() {
    let pressed = |io: f64, memory: f64| {
        let of = |name: &str, share: f64| {
            format!(
                "==> /proc/pressure/{name} <==\nsome avg10={share:.2} avg60={share:.2} avg300={share:.2} total=9\n"
            )
        };
        judged(&format!("{}{}", of("memory", memory), of("io", io)))
    };
    for (io, memory) in
        [(98.0, 14.0), (98.0, 25.0), (60.0, 12.0), (45.0, 11.0), (30.0, 2.0), (90.0, 0.0)]
    {
        let findings = pressed(io, memory);
        assert_eq!(findings[0].verdict, "insufficient", "{io}, {memory}: {}", brief(&findings));
        assert!(findings[0].sentence.contains("waited for I/O"), "{}", findings[0].sentence);
    }
    // Near miss: as much for memory as for I/O, which is then paging.
    for share in [40.0, 70.0, 95.0] {
        let findings = pressed(share, share);
        assert_eq!(findings[0].verdict, "layer.memory", "{share}: {}", brief(&findings));
    }
}

#[test]
fn a_rebuild_at_its_minimum_rate_or_without_a_member_is_not_the_cause() {
    for speed in [40u32, 400, 990, 1_100, 1_400, 1_600, 30_000, 200_000] {
        for degraded in [false, true] {
            let (counts, action) =
                if degraded { ("[2/1] [U_]", "recovery") } else { ("[2/2] [UU]", "check") };
            let findings = judged(&format!(
                "Personalities : [raid1]\n\
                 md4 : active raid1 sdc1[2] sdb1[0]\n\
                 \x20     976630464 blocks super 1.2 {counts}\n\
                 \x20     [>....................]  {action} =  1.2% (11817984/976630464) \
                 finish=40.2min speed={speed}K/sec\n\
                 "
            ));
            let first = &findings[0];
            let says = |words: &str| first.sentence.contains(words);
            let starved = speed < 1500;
            let expected = if starved { "insufficient" } else { "load.rebuild" };
            assert_eq!(first.verdict, expected, "{speed}, {degraded}: {}", brief(&findings));
            assert_eq!(says("degraded"), degraded, "{}", first.sentence);
            let slows = first.next_step.iter().any(|step| step.contains("limit its rate"));
            assert_eq!(slows, !degraded && !starved, "{:?}", first.next_step);
            if starved {
                assert!(!accuses(&findings, "load.rebuild"), "{}", brief(&findings));
                assert_eq!(says("Linux throttles it"), speed >= 1000, "{}", first.sentence);
            }
        }
    }
}

#[test]
fn counters_without_a_time_are_counts_and_no_silence() {
    for (reads, read_ms) in [(1000, 10_000), (1000, 300), (40, 2_000), (0, 0)] {
        for in_flight in [0, 3, 64] {
            let findings = judged(&format!(
                "   8       0 sda 1000 0 8000 1000 1000 0 8000 1000 0 500 2000\n   \
                 8       0 sda {} 0 {} {} 1500 0 12000 8000 {in_flight} 1500 19000\n",
                1000 + reads,
                8000 + 8 * reads,
                1000 + read_ms
            ));
            let first = &findings[0];
            let silent = ["completed none", "no block I/O", "0.00"];
            assert!(
                !silent.iter().any(|words| first.sentence.contains(words)),
                "{}",
                first.sentence
            );
            assert!(!made::blames_a_device(&findings), "{}", brief(&findings));
        }
    }
}

#[test]
fn a_request_that_never_completes_is_no_work() {
    let rows = |stuck: f64, per_s: f64, ms: f64, count: usize| {
        let heading = "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s %rrqm %wrqm r_await w_await aqu-sz rareq-sz wareq-sz svctm %util\n";
        let row = |k: usize| {
            let per_s = per_s + k as f64;
            let queue = stuck + per_s * ms / 1e3;
            format!(
                "nvme0n1 {per_s:.2} 0.00 {:.2} 0.00 0.00 0.00 0.00 0.00 {ms:.2} 0.00 {queue:.2} 4.00 0.00 {:.2} 100.00\n",
                4.0 * per_s,
                1e3 / per_s
            )
        };
        let all = (0..count).map(|k| format!("{heading}{}\n", row(k)));
        judged(&all.collect::<String>())
    };
    for stuck in [1.0, 2.0, 7.0] {
        for per_s in [1.0, 9.0, 30.0] {
            let findings = rows(stuck, per_s, 0.2, 8);
            let first = &findings[0];
            assert_eq!(
                first.verdict,
                "report.inconsistent",
                "{stuck}, {per_s}: {}",
                brief(&findings)
            );
            assert!(first.sentence.contains("in flight"), "{}", first.sentence);
        }
    }
    // Near misses: work that keeps the device busy, and two rows, which edges may have cut.
    for findings in [rows(0.0, 5_000.0, 0.2, 8), rows(1.0, 9.0, 0.2, 2), rows(0.5, 9.0, 0.2, 8)] {
        let named = of(&findings, "report.inconsistent");
        let named = named.iter().any(|known| known.sentence.contains("is not busy"));
        assert!(!named, "{}", brief(&findings));
    }
}

#[test]
fn a_row_that_was_copied_is_no_second_one() {
    let row = |k: f64| {
        let mut capture = MadeCapture::averaged();
        capture.row(
            "sdb",
            Op::Read,
            Row { per_s: 70.0 + k, bytes: 4096.0, await_ms: 90.0, busy: 0.9 },
        );
        capture
    };
    let mut one = row(0.0);
    let single = one.judge();
    let mut copied = row(0.0);
    for _ in 0..3 {
        copied.row("sdb", Op::Read, Row { per_s: 70.0, bytes: 4096.0, await_ms: 90.0, busy: 0.9 });
    }
    let copied = copied.judge();
    assert_eq!(single[0].verdict, copied[0].verdict);
    assert!(copied[0].confidence() <= single[0].confidence(), "{}", brief(&copied));
}
