//! Facts sorted, typed and cited, in small recordings.

use super::*;
use iowhy_model::{Fact, Level, MessageKind, Sink, Source, key};

/// A recording of listings, each an input of its own, with facts `device|key|value`.
fn recording(listings: &[(&str, &[&str])]) -> Recording {
    let mut recording = Recording::new();
    for (input, facts) in listings {
        recording.begin(Source::new("test", input, Level::E));
        for line in *facts {
            let words: Vec<&str> = line.splitn(3, '|').collect();
            let device = (!words[0].is_empty()).then(|| recording.device(words[0]));
            let key = FactKey::named(words[1]);
            recording.fact(Fact::read(device, key, words[2], format!("{input}:1")));
        }
        recording.end();
    }
    recording
}

#[test]
fn facts_are_typed_and_say_where_they_were_read() {
    let recording = recording(&[
        ("smart.json", &["sdb|smart.raw.197|16", "sdb|smart.rpm|7200", "nvme0|smart.celsius|71"]),
        ("later.json", &["sdb|smart.raw.197|24", "nvme0n1|queue.rotational|0"]),
        ("mounts", &["sdb1|mount.point|/srv", "sdb1|mount.options|rw,sync"]),
        ("/sys/fs/cgroup/a.slice/io.max", &["sdb|cgroup.io.max.wiops|120"]),
        ("psi", &["|pressure.io.some.avg10|12.50"]),
    ]);
    let facts = Facts::of(&recording);
    let sdb = facts.about(None, "sdb");
    assert_eq!(
        sdb.number(key::SMART_RAW.of("197")).map(|(n, t)| (n, t.read_from())),
        Some((24.0, "later.json:1"))
    );
    assert_eq!(sdb.rise(key::SMART_RAW.of("197")).map(|(n, _)| n), Some(8.0));
    assert_eq!(sdb.rise(key::SMART_RPM), None);
    assert_eq!(sdb.medium().map(|(medium, _)| medium), Some(Medium::Rotational));
    assert_eq!(sdb.mounts()[0].point, "/srv");
    let limit = sdb.limits()[0];
    assert_eq!((limit.kind, limit.value), (iowhy_model::LimitKind::Wiops, 120.0));
    let nvme = facts.about(None, "nvme0n1");
    assert_eq!(nvme.number(key::SMART_CELSIUS).map(|(n, _)| n), Some(71.0));
    assert_eq!(nvme.machine_number(key::PRESSURE_AVG10.of("io.some")).map(|(n, _)| n), Some(0.125));
    assert_eq!(facts.disks().collect::<Vec<_>>(), ["nvme0n1", "sdb"]);
}

#[test]
fn a_port_is_given_to_the_one_disk_that_complains_with_it() {
    let link = "ata4|kernel.log.link|[86420.118847] ata4: hard resetting link";
    let near = "sdc|kernel.log.io-error|[86421.000000] I/O error, dev sdc, sector 16 op 0x0";
    let far = "sdc|kernel.log.io-error|[96421.000000] I/O error, dev sdc, sector 16 op 0x0";
    let second = "sdd|kernel.log.io-error|[86421.100000] I/O error, dev sdd, sector 16 op 0x0";
    let links = |facts: &[&str]| {
        let recording = recording(&[("dmesg", facts)]);
        Facts::of(&recording).about(None, "sdc").logged(MessageKind::Link).count()
    };
    assert_eq!((links(&[link, near]), links(&[link, far])), (1, 0));
    assert_eq!(links(&[link, near, second]), 0);
    assert_eq!(links(&[link, far, "sdc|device.port|ata4"]), 1);
}

#[test]
fn a_complaint_from_long_before_the_watch_is_not_of_now() {
    use iowhy_model::{FactValue, Nanos};
    let line = "sdc|kernel.log.medium|[86420.0] critical medium error, dev sdc, sector 16";
    // Numbers of new and older ones, where the watch begins at this many seconds of the
    // machine's clock.
    let counted = |input: &str, began_s: i64| {
        let mut recording = recording(&[(input, &[line])]);
        recording.begin(Source::new("block-trace", "live", Level::D));
        let ns = |s: i64| FactValue::Duration(Nanos(s * 1_000_000_000));
        let zero = 1_763_800_000;
        recording.fact(Fact::new(None, key::CLOCK_OFFSET, ns(zero), "clock_gettime"));
        recording.fact(Fact::new(None, key::CLOCK_BEGAN, ns(zero + began_s), "clock_gettime"));
        recording.end();
        let facts = Facts::of(&recording);
        let about = facts.about(None, "sdc");
        (
            about.logged(MessageKind::Medium).count(),
            about.logged_before(MessageKind::Medium).count(),
        )
    };
    assert_eq!(counted("/dev/kmsg", 86_000), (1, 0));
    assert_eq!(counted("/dev/kmsg", 87_000), (1, 0));
    assert_eq!(counted("/dev/kmsg", 87_100), (0, 1));
    // A file may be of another machine, or of another day.
    assert_eq!(counted("dmesg", 87_100), (1, 0));
}

#[test]
fn facts_of_a_capture_stay_with_it() {
    let mut recording = recording(&[("own.txt", &["sdb|smart.raw.197|16"])]);
    let id = recording.device("sdb");
    let mut event = iowhy_model::Event::new(id, iowhy_model::Op::Read, iowhy_model::Layer::Block);
    event.sector = Some(1);
    recording.resume(0);
    recording.event(event);
    let facts = Facts::of(&recording);
    assert!(
        facts
            .about(Some(Host { input: "own.txt", name: None }), "sdb")
            .last(key::SMART_RAW.of("197"))
            .is_some()
    );
    assert!(
        facts
            .about(Some(Host { input: "other.txt", name: None }), "sdb")
            .last(key::SMART_RAW.of("197"))
            .is_none()
    );
}

#[test]
fn a_limit_of_a_number_is_its_disks() {
    let limit = "252:0|cgroup.io.max.riops|20";
    let numbers = ["nullb0|device.number|252:0", "vda|device.number|253:0"];
    let limits = |facts: &[&str]| {
        let recording = recording(&[("sys", facts)]);
        let facts = Facts::of(&recording);
        facts.about(None, "nullb0").limits().iter().map(|limit| limit.value).collect::<Vec<_>>()
    };
    assert_eq!(limits(&[numbers[0], numbers[1], limit]), [20.0]);
    // Nobody reports the number, or another disk has it.
    assert_eq!(limits(&[limit, "nullb0|device.state|live"]), []);
    assert_eq!(limits(&[numbers[1], "253:0|cgroup.io.max.riops|20", "nullb0|device.state|x"]), []);
}

#[test]
fn a_drive_without_a_name_is_the_only_one_or_the_one_of_its_model() {
    let pending = |facts: &[&str], disk: &str| {
        let recording = recording(&[("smart.txt", facts)]);
        Facts::of(&recording).about(None, disk).number(key::SMART_RAW.of("197")).map(|(n, _)| n)
    };
    let lost =
        ["HD4_EXA1|device.unnamed|1", "HD4_EXA1|smart.raw.197|8", "HD4_EXA1|smart.model|HD4"];
    let with = |more: &[&'static str]| [&lost[..], more].concat();
    assert_eq!(pending(&lost, "HD4_EXA1"), Some(8.0));
    assert_eq!(pending(&with(&["sda|device.state|live"]), "sda"), Some(8.0));
    let two = with(&["sda|device.model|HD4", "sdb|device.model|HD6"]);
    assert_eq!((pending(&two, "sda"), pending(&two, "sdb")), (Some(8.0), None));
    let unknown = with(&["sda|device.state|live", "sdb|device.state|live"]);
    assert_eq!(pending(&unknown, "HD4_EXA1"), Some(8.0));
    let id = with(&["ata-HD4_EXA1-part1|smart.raw.5|1", "sda|device.state|live"]);
    assert_eq!(pending(&id, "sda"), Some(8.0));
    // A pool is no drive, and a member whose name begins with the pool's is no partition of it.
    let pool = with(&[
        "tank|device.slaves|tank0 tank1",
        "tank0|member.state|online",
        "tank1|member.state|online",
    ]);
    assert_eq!((pending(&pool, "tank"), pending(&pool, "HD4_EXA1")), (None, Some(8.0)));
}

/// The names of the hosts of listings whose machines are named so; `~` begins one of a log.
fn hosts(machines: &[&str]) -> Vec<String> {
    let mut recording = Recording::new();
    for machine in machines {
        let mut source = Source::new("test", "a.txt", Level::E);
        source.machine = match machine.strip_prefix('~') {
            Some(host) => iowhy_model::HostName::of_log(host),
            None => iowhy_model::HostName::of(machine),
        };
        recording.begin(source);
        recording.fact(Fact::read(None, key::KERNEL_LOG_LINES, "1", "a.txt:1"));
        recording.end();
    }
    let graph = Graph::of(&recording);
    (0..machines.len()).map(|at| graph.host(at).name.unwrap_or("-").to_string()).collect()
}

#[test]
fn what_names_no_machine_is_of_the_only_one() {
    assert_eq!(hosts(&["", "db1", ""]), ["db1", "db1", "db1"]);
    assert_eq!(hosts(&["", "db1", "db2"]), ["-", "db1", "db2"]);
    assert_eq!(hosts(&["db1.example.com", "db1"]), ["db1.example.com", "db1.example.com"]);
    // A log may be from before its machine was renamed, but not that of two machines.
    assert_eq!(hosts(&["db1", "~bullseye"]), ["db1", "db1"]);
    assert_eq!(hosts(&["db1", "~db2", "~db3"]), ["db1", "db2", "db3"]);
}

#[test]
fn each_rule_joins_names() {
    let name = |facts: &[&str], name: &str| {
        let recording = recording(&[("all", facts)]);
        let graph = Graph::of(&recording);
        let device = recording.find_device(name);
        let all = &recording.listings[0].facts;
        let fact = all.iter().find(|fact| fact.device == device && device.is_some());
        graph.meant(0, fact.unwrap()).join(" ")
    };
    let number = ["vda|device.number|252:0", "252:0|cgroup.io.max.wiops|120"];
    assert_eq!(name(&number, "252:0"), "vda");
    assert_eq!(name(&["dm-0|device.alias|mpatha", "mpatha|array.state|active"], "mpatha"), "dm-0");
    let lost = ["sda|queue.rotational|1", "drive|device.unnamed|1", "drive|smart.rpm|7200"];
    assert_eq!(name(&lost, "drive"), "sda");
    let model = ["A-1|device.unnamed|1", "A-1|smart.model|A 1"];
    assert_eq!(name(&[&model[..], &lost[..]].concat(), "drive"), "sda");
    let two = ["sdb|queue.rotational|1", "sda|smart.model|A 1", "drive|smart.model|A 1"];
    assert_eq!(name(&[&two[..], &lost[1..]].concat(), "drive"), "sda");
    assert_eq!(name(&["md2|array.state|clean", "md|array.state|clean"], "md"), "md2");
    let by_id = ["EXA0001|device.unnamed|1", "ata-EXA0001-part1|member.state|faulted"];
    assert_eq!(name(&by_id, "ata-EXA0001-part1"), "EXA0001");
    let fails = ["sda|smart.passed|0", "sdb|smart.passed|1", "ata-A_B1|member.errors.read|7"];
    assert_eq!(name(&fails, "ata-A_B1"), "sda");
}

#[test]
fn disks_of_one_name_on_two_hosts_are_two() {
    let mut recording = Recording::new();
    for (host, state, rpm) in [("db1", "faulty", "7200"), ("db2", "online", "0")] {
        let mut source = Source::new("test", "a.txt", Level::E);
        source.machine = iowhy_model::HostName::of(host);
        recording.begin(source);
        let sda = recording.device("sda");
        recording.fact(Fact::read(Some(sda), key::MEMBER_STATE, state, "a.txt:1"));
        recording.fact(Fact::read(Some(sda), key::SMART_RPM, rpm, "a.txt:1"));
        recording.end();
    }
    let facts = Facts::of(&recording);
    let states = facts.each().filter_map(|about| Some(about.last(key::MEMBER_STATE)?.text()));
    assert_eq!(states.collect::<Vec<_>>(), ["faulty", "online"]);
    assert_eq!((facts.medium("sda"), facts.about(None, "sda").medium().is_some()), (None, true));
}
