//! The buckets the kernel program counts into are those of the standard table, bit for bit.

use std::io::Write;
use std::process::{Command, Stdio};

use iowhy_model::{Edges, STANDARD_UNIT_NS};

/// Reads numbers, writes the bucket of each: the very text the tracer is compiled from.
const PROGRAM: &str = r#"
#include <stdio.h>
#include "edges.h"
int main(void)
{
	unsigned long long ns;
	printf("%d\n", BUCKETS);
	while (scanf("%llu", &ns) == 1)
		printf("%u\n", bucket(ns));
	return 0;
}
"#;

#[test]
fn both_sides_find_the_same_bucket() {
    assert_eq!(STANDARD_UNIT_NS, 125, "`UNIT_NS` of edges.h");
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/bpf");
    let binary = std::env::temp_dir().join(format!("iowhy-edges-{}", std::process::id()));
    let compiler = ["clang", "cc"].into_iter().find_map(|compiler| {
        let mut run = Command::new(compiler);
        run.args(["-O2", "-x", "c", "-I", folder, "-o"]).arg(&binary).arg("-");
        let mut run = run.stdin(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
        run.stdin.take()?.write_all(PROGRAM.as_bytes()).ok()?;
        run.wait().ok()?.success().then_some(compiler)
    });
    let Some(compiler) = compiler else {
        println!("skipped: needs a C compiler with headers for this machine");
        return;
    };
    let values = values();
    let text: String = values.iter().map(|ns| format!("{ns}\n")).collect();
    let mut run = Command::new(&binary)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("the compiled program");
    let mut input = run.stdin.take().expect("its input");
    let writer = std::thread::spawn(move || input.write_all(text.as_bytes()));
    let output = run.wait_with_output().expect("its output");
    writer.join().expect("the writer").expect("all numbers written");
    std::fs::remove_file(&binary).expect("the program goes");
    let reported = String::from_utf8(output.stdout).expect("numbers");
    let mut reported = reported.lines().map(|line| line.parse::<usize>().expect("a number"));
    let edges = Edges::standard();
    assert_eq!(reported.next(), Some(edges.buckets()));
    for ns in &values {
        assert_eq!(reported.next(), Some(edges.index(*ns)), "{ns} ns");
    }
    println!("{} values agree ({compiler})", values.len());
}

/// Every edge and its neighbours, and a walk over all magnitudes.
fn values() -> Vec<u64> {
    let edges = Edges::standard();
    let near = |edge: &u64| [edge.saturating_sub(1), *edge, edge.saturating_add(1)];
    let mut values: Vec<u64> = edges.as_slice().iter().flat_map(near).collect();
    values.extend(0..100_000);
    let mut state = 1u64;
    values.extend((0..400_000).map(|k| {
        // Knuth's MMIX generator, cut to a different length each time.
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> (k % 64)
    }));
    values
}
