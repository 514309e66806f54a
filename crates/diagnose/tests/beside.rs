//! Faults that several members share, guests and their hosts, and what the host's own figures show:
//! accusations and near misses, as text.

use iowhy_diagnose::{Options, judge};
use iowhy_model::{Finding, Recording, Verdict};

fn judged(text: &str) -> Vec<Finding> {
    let mut recording = Recording::for_a_verdict();
    iowhy_read::scan("0.txt", &mut text.as_bytes(), None, &mut recording).unwrap();
    judge(&recording, &Options::default())
}

/// The first answer, if it stands.
fn first(text: &str) -> Option<Verdict> {
    judged(text).first().filter(|finding| finding.stands()).map(|finding| finding.verdict)
}

/// How sure it is of an accusation; 0 if it is not made.
fn sure(text: &str, verdict: Verdict) -> f64 {
    let all = judged(text);
    let of = all.iter().filter(|finding| finding.verdict == verdict);
    of.map(|finding| finding.confidence()).fold(0.0, f64::max)
}

fn mdstat(members: &str, state: &str, work: &str) -> String {
    format!(
        "$ cat /proc/mdstat\nmd7 : active raid6 {members}\n      8790400000 blocks super 1.2 level 6, \
         512k chunk, algorithm 2 {state}\n{work}\n"
    )
}

const REBUILDS: &str = "      [>....................]  recovery =  4.1% (60101632/1465066666) \
                        finish=201.4min speed=116200K/sec\n";

#[test]
fn members_given_up_together_are_not_the_rebuilds_and_one_is() {
    let before =
        mdstat("sdf1[6] sde1[4] sdd1[3] sdc1[2] sdb1[1] sda1[0]", "[6/5] [UUUUU_]", REBUILDS);
    let after =
        mdstat("sdf1[6](F) sde1[4](F) sdd1[3] sdc1[2] sdb1[1] sda1[0]", "[6/4] [UUUU__]", "");
    let both = format!("{before}\nfive minutes later\n\n{after}");
    assert_eq!(first(&both), Some(Verdict::DevicePath), "{:#?}", judged(&both));
    assert!(sure(&both, Verdict::LoadRebuild) < 0.6);
    // Near miss: one member was given up long ago, and its spare is being filled.
    let one =
        mdstat("sdf1[6] sde1[4](F) sdd1[3] sdc1[2] sdb1[1] sda1[0]", "[6/5] [UUUU_U]", REBUILDS);
    assert_eq!(first(&one), Some(Verdict::LoadRebuild), "{:#?}", judged(&one));
    assert!(sure(&format!("{one}\n{one}"), Verdict::DevicePath) < 0.6);
}

fn pools(rows: [&str; 4]) -> String {
    let pool = |name: &str, scan: &str, two: &[&str]| {
        format!(
            "  pool: {name}\n state: ONLINE\n  scan: {scan}\nconfig:\n\n\tNAME        STATE     READ WRITE \
             CKSUM\n\t{name}       ONLINE       0     0     0\n\t  mirror-0  ONLINE       0     0     0\n\
             \t    {}\n\t    {}\n\nerrors: No known data errors\n\n",
            two[0], two[1]
        )
    };
    let scan = "scrub in progress since Sun Nov  1 02:00:01 2026\n\t1.20T scanned at 180M/s, 1.10T issued \
                at 160M/s, 3.00T total\n\t0B repaired, 36.67% done, 03:27:00 to go";
    pool("left", scan, &rows[..2])
        + &pool("right", "scrub repaired 0B in 05:10:00 with 0 errors", &rows[2..])
}

#[test]
fn data_that_changes_on_the_way_to_two_pools_comes_before_their_scrub() {
    let (well, wrong) = ("ONLINE       0     0     0", "ONLINE       0     0     2");
    let rows = |all: [&str; 4]| {
        let names = ["sda", "sdb", "sdc", "sdd"];
        let named: Vec<String> =
            names.iter().zip(all).map(|(name, row)| format!("{name}     {row}")).collect();
        pools([&named[0], &named[1], &named[2], &named[3]])
    };
    let shared = rows([wrong, well, wrong, wrong]);
    assert_eq!(first(&shared), Some(Verdict::DevicePath), "{:#?}", judged(&shared));
    // Near misses: one member; and one of whose reads fail too.
    let one = rows([wrong, well, well, well]);
    assert_eq!(first(&one), Some(Verdict::LoadRebuild), "{:#?}", judged(&one));
    let failing = rows([wrong, well, wrong, "ONLINE       7     0     2"]);
    assert!(sure(&failing, Verdict::DevicePath) < 0.6, "{:#?}", judged(&failing));
}

#[test]
fn a_port_that_fell_back_to_its_slowest_mode_comes_before_the_scrub() {
    let log = |mode: &str| {
        let times = [5210.1, 5214.2, 5218.3, 5222.4];
        let line = |at: f64| {
            format!(
                "[ {at:.6}] ata5: soft resetting link\n[ {:.6}] ata5.01: configured for {mode}\n[ {:.6}] \
                 ata5: EH complete\n",
                at + 0.3,
                at + 0.31
            )
        };
        let scan = "  pool: left\n state: ONLINE\n  scan: scrub in progress since Sun Nov  1 02:00:01 \
                    2026\n\t1.20T scanned at 1.1M/s, 1.10T issued at 1.0M/s, 3.00T total\n\t0B repaired, \
                    36.67% done, 30 days 03:27:00 to go\n\n$ dmesg\n";
        scan.to_string() + &times.map(line).concat()
    };
    assert_eq!(first(&log("PIO0")), Some(Verdict::DevicePath), "{:#?}", judged(&log("PIO0")));
    assert!(sure(&log("UDMA/133"), Verdict::DevicePath) < 0.6);
}

#[test]
fn a_drive_that_fails_its_own_test_and_leaves_is_no_cable() {
    let gone = "[  812.100200] sd 3:0:0:0: [sdc] CDB: Read(10): 28 00 01 02 03 04 00 00 08 00\n\
                [  812.100300] sd 3:0:0:0: [sdc] Result: hostbyte=DID_BAD_TARGET driverbyte=DRIVER_OK\n";
    let tested = |status: &str| {
        format!(
            "{gone}\n=== START OF READ SMART DATA SECTION ===\nSMART Self-test log structure revision \
             number 1\nNum  Test_Description    Status                  Remaining  LifeTime(hours)  \
             LBA_of_first_error\n# 1  Extended offline    {status}\n"
        )
    };
    let failed = tested("Completed: read failure       40%      2310         912345678");
    assert_eq!(first(&failed), Some(Verdict::DeviceMedia), "{:#?}", judged(&failed));
    let passed = tested("Completed without error       00%      2310         -");
    assert!(sure(&passed, Verdict::DeviceMedia) < 0.3, "{:#?}", judged(&passed));
}

#[test]
fn the_aborted_commands_of_a_guest_are_its_hosts() {
    let lines = |at: u32| {
        format!(
            "[ 90{at}.058583] mptscsih: ioc0: attempting task abort! (sc=00000000aa0000{at})\n\
             [ 90{at}.058590] sd 2:0:1:0: [sdb] tag#{at} CDB: Write(10) 2a 00 00 11 22 33 00 00 08 00\n\
             [ 90{at}.226567] mptscsih: ioc0: task abort: SUCCESS (rv=2002) (sc=00000000aa0000{at})\n"
        )
    };
    let log = lines(11) + &lines(12) + &lines(13);
    let of_guest = format!("the VM is on VMware, its datastore on a filer\n\n$ dmesg\n{log}");
    assert_eq!(first(&of_guest), Some(Verdict::LayerRemote), "{:#?}", judged(&of_guest));
    assert!(sure(&of_guest, Verdict::DeviceStall) < 0.6);
    // Near misses: a machine of its own, and a disk that the guest owns.
    let of_host = format!("the server has two disks\n\n$ dmesg\n{log}");
    let owned = format!("VM on ESXi, the disk by passthrough\n\n$ dmesg\n{log}");
    assert!([of_host, owned].iter().all(|text| sure(text, Verdict::LayerRemote) <= 0.0));
}

#[test]
fn slow_streams_of_virtual_disks_are_their_hosts() {
    let test = |disk: &str, mb: &[u32]| {
        let one = |mb: &u32| {
            format!(
                "/dev/{disk}:\n Timing cached reads:   5200 MB in  2.00 seconds = 2600.00 MB/sec\n \
                 Timing buffered disk reads:  {} MB in  3.00 seconds = {mb}.00 MB/sec\n\n",
                3 * mb
            )
        };
        mb.iter().map(one).collect::<String>()
    };
    let slow = test("vda", &[2, 11, 4]);
    assert_eq!(first(&slow), Some(Verdict::LayerRemote), "{:#?}", judged(&slow));
    assert!(sure(&slow, Verdict::DeviceSlow) < 0.6);
    assert!(sure(&test("vda", &[80, 95]), Verdict::LayerRemote) <= 0.0);
    assert!(sure(&test("sda", &[12]), Verdict::LayerRemote) <= 0.0);
    let guest = format!("guest of Hyper-V\n\n{}", test("sda", &[12]));
    assert_eq!(first(&guest), Some(Verdict::LayerRemote), "{:#?}", judged(&guest));
}

#[test]
fn disks_that_are_equally_slow_share_something() {
    let test = |disks: &[(&str, u32)]| {
        let one = |(disk, mb): &(&str, u32)| {
            let all = 3 * mb;
            format!(
                "/dev/{disk}:\n Timing buffered disk reads: {all} MB in  3.00 seconds = {mb}.00 MB/sec\n\n"
            )
        };
        disks.iter().map(one).collect::<String>()
    };
    let shared = test(&[("sda", 120), ("sdb", 3), ("sdc", 140), ("sdd", 4)]);
    assert!(sure(&shared, Verdict::DevicePath) > 0.3, "{:#?}", judged(&shared));
    let one = test(&[("sda", 120), ("sdb", 3), ("sdc", 140), ("sdd", 95)]);
    let unlike = test(&[("sda", 120), ("sdb", 1), ("sdc", 140), ("sdd", 4)]);
    assert!([one, unlike].iter().all(|text| sure(text, Verdict::DevicePath) <= 0.0));
}

const BANNER: &str = "procs -----------memory---------- ---swap-- -----io---- -system-- ----cpu----\n r  \
                      b   swpd   free   buff  cache   si   so    bi    bo   in   cs us sy id wa\n";

/// Rows of vmstat: run queue, blocked, read and written KiB/s, shares of the CPUs.
fn vmstat(rows: &[[u32; 8]]) -> String {
    let row = |[r, b, bi, bo, us, sy, id, wa]: &[u32; 8]| {
        format!(
            " {r}  {b}      0 812000  41000 905000    0    0 {bi:5} {bo:5}  900 1200 {us:2} {sy:2} {id:2} {wa:2}\n"
        )
    };
    let since_boot = [0, 0, 20, 30, 3, 1, 95, 1];
    BANNER.to_string() + &row(&since_boot) + &rows.iter().map(row).collect::<String>()
}

#[test]
fn write_back_in_bursts_and_a_load_without_pause() {
    let (busy, quiet) = ([0, 2, 40, 24_000, 5, 4, 11, 80], [0, 0, 40, 0, 4, 2, 94, 0]);
    let bursts = vmstat(&[busy, busy, quiet, busy, busy, quiet, busy, busy, quiet]);
    assert_eq!(first(&bursts), Some(Verdict::LoadBurst), "{:#?}", judged(&bursts));
    let with = |written: u32| [0, 2, 40, written, 5, 4, 11, 80];
    let steady = vmstat(&[with(19_000), with(24_000), with(29_000)].repeat(3));
    assert_eq!(first(&steady), Some(Verdict::LoadSaturated), "{:#?}", judged(&steady));
    // One rate that is never exceeded may be a limit, or a slow disk.
    assert_eq!(first(&vmstat(&[busy; 9])), None);
    // Near misses: seeks, which move little; and as much without anybody who waits.
    let seeks = vmstat(&[[0, 1, 2100, 0, 4, 2, 48, 46]; 9]);
    let quick = vmstat(&[[1, 0, 40, 24_000, 5, 4, 90, 1]; 9]);
    for text in [seeks, quick] {
        let most = sure(&text, Verdict::LoadSaturated).max(sure(&text, Verdict::LoadBurst));
        assert!(most <= 0.0, "{:#?}", judged(&text));
    }
}

#[test]
fn tasks_that_wait_while_nothing_moves_are_told() {
    let stuck = [0, 3, 0, 0, 1, 0, 74, 25];
    let says = |rows: &[[u32; 8]]| {
        let all = judged(&vmstat(rows));
        let seen = all.iter().flat_map(|finding| &finding.seen);
        seen.filter(|known| known.would_mean.contains("do not complete")).count()
    };
    assert_eq!(says(&[stuck; 8]), 1);
    assert_eq!(says(&[[0, 0, 0, 0, 1, 0, 99, 0]; 8]), 0);
}

#[test]
fn a_kernel_that_takes_the_cpus_is_named_and_programs_that_compute_are_not() {
    let full = |us: u32, sy: u32| [4, 1, 2000, 0, us, sy, 100 - us - sy, 0];
    let idle = [0, 0, 0, 10, 2, 1, 97, 0];
    let rows = |us, sy| {
        let one = full(us, sy);
        vmstat(&[idle, one, idle, one, idle, one, idle, one, idle, one])
    };
    assert_eq!(first(&rows(2, 95)), Some(Verdict::LayerCpu), "{:#?}", judged(&rows(2, 95)));
    assert!(sure(&rows(95, 2), Verdict::LayerCpu) <= 0.0);
    let mpstat = |sys: f64, idle: f64| {
        let row = |which: &str, at: u32| {
            let usr = 100.0 - sys - idle;
            format!(
                "10:11:{at} AM  {which}   {usr:.2}    0.00   {sys:.2}    0.00    0.00    0.00    0.00    \
                 0.00    0.00   {idle:.2}\n"
            )
        };
        "10:11:12 AM  CPU    %usr   %nice    %sys %iowait    %irq   %soft  %steal  %guest  %gnice   \
         %idle\n"
            .to_string()
            + &row("all", 13)
            + &row("  0", 13)
    };
    assert_eq!(first(&mpstat(71.0, 6.0)), Some(Verdict::LayerCpu));
    assert!(sure(&mpstat(20.0, 70.0), Verdict::LayerCpu) <= 0.0);
}

fn top(cpu: &str, memory: [u32; 3], swap: [u32; 2], tasks: &[&str]) -> String {
    let [total, free, cached] = memory;
    let [of_swap, used] = swap;
    let rows: String = tasks
        .iter()
        .enumerate()
        .map(|(k, state)| {
            format!(
                "{:5} www  20 0 {state} 41000 2000 32 {state}  0.0  1.0   0:01.00 p{k}\n",
                400 + k
            )
        })
        .collect();
    format!(
        "top - 10:00:01 up 3 days,  1:02,  1 user,  load average: 9.10, 8.00, 7.00\nTasks: 90 total,   1 \
         running,  89 sleeping,   0 stopped,   0 zombie\nCpu(s): {cpu}\nMem:   {total}k total,   \
         {}k used,     {free}k free,      100k buffers\nSwap:  {of_swap}k total,   {used}k used,   {}k \
         free,   {cached}k cached\n\n  PID USER PR NI X VIRT RES SHR S %CPU %MEM     TIME+ COMMAND\n{rows}",
        total - free,
        of_swap - used
    )
}

#[test]
fn a_full_swap_with_blocked_tasks_is_memory_and_an_idle_screen_is_well() {
    let waits = " 1.5%us,  0.5%sy,  0.0%ni, 94.8%id,  3.2%wa,  0.0%hi,  0.0%si,  0.0%st";
    let rests = " 1.5%us,  0.5%sy,  0.0%ni, 97.9%id,  0.1%wa,  0.0%hi,  0.0%si,  0.0%st";
    let full = top(waits, [256_000, 4000, 6000], [400_000, 399_000], &["D"; 12]);
    assert_eq!(first(&full), Some(Verdict::LayerMemory), "{:#?}", judged(&full));
    // Near misses: memory is left; and few tasks are blocked.
    let roomy = top(waits, [256_000, 90_000, 60_000], [400_000, 399_000], &["D"; 12]);
    let few = top(waits, [256_000, 4000, 6000], [400_000, 399_000], &["D", "S"]);
    assert!([roomy, few].iter().all(|text| sure(text, Verdict::LayerMemory) < 0.6));
    let idle = top(rests, [256_000, 90_000, 60_000], [400_000, 0], &["S", "S", "R"]);
    assert_eq!(first(&idle), Some(Verdict::Healthy), "{:#?}", judged(&idle));
    let blocked = top(rests, [256_000, 90_000, 60_000], [400_000, 0], &["S", "D"]);
    assert_ne!(first(&blocked), Some(Verdict::Healthy));
}

#[test]
fn pages_that_are_evicted_and_read_again() {
    let sar = |scanned: u32, faults: u32| {
        let row = |at: u32| {
            format!(
                "02:{at}:01 AM 410000.00   1900.00   8000.00    {faults}.00 120000.00 {scanned}.00      0.00 \
                 90000.00     60.00\n"
            )
        };
        "12:00:01 AM  pgpgin/s pgpgout/s   fault/s  majflt/s  pgfree/s pgscank/s pgscand/s pgsteal/s    \
         %vmeff\n"
            .to_string()
            + &(20..25).map(row).collect::<String>()
    };
    assert_eq!(
        first(&sar(180_000, 400)),
        Some(Verdict::LayerMemory),
        "{:#?}",
        judged(&sar(180_000, 400))
    );
    // Near miss: a large copy through a full cache.
    assert!(sure(&sar(180_000, 2), Verdict::LayerMemory) < 0.6);
}

#[test]
fn calls_sent_again_and_writes_that_a_server_makes_durable() {
    let nfsstat = |again: u32| {
        format!(
            "$ nfsstat -rc\nClient rpc stats:\ncalls      retrans    authrefrsh\n40         0          \
             40\n\n$ nfsstat -rc\nClient rpc stats:\ncalls      retrans    authrefrsh\n9040       {again}     \
             9040\n"
        )
    };
    assert_eq!(first(&nfsstat(410)), Some(Verdict::LayerRemote), "{:#?}", judged(&nfsstat(410)));
    assert!(sure(&nfsstat(12), Verdict::LayerRemote) <= 0.0);
    let mount = |read: f64, write: f64| {
        format!(
            "filer:/home mounted on /home:\n\n           ops/s       rpc bklog\n         212.100           \
             0.000\n\nread:              ops/s            kB/s           kB/op         retrans    avg RTT (ms)    \
             avg exe (ms)\n                   9.000         144.000          16.000        0 (0.0%)           \
             {read:.3}           {:.3}\nwrite:             ops/s            kB/s           kB/op         retrans    \
             avg RTT (ms)    avg exe (ms)\n                   8.000         128.000          16.000        0 \
             (0.0%)          {write:.3}          {:.3}\n",
            read + 0.02,
            write + 0.03
        )
    };
    assert_eq!(
        first(&mount(0.6, 31.0)),
        Some(Verdict::LayerRemote),
        "{:#?}",
        judged(&mount(0.6, 31.0))
    );
    assert!(sure(&mount(11.0, 31.0), Verdict::LayerRemote) < 0.6);
    assert!(sure(&mount(0.4, 2.0), Verdict::LayerRemote) < 0.6);
}

#[test]
fn a_file_read_back_from_the_cache_is_no_rate_of_a_disk() {
    let test = |between: &str, rate: f64| {
        let seconds = 2.0 / rate;
        format!(
            "$ dd if=/dev/zero of=/srv/t bs=1M count=1907\n1907+0 records in\n1907+0 records \
             out\n2000000000 bytes (2.0 GB) copied, 5 s, 400 MB/s\n{between}$ dd if=/srv/t of=/dev/null \
             bs=1M\n1907+0 records in\n1907+0 records out\n2000000000 bytes (2.0 GB) copied, {seconds:.4} s, \
             {rate:.1} GB/s\n"
        )
    };
    let cached = test("", 2.5);
    assert_eq!(first(&cached), Some(Verdict::ReportInconsistent), "{:#?}", judged(&cached));
    // Near misses: the cache was emptied between; and a disk may be as fast.
    for text in [test("$ echo 3 > /proc/sys/vm/drop_caches\n", 2.5), test("", 0.5)] {
        assert!(sure(&text, Verdict::ReportInconsistent) < 0.6, "{:#?}", judged(&text));
    }
}
