//! All tests of the workspace, several programs at a time: `xtask test [--long] [NAME...]`.
//!
//! `cargo test` runs one test program after the other, and most of those with a device wait most of
//! the time. Here [`build`] asks cargo for the programs, [`run`] runs several of them at a time,
//! format and lints beside them, and [`count`] reads what libtest printed. A test must therefore
//! have its own folder, devices and names.

mod build;
mod run;
mod test_count;

use std::io::{self, Write};
use std::process::ExitCode;
use std::time::Instant;

pub use build::Program;
pub use test_count::TestCount;

/// Steps beside the tests: a name, and the arguments of cargo.
const STEPS: [(&str, &[&str]); 3] = [
    ("format", &["fmt", "--all", "--check"]),
    (
        "lints",
        &["clippy", "--quiet", "--locked", "--workspace", "--all-targets", "--", "-D", "warnings"],
    ),
    // Selecting packages would change features of their dependencies, and everything would be
    // rebuilt.
    ("examples of the libraries", &["test", "--quiet", "--locked", "--doc", "--workspace"]),
];

/// What was asked for.
#[derive(Clone, Default, Debug)]
pub struct Suite {
    /// With the tests that take long by nature.
    pub long: bool,
    /// Without format, lints and second runs, although all programs run.
    pub bare: bool,
    /// Only programs whose package or name contains one of these; all if there is none.
    pub only: Vec<String>,
}

impl Suite {
    /// Builds and runs; prints each program's result as it ends, then failures, what was left out
    /// and, as the last line, the counts.
    ///
    /// # Errors
    /// If cargo or a program cannot be started.
    pub fn run(&self) -> io::Result<ExitCode> {
        let mut out = io::stdout();
        let mut broken = 0;
        let with_fleet =
            self.only.is_empty() || self.only.iter().any(|name| name.contains("fleet"));
        if let Ok(said) = std::env::var("IOWHY_BROKEN") {
            writeln!(out, "== failed: {said}")?;
            broken += 1;
        }
        writeln!(out, "== tests")?;
        let started = Instant::now();
        let Some(mut programs) = build::programs()? else {
            writeln!(out, "iowhy: 0 passed, {} failed, 0 skipped", broken + 1)?;
            return Ok(ExitCode::FAILURE);
        };
        if with_fleet {
            match build::fleet_programs()? {
                Ok(Some(of_fleet)) => programs.extend(of_fleet),
                Ok(None) => {
                    writeln!(out, "== failed: the tests of fleet do not build")?;
                    broken += 1;
                }
                Err(missing) => writeln!(out, "skipped: the tests of fleet need {missing}")?,
            }
        }
        let built = started.elapsed();
        let wanted = |program: &Program| {
            self.only.is_empty() || self.only.iter().any(|name| program.is_called(name))
        };
        let programs: Vec<Program> = programs.into_iter().filter(wanted).collect();
        let started = Instant::now();
        // `./test --twice` looks for what fails by chance.
        let (ended, steps) = run::all(&programs, self.long, !self.bare, || self.steps(with_fleet))?;
        broken += steps?;
        let mut sum = TestCount::default();
        for (program, text, good) in &ended {
            let mut count = TestCount::of(text);
            // A program that broke before it could count has failed, too.
            if !good && count.failed == 0 {
                count.failed = 1;
                count.failures.push_str(text);
            }
            if count.failed > 0 {
                writeln!(out, "---- {} failed:\n{}", program.title(), count.failures)?;
            }
            sum.add(count);
        }
        for line in &sum.remarks {
            writeln!(out, "{line}")?;
        }
        if !sum.long.is_empty() && !self.long {
            let names = sum.long.join(", ");
            writeln!(out, "left out, `./test --long` runs them: {names}")?;
        }
        let (built, ran) = (built.as_secs(), started.elapsed().as_secs());
        writeln!(out, "build {built} s, tests {ran} s in {} programs", ended.len())?;
        let TestCount { passed, skipped, .. } = sum;
        let failed = sum.failed + broken;
        writeln!(out, "iowhy: {passed} passed, {failed} failed, {skipped} skipped")?;
        Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    }

    /// Format, lints and examples, of which only a failure is printed; how many failed.
    fn steps(&self, with_fleet: bool) -> io::Result<usize> {
        let all = STEPS.iter().filter(|_| self.only.is_empty() && !self.bare);
        let mut steps: Vec<_> =
            all.map(|(name, arguments)| (*name, build::cargo(arguments))).collect();
        if with_fleet
            && !self.bare
            && let Ok(format) = build::fleet(&["fmt", "--check"])?
        {
            steps.push(("format of fleet", format));
        }
        let mut failed = 0;
        for (name, cargo) in &mut steps {
            let started = Instant::now();
            let output = build::yielding(cargo).output()?;
            let good = output.status.success();
            let result = if good { "ok" } else { "FAILED" };
            let mut text = format!("{:6.1} s  {name}: {result}\n", started.elapsed().as_secs_f64());
            if !good {
                failed += 1;
                text += &String::from_utf8_lossy(&output.stdout);
                text += &String::from_utf8_lossy(&output.stderr);
            }
            write!(io::stdout(), "{text}")?;
        }
        Ok(failed)
    }
}
