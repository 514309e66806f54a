//! The list of formats. To add one: its file, its `mod` line, its place in [`FORMATS`].

mod aix_iostat;
mod arcconf;
mod arcstat;
mod asm_metrics;
mod atop;
mod atop_screen;
mod badblocks;
mod bench_sh;
mod biolatency;
mod biosnoop;
mod biotop;
mod bitesize;
mod blkparse;
pub mod blktrace;
mod bonnie;
mod bpftrace;
mod bpftrace_json;
mod bsd_iostat;
mod btrfs_scrub;
mod btrfs_stats;
mod btrfs_usage;
mod btt;
mod ceph_log;
mod ceph_ops;
mod ceph_osd_perf;
mod ceph_osd_perf_json;
mod ceph_status;
mod cgroup_io;
mod cockroach_log;
mod collectl;
mod collectl_brief;
mod cpu;
mod crystal_disk_info;
mod database_io;
mod dbench;
mod dd;
mod ddrescue;
mod disk_mark;
mod diskinfo;
mod diskspd;
mod diskspd_text;
mod diskstats;
mod diskutil;
mod dmsetup;
mod drbd;
mod drive_settings;
mod dstat;
mod dtrace_iosnoop;
mod errpt;
mod esxi_log;
mod esxtop;
mod etcd_log;
mod events_csv;
mod f3;
mod fdisk;
mod filefrag;
mod fio;
mod fio_json;
mod fio_log;
mod fio_terse;
mod freebsd_iostat;
mod fs_dist;
mod fs_slower;
mod geom_status;
mod get_counter;
mod gluster_log;
mod gluster_profile;
mod gobonniego;
mod gpfs_waiters;
mod gstat;
mod hd_tune;
mod hdparm;
mod hist_log;
mod innodb_status;
mod iolatency;
mod ioping;
mod ior;
mod iosnoop;
mod iostat;
mod iostat_errors;
mod iostat_json;
mod iotop;
mod iowhy_capture;
mod iowhy_jsonl;
mod iozone;
mod iscsi_session;
mod jbd2;
mod k8s_dbench;
mod kbench;
mod kernel_log;
mod kernel_stack;
mod latency_outliers;
mod linux_iostat;
mod lsblk;
mod lspci;
mod lsscsi;
mod lsusb;
mod lvs;
mod mdstat;
mod memory;
mod mongodb_log;
mod mounts;
mod mountstats;
mod multipath;
mod mysql_log;
mod netapp;
mod netapp_sysstat;
mod nfs_mountstats;
mod nfsiostat;
mod nfsstat;
mod nmon;
mod node_exporter;
mod nodetool;
mod nvme_cli;
mod nvme_lat_stats;
mod nvme_latency_monitor;
mod nvme_ocp;
mod nvme_volume;
mod omreport;
mod ontap_qos;
mod oracle_10046;
mod oracle_ash;
mod oracle_awr;
mod oracle_histogram;
mod pcp_iostat;
mod perf_script;
mod perf_trace;
mod pg_test_fsync;
mod pgbench;
mod pidstat;
mod pmrep;
mod pmstat;
mod postgres_explain;
mod postgres_log;
mod postgres_waits;
mod powermt;
mod pressure;
mod profile_blockio;
mod prometheus;
mod pt_diskstats;
mod pveperf;
mod pylatencymap;
mod quantize;
mod rados_bench;
mod raid_controller;
mod raid_events;
mod rbd_perf;
mod redis_log;
mod rocksdb_log;
mod sadf;
mod sar;
mod seeker;
mod server_log;
mod smart;
mod smartctl;
mod smartd;
mod solaris_iostat;
mod spdk_perf;
mod sqlserver_files;
mod sqlserver_log;
mod sqlserver_waits;
mod storcli_json;
mod strace;
mod sysbench;
mod sysfs;
mod sysv_sar;
mod typeperf;
mod vdbench;
mod vmstat;
mod vmstat_disk;
mod vxtrace;
mod vzdump;
mod waiting_tasks;
mod windows_event;
mod windows_storage;
mod winsat;
mod workload_rounds;
mod write_test;
mod yabs;
mod zookeeper_log;
mod zpool_iostat;
mod zpool_status;

use crate::format::{Format, Formats, formats_of_files};

/// All formats, sorted by name.
pub const FORMATS: &[Format] = formats_of_files![
    aix_iostat::FORMAT,
    arcconf::FORMAT,
    arcstat::FORMAT,
    asm_metrics::FORMAT,
    atop::FORMAT,
    atop_screen::FORMAT,
    badblocks::FORMAT,
    bench_sh::FORMAT,
    biolatency::FORMAT,
    biosnoop::FORMAT,
    biotop::FORMAT,
    bitesize::FORMAT,
    blkparse::FORMAT,
    blktrace::FORMAT,
    bonnie::FORMAT,
    bpftrace::FORMAT,
    bpftrace_json::FORMAT,
    bsd_iostat::FORMAT,
    btrfs_scrub::FORMAT,
    btrfs_stats::FORMAT,
    btrfs_usage::FORMAT,
    btt::FORMAT,
    ceph_log::FORMAT,
    ceph_ops::FORMAT,
    ceph_osd_perf::FORMAT,
    ceph_osd_perf_json::FORMAT,
    ceph_status::FORMAT,
    cgroup_io::FORMAT,
    cockroach_log::FORMAT,
    collectl::FORMAT,
    collectl_brief::FORMAT,
    cpu::FORMAT,
    crystal_disk_info::FORMAT,
    database_io::FORMAT,
    dbench::FORMAT,
    dd::FORMAT,
    ddrescue::FORMAT,
    disk_mark::FORMAT,
    diskinfo::FORMAT,
    diskspd::FORMAT,
    diskspd_text::FORMAT,
    diskstats::FORMAT,
    diskutil::FORMAT,
    dmsetup::FORMAT,
    drbd::FORMAT,
    drive_settings::FORMAT,
    dstat::FORMAT,
    dtrace_iosnoop::FORMAT,
    errpt::FORMAT,
    esxi_log::FORMAT,
    esxtop::FORMAT,
    etcd_log::FORMAT,
    events_csv::FORMAT,
    f3::FORMAT,
    fdisk::FORMAT,
    filefrag::FORMAT,
    fio::FORMAT,
    fio_json::FORMAT,
    fio_log::FORMAT,
    fio_terse::FORMAT,
    freebsd_iostat::FORMAT,
    fs_dist::FORMAT,
    fs_slower::FORMAT,
    geom_status::FORMAT,
    get_counter::FORMAT,
    gluster_log::FORMAT,
    gluster_profile::FORMAT,
    gobonniego::FORMAT,
    gpfs_waiters::FORMAT,
    gstat::FORMAT,
    hd_tune::FORMAT,
    hdparm::FORMAT,
    hist_log::FORMAT,
    innodb_status::FORMAT,
    iolatency::FORMAT,
    ioping::FORMAT,
    ior::FORMAT,
    iosnoop::FORMAT,
    iostat::FORMAT,
    iostat_errors::FORMAT,
    iostat_json::FORMAT,
    iotop::FORMAT,
    iowhy_capture::FORMAT,
    iowhy_jsonl::FORMAT,
    iozone::FORMAT,
    iscsi_session::FORMAT,
    jbd2::FORMAT,
    k8s_dbench::FORMAT,
    kbench::FORMAT,
    kernel_log::FORMAT,
    kernel_stack::FORMAT,
    latency_outliers::FORMAT,
    linux_iostat::FORMAT,
    lsblk::FORMAT,
    lspci::FORMAT,
    lsscsi::FORMAT,
    lsusb::FORMAT,
    lvs::FORMAT,
    mdstat::FORMAT,
    memory::FORMAT,
    mongodb_log::FORMAT,
    mounts::FORMAT,
    mountstats::FORMAT,
    multipath::FORMAT,
    mysql_log::FORMAT,
    netapp::FORMAT,
    netapp_sysstat::FORMAT,
    nfs_mountstats::FORMAT,
    nfsiostat::FORMAT,
    nfsstat::FORMAT,
    nmon::FORMAT,
    node_exporter::FORMAT,
    nodetool::FORMAT,
    nvme_cli::FORMAT,
    nvme_lat_stats::FORMAT,
    nvme_latency_monitor::FORMAT,
    nvme_ocp::FORMAT,
    nvme_volume::FORMAT,
    omreport::FORMAT,
    ontap_qos::FORMAT,
    oracle_10046::FORMAT,
    oracle_ash::FORMAT,
    oracle_awr::FORMAT,
    oracle_histogram::FORMAT,
    pcp_iostat::FORMAT,
    perf_script::FORMAT,
    perf_trace::FORMAT,
    pg_test_fsync::FORMAT,
    pgbench::FORMAT,
    pidstat::FORMAT,
    pmrep::FORMAT,
    pmstat::FORMAT,
    postgres_explain::FORMAT,
    postgres_log::FORMAT,
    postgres_waits::FORMAT,
    powermt::FORMAT,
    pressure::FORMAT,
    profile_blockio::FORMAT,
    prometheus::FORMAT,
    pt_diskstats::FORMAT,
    pveperf::FORMAT,
    pylatencymap::FORMAT,
    quantize::FORMAT,
    rados_bench::FORMAT,
    raid_controller::FORMAT,
    raid_events::FORMAT,
    rbd_perf::FORMAT,
    redis_log::FORMAT,
    rocksdb_log::FORMAT,
    sadf::FORMAT,
    sar::FORMAT,
    seeker::FORMAT,
    server_log::FORMAT,
    smart::FORMAT,
    smartctl::FORMAT,
    smartd::FORMAT,
    solaris_iostat::FORMAT,
    spdk_perf::FORMAT,
    sqlserver_files::FORMAT,
    sqlserver_log::FORMAT,
    sqlserver_waits::FORMAT,
    storcli_json::FORMAT,
    strace::FORMAT,
    sysbench::FORMAT,
    sysfs::FORMAT,
    sysv_sar::FORMAT,
    typeperf::FORMAT,
    vdbench::FORMAT,
    vmstat::FORMAT,
    vmstat_disk::FORMAT,
    vxtrace::FORMAT,
    vzdump::FORMAT,
    waiting_tasks::FORMAT,
    windows_event::FORMAT,
    windows_storage::FORMAT,
    winsat::FORMAT,
    workload_rounds::FORMAT,
    write_test::FORMAT,
    yabs::FORMAT,
    zookeeper_log::FORMAT,
    zpool_iostat::FORMAT,
    zpool_status::FORMAT,
];

impl Formats {
    /// The format of a name.
    pub fn find(&self, name: &str) -> Option<&'static Format> {
        self.own.iter().find(|format| format.name == name).or_else(|| find(name))
    }
}

/// The format of a given name.
pub fn find(name: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.name == name)
}

/// A made-up message of every kind known to the readers of kernel logs and smartd, for testing that
/// names cannot forge them.
pub fn log_examples() -> Vec<String> {
    kernel_log::examples()
        .chain(esxi_log::examples())
        .chain(crate::drive::smartd_lines::examples())
        .collect()
}
