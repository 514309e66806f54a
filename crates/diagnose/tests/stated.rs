//! What drives, pools, controllers and volumes state, without any latency: accusations and near
//! misses.

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Level, Nanos, Recording, Sampling, Sink, Source, Verdict};

fn judged(texts: &[&str]) -> Vec<Finding> {
    let mut recording = Recording::for_a_verdict();
    for (place, text) in texts.iter().enumerate() {
        let input = format!("{place}.txt");
        iowhy_read::scan(&input, &mut text.as_bytes(), None, &mut recording).unwrap();
    }
    judge(&recording, &Options::default())
}

/// How sure it is of an accusation; 0 if it is not made.
fn sure(findings: &[Finding], verdict: Verdict) -> f64 {
    let of = findings.iter().filter(|finding| finding.verdict == verdict);
    of.map(|finding| finding.confidence()).fold(0.0, f64::max)
}

fn pool(row: &str, scan: &str) -> String {
    format!(
        "  pool: tank\n state: DEGRADED\n  scan: {scan}\nconfig:\n\n\
         \tNAME        STATE     READ WRITE CKSUM\n\ttank        DEGRADED     0     0     0\n\
         \t  raidz2-0  DEGRADED     0     0     0\n\t    sda     ONLINE       0     0     0\n\
         \t    sdb     {row}\n"
    )
}

#[test]
fn reads_that_fail_in_a_pool_are_the_disks_and_all_kinds_together_are_not() {
    let none = "none requested";
    let faulted = judged(&[&pool("FAULTED    457     0     0  too many errors", none)]);
    assert!(sure(&faulted, Verdict::DeviceMedia) > 0.6, "{faulted:#?}");
    let mixed = judged(&[&pool("FAULTED    457   812    96  too many errors", none)]);
    assert!(sure(&mixed, Verdict::DeviceMedia) < 0.6, "{mixed:#?}");
    let taken_out = judged(&[&pool("OFFLINE      0     0     0", none)]);
    assert!(sure(&taken_out, Verdict::DeviceMedia) < 0.3, "{taken_out:#?}");
}

#[test]
fn a_listed_shingled_disk_in_a_resilver_and_a_conventional_one() {
    let model = |model: &str| format!("NAME ROTA MODEL\nsda     1 EXAMPLE\nsdb     1 {model}\n");
    let row = "ONLINE       0     0     0  (resilvering)";
    let text = pool(row, "resilver in progress since Sat Nov 21 11:53:46 2026");
    let shingled = judged(&[&model("WDC-WD40EFAX-68JH4N0"), &text]);
    assert!(sure(&shingled, Verdict::DeviceSmr) > 0.6, "{shingled:#?}");
    let conventional = judged(&[&model("WDC-WD40EFRX-68WT0N0"), &text]);
    assert!(sure(&conventional, Verdict::DeviceSmr) < 0.1, "{conventional:#?}");
    let at_rest = judged(&[&model("WDC-WD40EFAX-68JH4N0"), &pool(row, "none requested")]);
    assert!(sure(&at_rest, Verdict::DeviceSmr) < 0.1, "{at_rest:#?}");
}

#[test]
fn what_a_drive_says_of_itself() {
    let log = |warning: u32, spare: u32, used: u32| {
        format!(
            "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\ncritical_warning : {warning}\n\
             available_spare : {spare}%\navailable_spare_threshold : 10%\npercentage_used : {used}%\n\
             media_errors : 0\n"
        )
    };
    let spent = judged(&[&log(0, 4, 118)]);
    assert!(sure(&spent, Verdict::DeviceMedia) > 0.6, "{spent:#?}");
    // Worn beyond its rating, but well: it is said, and is no accusation.
    let worn = judged(&[&log(0, 88, 103)]);
    assert!((0.05..0.5).contains(&sure(&worn, Verdict::DeviceMedia)), "{worn:#?}");
    let well = judged(&[&log(0, 100, 3)]);
    assert!(sure(&well, Verdict::DeviceMedia) <= 0.0, "{well:#?}");
}

#[test]
fn a_controller_counts_media_errors_of_one_drive() {
    let drive = |media: u32, predictive: u32| {
        format!(
            "Drive /c0/e32/s3 State :\nMedia Error Count = {media}\nOther Error Count = 7\n\
             Predictive Failure Count = {predictive}\nS.M.A.R.T alert flagged by drive = No\n"
        )
    };
    assert!(sure(&judged(&[&drive(412, 3)]), Verdict::DeviceMedia) > 0.6);
    assert!(sure(&judged(&[&drive(1, 0)]), Verdict::DeviceMedia) < 0.6);
    assert!(sure(&judged(&[&drive(0, 0)]), Verdict::DeviceMedia) <= 0.0);
}

#[test]
fn counters_of_a_link_accuse_it_only_when_they_grow() {
    let phys = |count: u32| format!("/sys/class/sas_phy/phy-0:3/invalid_dword_count:{count}\n");
    assert!(sure(&judged(&[&phys(118)]), Verdict::DevicePath) <= 0.0);
    assert!(sure(&judged(&[&phys(118), &phys(118)]), Verdict::DevicePath) <= 0.0);
    assert!(sure(&judged(&[&phys(118), &phys(9120)]), Verdict::DevicePath) > 0.6);
}

#[test]
fn a_path_that_its_volume_gave_up() {
    let volume = |said: &str| {
        format!(
            "mpatha (3600000000000001) dm-2 EXAMPLE,VRAID\nsize=100G features='0' hwhandler='0' wp=rw\n\
             `-+- policy='service-time 0' prio=50 status=active\n  |- 1:0:0:1 sdb 8:16 active ready running\n\
             \x20 `- 2:0:0:1 sdd 8:48 {said}\n"
        )
    };
    assert!(sure(&judged(&[&volume("failed faulty running")]), Verdict::DevicePath) > 0.6);
    assert!(sure(&judged(&[&volume("active ready running")]), Verdict::DevicePath) <= 0.0);
}

const PRESSED: &str =
    "==> /proc/pressure/cpu <==\nsome avg10=93.20 avg60=92.85 avg300=64.35 total=1414131875\n";

#[test]
fn processors_that_are_short_are_named_and_a_busy_one_is_not() {
    let short = judged(&[PRESSED]);
    assert!(sure(&short, Verdict::LayerCpu) > 0.6, "{short:#?}");
    let busy = judged(&[&PRESSED.replace("93.20", "31.00")]);
    assert!(sure(&busy, Verdict::LayerCpu) <= 0.0, "{busy:#?}");
    let stolen = judged(&[
        "%Cpu(s):  5.9 us,  5.9 sy,  0.0 ni, 20.0 id,  0.0 wa,  0.0 hi,  0.0 si, 68.2 st\n",
    ]);
    assert!(sure(&stolen, Verdict::LayerCpu) > 0.6, "{stolen:#?}");
}

#[test]
fn a_kernel_thread_at_the_limit_of_its_cpu_is_named_and_a_program_is_not() {
    let top = |share: &str, command: &str| {
        format!(
            "    PID USER      PR  NI    VIRT    RES    SHR S  %CPU  %MEM     TIME+ COMMAND\n   4711 root \
             20   0       0      0      0 R  {share}   0.0  12:50.67 {command}\n"
        )
    };
    let disk = |busy: &str| {
        format!(
            "Device            r/s     rkB/s   r_await     w/s     wkB/s   w_await  aqu-sz  %util\nmd127            0.00      \
             0.00    0.00     3.50     30.40    1.10   0.01  {busy}\n"
        )
    };
    let says = |share: &str, command: &str, busy: &str| {
        sure(&judged(&[&(top(share, command) + "\n" + &disk(busy))]), Verdict::LayerCpu)
    };
    for thread in ["kworker/u16:2+flush-9:127", "md127_raid6", "kworker/u8:3-kcryptd/253:0"] {
        assert!(says("97.3", thread, "2.00") > 0.6, "{thread}");
        // The disk may be what is waited for.
        assert!(says("97.3", thread, "99.00") < 0.6, "{thread}");
        assert!(says("41.0", thread, "2.00") <= 0.0, "{thread}");
    }
    assert!(says("97.3", "mysqld", "2.00") <= 0.0);
    assert!(says("97.3", "kworker/0:1-events", "2.00") <= 0.0);
}

#[test]
fn processes_that_ran_out_of_memory_name_it() {
    let line = |at: u32, said: &str| format!("[ {at}.205801] {said}\n");
    for said in [
        "Out of memory: Killed process 1853 (named) total-vm:812kB, anon-rss:71kB",
        "Out of memory: kill process 1853 (named) score 9937 or a child",
        "Memory cgroup out of memory: Killed process 77 (java) total-vm:812kB",
    ] {
        let twice = line(5947, said) + &line(6001, said);
        let short = judged(&[&twice]);
        assert!(sure(&short, Verdict::LayerMemory) > 0.6, "{said}: {short:#?}");
    }
    let other = judged(&[&line(5947, "Out of memory is what a program may say of itself")]);
    assert!(sure(&other, Verdict::LayerMemory) <= 0.0, "{other:#?}");
}

#[test]
fn a_volume_at_its_limit_explains_what_the_program_above_it_waits_for() {
    let fio = |per_s: u32| {
        format!(
            "job: (g=0): rw=randwrite, bs=16K-16K/16K-16K/16K-16K, ioengine=psync, iodepth=1\nfio-2.14\n\
             Starting 16 processes\njob: (groupid=0, jobs=16): err= 0: pid=1657: Tue May  7 00:14:50 2024\n\
             \x20 write: io=8231.8MB, bw=46828KB/s, iops={per_s}, runt=180006msec\n\
             \x20   clat (usec): min=551, max=58452, avg=5463.27, stdev=1558.02\n\
             \x20    lat (usec): min=551, max=58453, avg=5463.99, stdev=1558.03\n"
        )
    };
    let disk = "Device:         rrqm/s   wrqm/s     r/s     w/s    rMB/s    wMB/s avgrq-sz avgqu-sz   await \
                r_await w_await  svctm  %util\nnvme1n1           0.00     0.00    0.00 3000.00     0.00    \
                46.88    32.00    15.84    5.28    0.00    5.28   0.33 100.00\n";
    let first = |per_s: u32| judged(&[&(fio(per_s) + disk)])[0].verdict;
    assert_eq!(first(2926), Verdict::CapVolume);
    // Another load than what the disk served.
    assert_eq!(first(1200), Verdict::LoadSaturated);
}

#[test]
fn memory_that_is_short_is_named_and_a_little_swapping_is_not() {
    let vmstat = |so: u32| {
        let row = format!(
            " 1  4 812332  71232   2212  81232  812 {so}  9120  8120  912 1812  4  6 40 50  0\n"
        );
        format!(
            "procs -----------memory---------- ---swap-- -----io---- -system-- ------cpu-----\n r  b   swpd   \
             free   buff  cache   si   so    bi    bo   in   cs us sy id wa st\n{}",
            row.repeat(4)
        )
    };
    let swaps = judged(&[&vmstat(9120)]);
    assert!(sure(&swaps, Verdict::LayerMemory) > 0.6, "{swaps:#?}");
    let little = judged(&[&vmstat(20)]);
    assert!(sure(&little, Verdict::LayerMemory) <= 0.0, "{little:#?}");
    // Pressure of a moment, and nothing of I/O beside it, is a suspicion.
    let pressure = |long: &str| {
        format!(
            "==> /proc/pressure/memory <==\nsome avg10=21.06 avg60=14.31 avg300={long} total=24037\n"
        )
    };
    let moment = judged(&[&pressure("3.80")]);
    assert!(sure(&moment, Verdict::LayerMemory) < 0.6, "{moment:#?}");
    let lasting = judged(&[&pressure("19.80")]);
    assert!(sure(&lasting, Verdict::LayerMemory) > 0.6, "{lasting:#?}");
}

#[test]
fn background_work_of_an_array_is_named_and_work_that_waits_is_not() {
    let mdstat = |line: &str| {
        format!(
            "Personalities : [raid1]\nmd0 : active raid1 sdb1[2] sda1[0]\n      976630464 blocks super 1.2 [2/1] [U_]\n\
             {line}\nunused devices: <none>\n"
        )
    };
    let rebuilt = "      [=>...........]  recovery = 8.1% (79136512/976630464) finish=97.2min speed=153821K/sec\n";
    let rebuilt = judged(&[&mdstat(rebuilt)]);
    assert!(sure(&rebuilt, Verdict::LoadRebuild) > 0.6, "{rebuilt:#?}");
    let waits = judged(&[&mdstat("      \tresync=DELAYED\n")]);
    assert!(sure(&waits, Verdict::LoadRebuild) <= 0.0, "{waits:#?}");
}

#[test]
fn a_pool_without_space_is_named_and_an_old_message_beside_a_watch_is_not() {
    let lvs = |used: &str| {
        format!(
            "  LV     VG  Attr       LSize   Pool Origin Data%  Meta%  Move Log Cpy%Sync Convert\n  \
             images vg0 twi-aotz-- 400.00g             {used} 31.07\n"
        )
    };
    assert!(sure(&judged(&[&lvs("100.00")]), Verdict::LayerAbove) > 0.8);
    assert!(sure(&judged(&[&lvs("93.41")]), Verdict::LayerAbove) < 0.1);
    let log = "[77468.721872] critical space allocation error, dev loop3, sector 9216 op 0x1:(WRITE) flags 0x4800\n";
    assert!(sure(&judged(&[log]), Verdict::LayerAbove) > 0.8);
    let mut recording = Recording::for_a_verdict();
    iowhy_read::scan("dmesg", &mut log.as_bytes(), None, &mut recording).unwrap();
    let mut watched = Source::new("diskstats", "live", Level::A);
    (watched.watched, watched.sampling) = (Some(Nanos(3_000_000_000)), Sampling::Sampled);
    recording.begin(watched);
    recording.end();
    assert!(sure(&judge(&recording, &Options::default()), Verdict::LayerAbove) < 0.1);
}
