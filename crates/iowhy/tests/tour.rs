//! The faults of a new user's tour (issue 44), and the test that holds each.

use std::path::Path;

/// What was wrong, the file of the test, and its name.
const FAULTS: &[(&str, &str, &str)] = &[
    ("five clocks", "iowhy/tests/clock.rs", "incidents_are_listed_and_asked_for_in_local_time"),
    (
        "a capture in UTC",
        "iowhy/tests/clock.rs",
        "a_capture_that_knows_when_it_was_is_told_in_local_time",
    ),
    (
        "JSON without a time",
        "show/src/clock.rs",
        "a_moment_for_programs_has_nanoseconds_and_an_offset",
    ),
    (
        "no names",
        "iowhy/tests/names.rs",
        "one_screen_names_disk_volume_mount_pod_program_file_and_verdict",
    ),
    ("no `--by`", "iowhy/tests/names.rs", "a_capture_is_asked_by_mount_point_and_counted_by_names"),
    ("`-d` of a partition", "iowhy/tests/live.rs", "a_partition_is_traced_by_its_sectors"),
    ("`-d` of a mount", "iowhy/tests/live.rs", "a_device_is_known_by_its_file_and_its_mount_point"),
    ("paths of NVMe", "iowhy/tests/live.rs", "a_disk_without_a_number_in_sys_has_its_name"),
    (
        "`--pid` in a container",
        "iowhy/tests/live.rs",
        "a_process_has_the_number_of_its_own_namespace",
    ),
    (
        "jbd2 instead of the program",
        "iowhy/tests/live.rs",
        "a_program_that_waits_in_fsync_is_named_instead_of_the_journals_thread",
    ),
    ("the kernel instead of who flushes", "iowhy/tests/live.rs", "who_asked_for_a_flush_is_named"),
    (
        "metrics without containers",
        "iowhy/tests/watch.rs",
        "ios_of_a_container_are_counted_under_its_name",
    ),
    (
        "70 s listed as one",
        "iowhy/src/recorder/extent.rs",
        "a_fault_lasts_as_long_as_its_seconds_are_slow",
    ),
    (
        "31 findings for a window",
        "iowhy/tests/incidents.rs",
        "a_window_has_a_timeline_of_its_incidents",
    ),
    (
        "a second incident of one cause",
        "iowhy/src/recorder/incident.rs",
        "what_is_judged_once_its_disk_is_gone_is_of_the_same_incident",
    ),
    ("`--at` disagrees", "iowhy/tests/incidents.rs", "a_moment_has_the_incidents_around_it"),
    ("since when", "iowhy/src/recorded.rs", "a_verdict_is_told_since_when_and_how_often"),
    ("whose report", "iowhy/tests/report.rs", "the_first_line_says_whose_machine_it_was"),
    (
        "maps of few I/Os",
        "iowhy/tests/report.rs",
        "a_ladder_has_its_steps_and_an_overload_its_queue",
    ),
    (
        "printing",
        "iowhy/tests/report.rs",
        "twenty_seconds_of_three_devices_are_five_pages_on_paper",
    ),
    (
        "360 px and dark",
        "iowhy/tests/report.rs",
        "on_any_screen_light_or_dark_it_fits_and_can_be_read",
    ),
    ("reproduce", "iowhy/tests/report.rs", "the_lines_that_reproduce_a_report_run"),
    ("`top` at 200x60", "iowhy/tests/top.rs", "a_capture_is_replayed_at_three_sizes"),
    (
        "an idle machine",
        "iowhy/tests/live.rs",
        "an_idle_disk_is_reported_and_the_next_command_can_be_pasted",
    ),
    (
        "impact of few I/Os",
        "diagnose/tests/claims.rs",
        "time_waited_is_per_second_watched_not_per_second_of_io",
    ),
    ("options", "iowhy/src/commands.rs", "an_option_is_in_every_command_where_it_can_act"),
    ("`-- COMMAND`", "iowhy/tests/live.rs", "a_command_is_watched_from_its_start_to_its_end"),
    ("its exit status", "iowhy/tests/live.rs", "the_status_of_a_watched_command_is_passed_on"),
    ("did you mean", "iowhy/src/mistyped.rs", "a_command_is_guessed_by_its_letters"),
    ("words of tables", "iowhy/tests/questions.rs", "each_column_of_a_table_is_explained"),
    ("words of screens", "iowhy/tests/questions.rs", "each_word_of_a_screen_is_explained"),
    (
        "`stat` at 80 columns",
        "show/src/views/table/layout.rs",
        "percentiles_and_stages_stay_longest",
    ),
    (
        "times of intervals",
        "iowhy/tests/options.rs",
        "reports_of_stat_and_hist_begin_with_their_time",
    ),
    (
        "a list of codes",
        "iowhy/tests/screen.rs",
        "without_a_verdict_there_are_two_readings_and_one_step",
    ),
    ("cut lines", "show/src/words.rs", "a_cut_sentence_fills_its_line"),
    ("more than a screen", "iowhy/tests/screen.rs", "the_verdict_of_every_case_fits_on_a_screen"),
    (
        "a server that hangs",
        "iowhy/tests/hanging_mounts.rs",
        "a_mount_that_hangs_is_named_and_a_busy_one_or_an_idle_one_is_not",
    ),
    (
        "dirty throttling",
        "iowhy/tests/waits.rs",
        "a_writer_that_is_paused_for_its_dirty_pages_is_named_with_the_time_it_waited",
    ),
    (
        "waits beside the disk",
        "iowhy/tests/waits.rs",
        "waits_for_a_disk_of_known_delay_are_tied_to_its_requests",
    ),
    (
        "ten questions in ten seconds each",
        "iowhy/tests/questions.rs",
        "a_capture_answers_on_the_screens_of_why_and_top",
    ),
    (
        "the same of a store",
        "iowhy/tests/questions.rs",
        "a_store_answers_on_its_list_on_a_window_on_a_report_and_on_a_moment",
    ),
];

#[test]
fn each_fault_of_the_tour_has_its_test() {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (fault, file, name) in FAULTS {
        let text = std::fs::read_to_string(crates.join(file)).unwrap_or_default();
        let test = text.contains("#[test]") && text.contains(&format!("fn {name}("));
        assert!(test, "{fault}: no test `{name}` in {file}");
    }
}
