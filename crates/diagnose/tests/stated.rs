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
    // Worn beyond its rating, but well: it is reported, and is not an accusation.
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
    let volume = |reported: &str| {
        format!(
            "mpatha (3600000000000001) dm-2 EXAMPLE,VRAID\nsize=100G features='0' hwhandler='0' wp=rw\n\
             `-+- policy='service-time 0' prio=50 status=active\n  |- 1:0:0:1 sdb 8:16 active ready running\n\
             \x20 `- 2:0:0:1 sdd 8:48 {reported}\n"
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
    let line = |at: u32, reported: &str| format!("[ {at}.205801] {reported}\n");
    for reported in [
        "Out of memory: Killed process 1853 (named) total-vm:812kB, anon-rss:71kB",
        "Out of memory: kill process 1853 (named) score 9937 or a child",
    ] {
        let twice = line(5947, reported) + &line(6001, reported);
        let short = judged(&[&twice]);
        assert!(sure(&short, Verdict::LayerMemory) > 0.6, "{reported}: {short:#?}");
    }
    for other in [
        "Out of memory is what a program may say of itself",
        "Memory cgroup out of memory: Killed process 77 (java) total-vm:812kB",
    ] {
        let other = judged(&[&line(5947, other)]);
        assert!(sure(&other, Verdict::LayerMemory) <= 0.0, "{other:#?}");
    }
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
fn who_waits_for_a_reply_of_another_service_is_not_the_one_that_holds_it_up() {
    let line = |waits: &str| {
        format!(
            "2026-03-31 13:01:46.933955 osd.22 192.0.2.7:6814/42154 172583 : cluster [WRN] slow request \
             60.530961 seconds old, received at 2026-03-31 13:01:06.402041: osd_op(client.324182.0:461 \
             1.e637a4b3 measure [write 0~4096] ondisk+write e2231) currently {waits}\n"
        )
    };
    let named = |waits: &str| judged(&[&line(waits)])[0].sentence.clone();
    assert!(named("waiting for subops from 23").contains("osd.23"));
    assert!(named("waiting for subops from [1]").contains("osd.1:"));
    assert!(named("waiting for rw locks").contains("osd.22"));
}

#[test]
fn medium_errors_from_before_a_refusal_are_the_drives_own() {
    let sense =
        |at: u32, key: &str| format!("[{at}.369096] sd 0:0:0:0: [sda] tag#1 Sense Key : {key} \n");
    let medium = |at: u32| {
        format!("[{at}.369195] blk_update_request: critical medium error, dev sda, sector 2641\n")
    };
    let before = sense(8772, "0x3") + &medium(8772) + &sense(9100, "0x7");
    assert!(sure(&judged(&[&before]), Verdict::DeviceMedia) > 0.6);
    // What a locked drive refuses, the kernel words as a medium error.
    let of_it = sense(9100, "0x7") + &medium(9100);
    assert!(sure(&judged(&[&of_it]), Verdict::DeviceMedia) <= 0.0);
}

/// `hdparm -t` of some disks, MB in 3 s.
fn streams(disks: &[(&str, u32)]) -> String {
    let one = |(disk, mb): &(&str, u32)| {
        let rate = f64::from(*mb) / 3.0;
        format!(
            "\n/dev/{disk}:\n Timing buffered disk reads: {mb} MB in  3.00 seconds =  {rate:.2} MB/sec\n"
        )
    };
    disks.iter().map(one).collect()
}

#[test]
fn a_disk_far_behind_its_peers_in_one_test_is_suspected() {
    let behind =
        |mb: u32| judged(&[&streams(&[("sda", 146), ("sdb", 154), ("sdc", mb), ("sdd", 161)])]);
    let slow = behind(30);
    assert!((0.3..0.6).contains(&sure(&slow, Verdict::PeerOutlier)), "{slow:#?}");
    assert!(sure(&behind(120), Verdict::PeerOutlier) <= 0.0);
    // Two slow ones of three are no outliers.
    let most = judged(&[&streams(&[("sda", 146), ("sdb", 30), ("sdc", 31)])]);
    assert!(sure(&most, Verdict::PeerOutlier) <= 0.0);
}

#[test]
fn an_array_that_is_slower_than_one_of_its_members_is_no_disk() {
    let of = |mb: u32| judged(&[&streams(&[("sda2", 148), ("sdb2", 147), ("md0", mb)])]);
    assert!(sure(&of(64), Verdict::LayerAbove) > 0.6);
    assert!(sure(&of(130), Verdict::LayerAbove) <= 0.0);
}

#[test]
fn a_thread_that_commits_and_waits_is_named_with_who_writes() {
    let iotop = |thread: &str, waits: &str| {
        format!(
            "Total DISK READ :       0.00 B/s | Total DISK WRITE :     221.22 K/s\n\
             Actual DISK READ:       0.00 B/s | Actual DISK WRITE:      20.90 M/s\n    \
             TID  PRIO  USER     DISK READ  DISK WRITE  SWAPIN     IO>    COMMAND\n    \
             876 be/3 root        0.00 B/s    0.00 B/s  0.00 % {waits} % [{thread}]\n  \
             21837 be/4 root        0.00 B/s  210.00 K/s  0.00 %  3.11 % shipper -c /etc/shipper.yml\n"
        )
    };
    let journal = judged(&[&iotop("jbd2/dm-0-8", "68.14")]);
    assert!(sure(&journal, Verdict::LoadFlush) > 0.6, "{journal:#?}");
    assert!(journal[0].sentence.contains("shipper"), "{}", journal[0].sentence);
    assert!(sure(&judged(&[&iotop("btrfs-transacti", "98.60")]), Verdict::LayerAbove) > 0.6);
    assert!(sure(&judged(&[&iotop("jbd2/dm-0-8", "21.00")]), Verdict::LoadFlush) <= 0.0);
    assert!(sure(&judged(&[&iotop("kworker/0:1", "98.00")]), Verdict::LoadFlush) <= 0.0);
}

#[test]
fn services_of_a_cluster_that_went_down_are_one_finding() {
    let down = |osd: u32| format!("[6476{osd}.112461] libceph: osd{osd} down\n");
    let findings = judged(&[&(down(56) + &down(54) + &down(50))]);
    assert_eq!(findings[0].verdict, Verdict::LayerRemote);
    assert_eq!(findings[0].subject.devices.len(), 0);
    assert!(findings[0].sentence.starts_with("osd50, osd54 and osd56"), "{findings:#?}");
}

#[test]
fn a_cluster_test_that_hardly_progresses_is_not_a_load() {
    let bench = |mean: &str, max: &str| {
        format!(
            "Maintaining 16 concurrent writes of 4194304 bytes to objects of size 4194304 for up to 60 \
             seconds or 0 objects\nTotal time run:         62.366\nTotal writes made:      102\n\
             Write size:             4194304\nAverage Latency(s):     {mean}\nMax latency(s):         {max}\n"
        )
    };
    assert!(sure(&judged(&[&bench("9.5217", "62.2725")]), Verdict::LayerRemote) > 0.6);
    assert!(sure(&judged(&[&bench("2.1217", "5.2725")]), Verdict::LayerRemote) <= 0.0);
}

#[test]
fn a_device_of_another_machine_that_is_slow_alone_is_not_this_machines() {
    let rows = |disk: &str, ms: &str, queue: &str| {
        let row = format!(
            "{disk}             0.00      0.00     0.00   0.00    0.00     0.00    1.00      0.01     0.00   \
             0.00 {ms}     8.00   {queue} 74.40\n"
        );
        format!(
            "Device            r/s     rMB/s   rrqm/s  %rrqm r_await rareq-sz     w/s     wMB/s   wrqm/s  \
             %wrqm w_await wareq-sz  aqu-sz  %util\n{row}{row}{row}"
        )
    };
    let remote = |disk: &str, ms: &str, queue: &str| {
        sure(&judged(&[&rows(disk, ms, queue)]), Verdict::LayerRemote)
    };
    assert!(remote("rbd4", "820.00", "0.82") > 0.6);
    assert!(remote("rbd4", "3.00", "0.01") <= 0.0);
    assert!(remote("sdb", "820.00", "0.82") <= 0.0);
}

#[test]
fn ways_to_flush_are_judged_by_the_middle_and_cleared_by_the_quickest() {
    let ways = |sync: &str| {
        format!(
            "Compare file sync methods using one 8kB write:\n        open_datasync    1002.075 ops/sec     998 \
             usecs/op\n        fdatasync        1062.147 ops/sec     941 usecs/op\n        fsync             \
             597.879 ops/sec    1673 usecs/op\n        {sync}\n"
        )
    };
    let odd = judged(&[&ways("open_sync          34.400 ops/sec   29070 usecs/op")]);
    assert_eq!(odd[0].verdict, Verdict::Healthy, "{odd:#?}");
    // Where only one of them reaches the medium, that is the one.
    let only = judged(&[&ways("fsync_writethrough   55.117 ops/sec   18143 usecs/op")]);
    assert_ne!(only[0].verdict, Verdict::Healthy, "{only:#?}");
}

#[test]
fn a_machine_that_reads_its_own_pages_again_is_short_of_memory() {
    let top = |wait: &str, free: &str, swapped: &str| {
        format!(
            "top - 10:41:41 up  1:57,  4 users,  load average: 12.59, 13.06, 11.32\nTasks:  96 total,   1 \
             running,  95 sleeping,   0 stopped,   0 zombie\nCpu(s):  0.3%us,  6.1%sy,  0.0%ni,  0.0%id, \
             {wait}%wa,  0.6%hi,  0.0%si,  0.0%st\nMem:    254252k total,   250132k used,   {free}k free,      \
             76k buffers\nSwap:   738948k total,   {swapped}k used,        0k free,     3460k cached\n"
        )
    };
    let short = judged(&[&top("92.9", "4120", "738948")]);
    assert!(sure(&short, Verdict::LayerMemory) > 0.8, "{short:#?}");
    for other in
        [top("92.9", "104120", "738948"), top("92.9", "4120", "948"), top("12.9", "4120", "738948")]
    {
        assert!(sure(&judged(&[&other]), Verdict::LayerMemory) <= 0.0, "{other}");
    }
}

#[test]
fn reads_that_were_alone_say_of_which_class_they_would_be_healthy() {
    let mark = |read: u32| {
        format!(
            "CrystalDiskMark 6.0.0 x64 (C) 2007-2017 hiyohiyo\n   Sequential Read (Q= 32,T= 1) :    91.559 \
             MB/s\n  Random Read 4KiB (Q=  1,T= 1) :     {:.3} MB/s [   {read}.0 IOPS]\n Random Write 4KiB (Q=  \
             1,T= 1) :     2.260 MB/s [    551.8 IOPS]\n",
            f64::from(read) * 4096.0 / 1e6
        )
    };
    let reported = |read: u32| judged(&[&mark(read)])[0].sentence.clone();
    assert!(reported(1293).contains("is normal for a memory card or eMMC"), "{}", reported(1293));
    assert!(reported(120).contains("is normal for a spinning disk"), "{}", reported(120));
    assert!(reported(15).contains("longer than any healthy disk"), "{}", reported(15));
}

#[test]
fn a_silence_shorter_than_every_wait_is_not_a_hang() {
    let row = |writes: &str, ms: &str| {
        format!(
            "Device:         rrqm/s   wrqm/s     r/s     w/s    rkB/s    wkB/s avgrq-sz avgqu-sz   await r_await \
             w_await  svctm  %util\nvdb               0.00     2.00    0.00 {writes}     0.00  9400.00  1058.06   \
             123.11 {ms}    0.00 {ms}  32.26 100.00\n\n"
        )
    };
    let silent = row("0.00", "0.00").replace("9400.00  1058.06", "0.00     0.00");
    let hangs = |ms: &str| {
        let busy = row("15.00", ms);
        let text = format!("$ iostat -d -x 2\n{busy}{busy}{silent}{busy}");
        sure(&judged(&[&text]), Verdict::DeviceHang)
    };
    assert!(hangs("80.30") > 0.6);
    assert!(hangs("8431.26") <= 0.0);
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

#[test]
fn a_long_queue_before_a_disk_that_rests_is_a_batch_and_three_slow_requests_are_no_slow_disk() {
    let row = |reads: f64, writes: f64, queue: f64, wait: f64, busy: f64| {
        let (read_kb, write_kb) = (reads * 400.0, writes * 400.0);
        format!(
            "Device r/s w/s rkB/s wkB/s rrqm/s wrqm/s r_await w_await aqu-sz rareq-sz wareq-sz \
             svctm %util\nsdq {reads} {writes} {read_kb} {write_kb} 0 0 {wait} {wait} {queue} 400 \
             400 {} {busy}\n\n",
            10.0 * busy / (reads + writes)
        )
    };
    let batch = judged(&[&row(0.0, 60.0, 14.0, 233.0, 36.0)]);
    assert!(sure(&batch, Verdict::LoadBurst) > 0.6, "{batch:#?}");
    assert!(sure(&batch, Verdict::LoadSaturated) < 0.6, "{batch:#?}");
    // Without a pause it is full; reads wait for their readers, so the busy time may be wrong.
    let full = judged(&[&row(0.0, 160.0, 38.0, 233.0, 99.0)]);
    assert!(sure(&full, Verdict::LoadBurst) < 0.1, "{full:#?}");
    assert!(sure(&full, Verdict::LoadSaturated) > 0.6, "{full:#?}");
    let reads = judged(&[&row(60.0, 0.0, 14.0, 233.0, 36.0)]);
    assert!(sure(&reads, Verdict::LoadBurst) < 0.1, "{reads:#?}");

    let sar = |tps: f64, wait: f64, busy: f64| {
        let at = |second: u32| {
            format!(
                "02:35:{second:02} PM       DEV       tps  rd_sec/s  wr_sec/s  avgrq-sz  avgqu-sz     \
                 await     svctm     %util\n"
            )
        };
        format!(
            "{}02:35:13 PM  dev8-16  {tps}  0.00  428.00  285.33  0.26  {wait}  {wait}  {busy}\n\n\
             {}02:35:15 PM  dev8-16  70.00  0.00  560.00  8.00  0.01  0.20  0.10  0.70\n\n",
            at(11),
            at(13)
        )
    };
    let three = judged(&[&sar(1.5, 174.67, 26.2)]);
    assert!(sure(&three, Verdict::DeviceSlow) < 0.6, "{three:#?}");
    let many = judged(&[&sar(5.5, 174.67, 96.0)]);
    assert!(sure(&many, Verdict::DeviceSlow) > 0.6, "{many:#?}");
}

#[test]
fn a_test_of_memory_or_of_calls_is_not_one_of_a_disk() {
    let dd = |command: &str, bytes: u64, blocks: u64, seconds: f64| {
        let rate = bytes as f64 / seconds / 1e6;
        format!(
            "$ {command}\n{blocks}+0 records in\n{blocks}+0 records out\n{bytes} bytes copied, \
             {seconds} s, {rate:.1} MB/s\n"
        )
    };
    let million = |options: &str, seconds| {
        let command = format!("dd if=/dev/zero of=/srv/a bs=1M count=400{options}");
        dd(&command, 419_430_400, 400, seconds)
    };
    let sure_of = |texts: &[&str]| sure(&judged(texts), Verdict::ReportInconsistent);
    // Into memory, and the same with the data on the medium.
    let both = million("", 0.4) + &million(" conv=fdatasync", 31.0);
    assert!(sure_of(&[&both]) >= 0.6);
    // Twice as fast may be what the memory holds; alone nothing tells; neither do two inputs.
    assert!(sure_of(&[&(million("", 15.0) + &million(" conv=fdatasync", 31.0))]) < 0.1);
    assert!(sure_of(&[&million("", 0.4)]) < 0.1);
    assert!(sure_of(&[&million("", 0.4), &million(" conv=fdatasync", 31.0)]) < 0.1);
    // The sync behind it counts, by the time of the shell.
    let timed = million("", 0.4).replacen("$ dd", "$ time dd", 1);
    let synced = timed.replacen("count=400", "count=400; sync", 1) + "\nreal\t0m31.4s\n";
    assert!(sure_of(&[&synced]) >= 0.6, "{synced}");
    assert!(sure_of(&[&(timed + "\nreal\t0m31.4s\n")]) < 0.1);

    // Blocks of 512 bytes at 4 us each, unless a test beside it is slow for another reason.
    let small = |path: &str, us: f64| {
        let command = format!("dd if=/dev/zero of={path} count=800000");
        dd(&command, 409_600_000, 800_000, us * 0.8)
    };
    assert!(sure_of(&[&small("/srv/a", 4.0)]) >= 0.6);
    assert!(sure_of(&[&small("/srv/a", 300.0)]) < 0.1);
    let beside = small("/srv/a", 4.0) + &million("", 90.0);
    assert!(sure_of(&[&beside]) < 0.1, "{beside}");
}

#[test]
fn background_work_that_stands_still_or_is_past_its_end_competes_with_nothing() {
    let mdstat = |at: u64, speed: u64| {
        format!(
            "Personalities : [raid6] [raid5] [raid4]\nmd7 : active raid5 sdc1[0] sdd1[1] sde1[3]\n      \
             7813770240 blocks super 1.2 level 5, 512k chunk, algorithm 2 [3/3] [UUU]\n      \
             [==>..................]  reshape = 12.4% ({at}/3906885120) finish=900.1min \
             speed={speed}K/sec\n\nunused devices: <none>\n"
        )
    };
    let stuck = judged(&[&mdstat(484_453_123, 9120), &mdstat(484_453_123, 31)]);
    assert!(sure(&stuck, Verdict::LayerAbove) > 0.6, "{stuck:#?}");
    assert!(sure(&stuck, Verdict::LoadRebuild) <= 0.0, "{stuck:#?}");
    // It goes on, and the same text pasted twice.
    for (at, speed) in [(484_461_315, 9118), (484_453_123, 9120)] {
        let goes_on = judged(&[&mdstat(484_453_123, 9120), &mdstat(at, speed)]);
        assert!(sure(&goes_on, Verdict::LayerAbove) <= 0.0, "{goes_on:#?}");
        assert!(sure(&goes_on, Verdict::LoadRebuild) > 0.6, "{goes_on:#?}");
    }
    let scrub = |left: &str| {
        format!(
            "UUID:             5f021a03-1111-4222-8333-444455556666\nScrub started:    Sat Mar  7 \
             01:10:09 2026\nStatus:           running\nDuration:         4:10:12\nTime left:        \
             {left}\nTotal to scrub:   1.20TiB\nBytes scrubbed:   1.21TiB\nRate:             \
             84.10MiB/s\nError summary:    no errors found\n"
        )
    };
    let absurd = judged(&[&scrub("30124511:10:02")]);
    assert!(sure(&absurd, Verdict::ReportInconsistent) >= 0.6, "{absurd:#?}");
    assert!(sure(&absurd, Verdict::LoadRebuild) <= 0.0, "{absurd:#?}");
    let long = judged(&[&scrub("31:10:02")]);
    assert!(sure(&long, Verdict::ReportInconsistent) <= 0.0, "{long:#?}");
    assert!(sure(&long, Verdict::LoadRebuild) > 0.6, "{long:#?}");
}

#[test]
fn disks_of_one_virtual_machine_that_are_slow_alike_are_not_accused_each() {
    let row = |disk: &str, writes: f64, wait_ms: f64, busy: f64| {
        let size_kb = writes * 560.0;
        format!(
            "{disk}   0.00 1.00 0.00 {writes:.2} 0.00 {size_kb:.2} 1120.00 {:.2} {wait_ms:.2} 0.00 \
             {wait_ms:.2} {:.2} {busy:.2}\n",
            writes * wait_ms / 1e3,
            busy * 10.0 / writes
        )
    };
    let heading = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await \
                   svctm %util\n";
    let listing = |first: &str, wait_ms: f64, busy: f64| {
        let report = |writes: f64| {
            heading.to_string()
                + &row(&format!("{first}a"), writes, wait_ms, busy)
                + &row(&format!("{first}b"), 26.0, 4100.0, 100.0)
        };
        format!("{}\n{}\n{}", report(24.0), report(25.0), report(23.0))
    };
    let alike = judged(&[&listing("vd", 4300.0, 100.0)]);
    assert!(sure(&alike, Verdict::DeviceSlow) < 0.6, "{alike:#?}");
    let one = judged(&[&listing("vd", 9.0, 12.0)]);
    assert!(sure(&one, Verdict::DeviceSlow) > 0.6, "{one:#?}");
}

#[test]
fn a_machine_that_reads_its_own_pages_again_with_swap_and_without() {
    let top = |free: u32, cached: u32| {
        format!(
            "top - 10:01:02 up 3 days,  1:02,  2 users,  load average: 9.11, 7.02, 3.40\nTasks: 140 \
             total,   1 running, 139 sleeping,   0 stopped,   0 zombie\nCpu(s):  2.0%us,  5.0%sy,  \
             0.0%ni,  1.0%id, 92.0%wa,  0.0%hi,  0.0%si,  0.0%st\nMem:   2048000k total,  1990000k \
             used,   {free}k free,      210k buffers\nSwap:        0k total,        0k used,        0k \
             free,    {cached}k cached\n"
        )
    };
    let vmstat = |swpd: u32, cache: u32, si: u32, bi: u32, bo: u32| {
        let row = format!(
            " 0 14 {swpd}   9100    200  {cache}  {si}  {si} {bi} {bo} 1200 2400  1 9  0 90\n"
        );
        format!(
            "procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu----\n r  b   \
             swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n{}",
            row.repeat(6)
        )
    };
    let says = |texts: &[String]| {
        let text = texts.concat();
        sure(&judged(&[&text]), Verdict::LayerMemory)
    };
    let no_swap = vmstat(0, 61_000, 0, 44_000, 12);
    assert!(says(&[top(21_000, 61_000), no_swap.clone()]) > 0.6);
    // A cache that holds something, and a program that writes as much as it reads.
    assert!(says(&[top(21_000, 700_000), no_swap]) < 0.3);
    assert!(says(&[top(21_000, 61_000), vmstat(0, 61_000, 0, 44_000, 40_000)]) < 0.3);
    assert!(says(&[vmstat(190_000, 31_000, 700, 1500, 900)]) > 0.6);
    // Swapped out long ago, and reads that are of files.
    assert!(says(&[vmstat(190_000, 31_000, 20, 15_000, 90)]) < 0.3);
    assert!(says(&[vmstat(9000, 31_000, 700, 1500, 900)]) < 0.3);
}

#[test]
fn processors_without_time_left_are_told_from_those_that_wait_for_io() {
    let vmstat = |runnable: u32, moved: u32, shares: &str| {
        let head = "procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu----\n r  \
                    b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n";
        let idle =
            " 0  0      0  80200   3100 161000    0    0     0    12  300  400  3  2 95  0\n";
        let busy = format!(
            " {runnable}  1      0   2400   3100 241000    0    0  {moved} 900 700 60 {shares}\n"
        );
        format!("{head}{}{}", idle.repeat(5), busy.repeat(4))
    };
    let says = |text: String| {
        let findings = judged(&[&text]);
        (sure(&findings, Verdict::LayerCpu), findings)
    };
    let (used_up, findings) = says(vmstat(9, 24_000, "18 78  0  4"));
    assert!(used_up > 0.6, "{findings:#?}");
    for shares in ["8 20  0 72", "18 40 40  2"] {
        let (waits, findings) = says(vmstat(9, 24_000, shares));
        assert!(waits <= 0.0, "{findings:#?}");
    }
    // One program at work is no crowd; several that the kernel keeps busy are, whatever moves.
    assert!(says(vmstat(1, 24_000, "18 78  0  4")).0 <= 0.0);
    assert!(says(vmstat(9, 2000, "18 78  0  4")).0 > 0.6);
}

#[test]
fn programs_that_take_what_the_disks_move_and_wait_for_it() {
    let iotop = |read: f64, share: f64, command: &str| {
        format!(
            "Total DISK READ :      {:.2} M/s | Total DISK WRITE :      4.00 K/s\nActual DISK READ:      \
             {:.2} M/s | Actual DISK WRITE:      0.00 B/s\n  TID  PRIO  USER     DISK READ  DISK WRITE  \
             SWAPIN     IO>    COMMAND\n 4711 be/4 root      {read:.2} M/s    0.00 B/s  0.00 % {share:.2} \
             % {command}\n",
            read * 1.1,
            read * 1.1
        )
    };
    let says = |text: &str| sure(&judged(&[text]), Verdict::LoadSaturated);
    assert!(says(&iotop(96.0, 97.1, "tar cf /backup/all.tar /home")) > 0.6);
    let little = says(&iotop(5.0, 97.1, "find / -xdev"));
    assert!((0.3..0.6).contains(&little), "{little}");
    assert!(says(&iotop(96.0, 31.0, "tar cf /backup/all.tar /home")) <= 0.0);
    assert!(says(&iotop(96.0, 97.1, "[txg_sync]")) <= 0.0);
}

#[test]
fn one_disk_that_did_better_in_the_same_test() {
    let test = |seconds: f64| {
        let rate = 210.0 / seconds;
        format!(
            "/dev/sdq:\n Timing buffered disk reads:  210 MB in  {seconds:.2} seconds =  {rate:.2} \
             MB/sec\n\n"
        )
    };
    let says = |seconds: &[f64]| {
        let text: String = seconds.iter().map(|one| test(*one)).collect();
        sure(&judged(&[&text]), Verdict::LayerAbove)
    };
    assert!(says(&[7.1, 3.01, 3.02]) > 0.6);
    assert!(says(&[3.4, 3.01, 3.02]) <= 0.0);
    // It varies by itself, and a cache.
    assert!(says(&[7.1, 5.0, 3.6, 3.0]) <= 0.0);
    assert!(says(&[30.0, 3.01]) <= 0.0);
}

#[test]
fn a_drive_formatted_with_protection_is_not_a_drive_that_fails() {
    let log = |what: &str| {
        format!(
            "Mar  3 18:52:01 box kernel: print_req_error: {what}, dev sdk, sector 5860533160\nMar  3 \
             18:52:01 box kernel: print_req_error: {what}, dev sdk, sector 5860533160\n"
        )
    };
    let protection = judged(&[&log("protection error")]);
    assert!(sure(&protection, Verdict::LayerAbove) > 0.6, "{protection:#?}");
    assert!(sure(&protection, Verdict::DeviceMedia) <= 0.0, "{protection:#?}");
    let medium = judged(&[&log("critical medium error")]);
    assert!(sure(&medium, Verdict::LayerAbove) <= 0.0, "{medium:#?}");
}

#[test]
fn a_disk_on_usb_that_came_up_at_full_speed() {
    let log = |speed: &str, storage: &str| {
        format!(
            "[ 4101.100000] usb 2-3: new {speed} USB device number 9 using ehci-pci\n[ 4101.200000] usb \
             2-3: not running at top speed; connect to a high speed hub\n[ 4101.300000] {storage}\n[ \
             4102.400000] sd 7:0:0:0: [sdf] Attached SCSI removable disk\n"
        )
    };
    let disk = "usb-storage 2-3:1.0: USB Mass Storage device detected";
    let slow = judged(&[&log("full-speed", disk)]);
    assert!(sure(&slow, Verdict::DevicePath) > 0.6, "{slow:#?}");
    let printer = judged(&[&log("full-speed", "usblp 2-3:1.0: usblp0: USB Bidirectional printer")]);
    assert!(sure(&printer, Verdict::DevicePath) <= 0.0, "{printer:#?}");
    let quick = log("high-speed", disk).replace("not running at top speed", "configured");
    assert!(sure(&judged(&[&quick]), Verdict::DevicePath) <= 0.0);
}

#[test]
fn writes_that_a_client_of_a_file_server_holds_back_among_many_reads() {
    let report = |queue: f64| {
        format!(
            "filer:/export/b mounted on /mnt/b:\n\n           ops/s       rpc bklog\n         120.000 \
             0.000\n\nread:              ops/s            kB/s           kB/op         retrans    avg RTT \
             (ms)    avg exe (ms)  avg queue (ms)          errors\n                 118.000         472.000 \
             4.000        0 (0.0%)           1.100           1.200           0.080        0 (0.0%)\nwrite: \
             ops/s            kB/s           kB/op         retrans    avg RTT (ms)    avg exe (ms)  avg queue \
             (ms)          errors\n                   2.000        1900.000         950.000        0 (0.0%) \
             21.000         {:.3}         {queue:.3}        0 (0.0%)\n",
            queue + 21.5
        )
    };
    let says = |text: &str| sure(&judged(&[text]), Verdict::LayerAbove);
    let since_mount = says(&report(640.0));
    assert!((0.3..0.6).contains(&since_mount), "{since_mount}");
    assert!(says(&[report(1.0), report(640.0)].concat()) > 0.6);
    assert!(says(&[report(1.0), report(12.0)].concat()) <= 0.0);
}

#[test]
fn a_flash_drive_that_counts_nothing_is_seen_so() {
    let log = |errors: u32| {
        format!(
            "Smart Log for NVME device:nvme0n1 namespace-id:ffffffff\ncritical_warning : 0\n\
             available_spare : 100%\navailable_spare_threshold : 10%\npercentage_used : 2%\n\
             media_errors : {errors}\n"
        )
    };
    let seen = |errors: u32| {
        let findings = judged(&[&log(errors)]);
        let mut seen = findings.iter().flat_map(|finding| &finding.seen);
        seen.any(|one| one.would_mean.starts_with("no media error"))
    };
    assert!(seen(0));
    assert!(!seen(7));
}

#[test]
fn reads_that_were_alone_are_those_of_one_class() {
    let ioping = |mean: &str, longest: &str| {
        format!(
            "--- /dev/sdz1 (device 240.0 GiB) ioping statistics ---\n440 requests completed in 3.0 s, 146 \
             iops, 587.0 KiB/s\nmin/avg/max/mdev = 90 us / {mean} / {longest} / 6.1 ms\n"
        )
    };
    let spins = judged(&[&ioping("6.8 ms", "70.2 ms")]);
    assert!((0.4..0.6).contains(&sure(&spins, Verdict::Healthy)), "{spins:#?}");
    let slow = judged(&[&ioping("96.8 ms", "700.2 ms")]);
    assert!(sure(&slow, Verdict::Healthy) <= 0.0, "{slow:#?}");
}

#[test]
fn large_requests_are_counted_in_bytes_where_a_deeper_queue_brings_more() {
    let heading = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await \
                   svctm %util\n";
    let row = |writes: f64, per_s_kb: f64, queue: f64| {
        let wait_ms = queue / writes * 1e3;
        format!(
            "{heading}sdq 0.00 9.00 0.00 {writes:.2} 0.00 {per_s_kb:.2} {:.2} {queue:.2} {wait_ms:.2} 0.00 \
             {wait_ms:.2} {:.2} 100.00\n\n",
            per_s_kb / writes * 2.0,
            1e3 / writes
        )
    };
    let says = |rates: [f64; 4]| {
        let rows = [(76.0, 70.0), (95.0, 96.0), (110.0, 118.0), (120.0, 140.0)];
        let text: String = rows.iter().zip(rates).map(|((w, n), kb)| row(*w, kb, *n)).collect();
        sure(&judged(&[&text]), Verdict::LoadSaturated)
    };
    let full = says([81_000.0, 80_000.0, 82_000.0, 80_500.0]);
    let grows = says([41_000.0, 55_000.0, 68_000.0, 82_000.0]);
    assert!(full > 1.3 * grows, "{full} {grows}");
}

#[test]
fn disks_that_stand_still_together_are_not_single_ones() {
    let row = |disk: &str, writes: f64, queue: f64, wait_ms: f64| {
        format!(
            "{disk} 0.00 0.00 0.00 {writes:.2} 0.00 {:.2} 16.00 {queue:.2} {wait_ms:.2} 0.00 \
             {wait_ms:.2} 80.00 100.00\n",
            writes * 8.0
        )
    };
    let heading = "Device:  rrqm/s wrqm/s r/s w/s rkB/s wkB/s avgrq-sz avgqu-sz await r_await w_await \
                   svctm %util\n";
    let says = |queue: f64, other: &str, writes: f64, wait_ms: f64| {
        let of_other = row(other, writes, writes * wait_ms / 1e3, wait_ms);
        let text = format!("{heading}{}{of_other}", row("sdp", 0.0, queue, 0.0));
        sure(&judged(&[&text]), Verdict::PeerShared)
    };
    assert!(says(190.0, "sdq", 12.0, 2100.0) > 0.2);
    // The other is quick, of another kind, or hardly anything waits.
    assert!(says(190.0, "sdq", 12.0, 9.0) <= 0.0);
    assert!(says(190.0, "vdq", 12.0, 2100.0) <= 0.0);
    assert!(says(2.0, "sdq", 12.0, 2100.0) <= 0.0);
}

#[test]
fn the_rate_that_svctm_and_util_give_where_no_rate_was_copied() {
    let row = |queue: f64, svctm: f64| {
        format!(
            "Device r_await w_await aqu-sz rareq-sz wareq-sz svctm %util\nnvme7n1 0.09 0.07 {queue:.2} \
             64.00 64.00 {svctm:.2} 96.50\n\n"
        )
    };
    let idle = judged(&[&row(0.07, 1.10).repeat(3)]);
    let full = judged(&[&row(9.80, 0.11).repeat(3)]);
    for findings in [&idle, &full] {
        let nothing = findings.iter().any(|known| known.sentence.contains("without completions"));
        assert!(!nothing, "{findings:#?}");
    }
    assert!(sure(&idle, Verdict::LoadSaturated) <= 0.0, "{idle:#?}");
    assert!(sure(&idle, Verdict::DeviceSlow) <= 0.0, "{idle:#?}");
}
