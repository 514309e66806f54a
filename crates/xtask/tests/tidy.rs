//! The laws of the tree, held: one test per rule, so that a failure names its law.
#![expect(clippy::expect_used, reason = "a test may")]

use std::sync::LazyLock;

use xtask::tidy::{RULES, Tree};

/// The workspace, read once for all rules.
static TREE: LazyLock<Tree> = LazyLock::new(|| Tree::own().expect("the workspace can be read"));

/// Runs the rule of that name over the workspace and fails with all violations.
fn holds(name: &str) {
    let rule = RULES.iter().find(|rule| rule.name == name).expect("the rule is in the list");
    let complaints = (rule.check)(&TREE);
    let told: Vec<String> = complaints.iter().map(ToString::to_string).collect();
    assert!(told.is_empty(), "{} broken:\n\n{}\n", rule.name, told.join("\n"));
}

#[test]
fn arrows_between_crates() {
    holds("arrows between crates");
}

#[test]
fn comments_literals_and_prose_fit_100_columns() {
    holds("comments, literals and prose fit 100 columns");
}

#[test]
fn core_tree_without_engines() {
    holds("core tree without engines");
}

#[test]
fn each_fact_is_written_and_used() {
    holds("each fact is written and used");
}

#[test]
fn goldens_hold_no_date_version_or_path() {
    holds("goldens contain no date, version or path");
}

#[test]
fn hooks_of_described_formats_are_short() {
    holds("hooks of described formats are short");
}

#[test]
fn lists_equal_folders_and_are_sorted() {
    holds("lists equal folders and are sorted");
}

#[test]
fn manual_headings() {
    holds("manual headings");
}

#[test]
fn members_of_a_list_do_not_know_each_other() {
    holds("members of a list do not use each other");
}

#[test]
fn names_are_those_of_the_files() {
    holds("names are those of the files");
}

#[test]
fn no_cycle_between_modules() {
    holds("no cycle between modules");
}

#[test]
fn no_code_reads_a_sentence() {
    holds("no code parses prose");
}

#[test]
fn nothing_of_this_machine_in_a_file() {
    holds("nothing of this machine in a file");
}

#[test]
fn numbers_are_written_in_one_place() {
    holds("numbers are written in one place");
}

#[test]
fn pages_are_few_and_count_nothing() {
    holds("pages are few and count nothing");
}

#[test]
fn paths_in_backticks_exist() {
    holds("paths in backticks exist");
}

#[test]
fn pure_crates_touch_nothing() {
    holds("pure crates use no clock, file or network");
}

#[test]
fn samples_goldens_and_cases_belong_together() {
    holds("samples, goldens and cases belong together");
}

#[test]
fn tests_check_what_needs_it() {
    holds("tests check what needs it");
}

#[test]
fn texts_are_taken_apart_in_one_room_of_diagnose() {
    holds("text is parsed in one module of diagnose");
}

#[test]
fn the_ways_of_a_line_exist() {
    holds("the functions named in ARCHITECTURE exist");
}

#[test]
fn the_words_of_the_field() {
    holds("the field's terms");
}

#[test]
fn unsafe_only_where_it_may_stand() {
    holds("unsafe only where it is allowed");
}

#[test]
fn every_rule_has_a_test_here() {
    let own = include_str!("tidy.rs");
    for rule in RULES {
        assert!(own.contains(&format!("holds(\"{}\")", rule.name)), "no test for `{}`", rule.name);
    }
    assert!(RULES.is_sorted_by_key(|rule| rule.name));
}
