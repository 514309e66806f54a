//! Worked examples: names, keys, and texts parsed as values.

use super::*;

#[test]
fn both_tables_are_sorted_and_say_each_name_once() {
    for table in [keys::KEYS, keys::FAMILIES] {
        for pair in table.windows(2) {
            assert!(pair[0].name < pair[1].name, "{} before {}", pair[0].name, pair[1].name);
        }
    }
    assert!(keys::FAMILIES.iter().all(|entry| entry.name.matches('*').count() == 1));
}

#[test]
fn a_name_finds_its_key_and_a_key_its_name() {
    for entry in keys::KEYS {
        assert_eq!(FactKey::named(entry.name).name(), entry.name);
    }
    assert_eq!(FactKey::named("queue.scheduler"), key::QUEUE_SCHEDULER);
    assert_eq!(FactKey::named("smart.raw.197"), key::SMART_RAW.of("197"));
    assert_eq!(FactKey::named("smart.nvme.temperature"), key::SMART_NVME_TEMPERATURE);
    assert_eq!(FactKey::named("kernel.log.medium.count"), key::KERNEL_LOG_COUNT.of("medium"));
    assert_eq!(FactKey::named("vmstat.since_boot.wa"), key::VMSTAT_SINCE_BOOT.of("wa"));
    let unknown = FactKey::named("tomorrow.counter");
    assert_eq!(unknown.member_of(key::UNKNOWN), Some("tomorrow.counter"));
    assert_eq!(unknown.name(), "tomorrow.counter");
    assert_eq!(unknown.read("12"), FactValue::Count(12));
}

#[test]
fn texts_become_values_of_their_keys_kind() {
    for (name, text, value) in [
        ("smart.raw.197", "16", FactValue::Count(16)),
        ("smart.raw.197", "16/3", FactValue::Text("16/3".to_string())),
        ("queue.read_ahead_kb", "128", FactValue::Bytes(131_072)),
        ("device.link_speed", "8.0 GT/s PCIe", FactValue::BitsPerSecond(8e9)),
        ("device.link_speed", "3.0 Gbps", FactValue::BitsPerSecond(3e9)),
        ("pressure.io.some.avg10", "12.50", FactValue::Share(0.125)),
        ("smart.scterc.read_ds", "70", FactValue::Duration(Nanos(7_000_000_000))),
        ("vmstat.so.mean", "20.0 KiB/s", FactValue::BytesPerSecond(20_480.0)),
        ("vmstat.st.mean", "5.5 %", FactValue::Share(0.055)),
        (
            "clock.realtime_offset_ns",
            "1763800000123456789",
            FactValue::Duration(Nanos(1_763_800_000_123_456_789)),
        ),
        ("disks.read.mean", "20.0 KiB/s", FactValue::BytesPerSecond(20_480.0)),
        ("queue.rotational", "0", FactValue::Flag(false)),
        ("smart.passed", "true", FactValue::Flag(true)),
    ] {
        assert_eq!(FactKey::named(name).read(text), value, "{name} {text}");
    }
}

#[test]
fn the_time_of_a_temperature_in_an_old_capture_is_found() {
    let fact = Fact::from_text(None, "device.celsius", "71.9 C at 12.003 s", String::new());
    assert_eq!(fact.value, FactValue::Celsius(71.9));
    assert_eq!(fact.at, Some(Time::from_seconds(12.003)));
}

#[test]
fn values_of_a_process_are_texts_that_become_the_same_values() {
    let who = "mysqld (4711)".to_string();
    let share = typed::OfProcess { value: Share::from_percent(98.12), who: who.clone() };
    let time = typed::OfProcess { value: Nanos::from_ms(4880.0), who: who.clone() };
    let sum = typed::OfProcess { value: Bytes(54_032_097), who: who.clone() };
    let rate = typed::OfProcess { value: BytesPerSecond::from_kib(17_920.1), who };
    for ((key, value), text) in [
        (typed::PROCESS_IO_WAIT.with(share), "98.12 % mysqld (4711)"),
        (typed::PROCESS_IO_DELAY.with(time), "4880 ms mysqld (4711)"),
        (typed::PROCESS_WRITTEN.with(sum), "54032097 B mysqld (4711)"),
        (typed::PROCESS_READS.with(rate), "17920.1 KiB/s mysqld (4711)"),
    ] {
        assert_eq!(value.to_string(), text);
        assert_eq!(key.read(text), value);
        assert!(key.kind().is_of_process());
        assert_eq!(key.read("mysqld"), FactValue::Text("mysqld".to_string()));
    }
}
