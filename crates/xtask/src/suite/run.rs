//! Runs test programs in lanes: one after the other within a lane, the lanes side by side.

use std::io::{self, Write};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::time::Instant;

use super::Program;

/// Crates whose tests watch the kernel's block layer, and those that start the finished program. Each
/// kind waits for devices most of the time; everything else only computes.
const LANES: [&[&str]; 2] = [&["live", "rig"], &["iowhy", "probe"]];
/// Programs that take longest begin first, so that no lane ends with a long one.
const LONGEST: [&str; 5] = ["exactness", "live", "samples", "scenarios", "probe"];

/// Runs all of them; each comes back with what it printed, and whether it ended well.
///
/// # Errors
/// If one cannot be started.
pub fn all(programs: &[Program], long: bool) -> io::Result<Vec<(Program, String, bool)>> {
    let mut lanes: Vec<Vec<&Program>> = vec![Vec::new(); LANES.len() + 1];
    for program in programs {
        let lane = LANES.iter().position(|of| of.contains(&program.package.as_str()));
        lanes[lane.unwrap_or(LANES.len())].push(program);
    }
    for lane in &mut lanes {
        lane.sort_by_key(|program| {
            LONGEST.iter().position(|name| *name == program.name).unwrap_or(LONGEST.len())
        });
    }
    let ended = Mutex::new(Vec::new());
    let lane = |programs: Vec<&Program>| {
        for program in programs {
            let one = one(program, long)?;
            ended.lock().unwrap_or_else(|broken| broken.into_inner()).push(one);
        }
        io::Result::Ok(())
    };
    let lane = &lane;
    let results = std::thread::scope(|scope| {
        let threads: Vec<_> = lanes.into_iter().map(|of| scope.spawn(move || lane(of))).collect();
        let broke = |_| Err(io::Error::other("a lane broke"));
        let joined = threads.into_iter().map(|thread| thread.join().unwrap_or_else(broke));
        joined.collect::<io::Result<Vec<()>>>()
    });
    results?;
    Ok(ended.into_inner().unwrap_or_else(|broken| broken.into_inner()))
}

fn one(program: &Program, long: bool) -> io::Result<(Program, String, bool)> {
    let started = Instant::now();
    let mut command = Command::new(&program.path);
    command.arg("--show-output").current_dir(&program.folder).stdin(Stdio::null());
    if long {
        command.arg("--include-ignored").env("IOWHY_LONG", "1");
    }
    let output = command.stderr(Stdio::piped()).output()?;
    let mut text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.push_str(&String::from_utf8_lossy(&output.stderr));
    let results: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("test result: ")).collect();
    let result = results.join("; ");
    let counts = result.split("; finished").next().unwrap_or_default();
    let counts = counts.replace(" 0 measured;", "").replace("; 0 filtered out", "");
    let seconds = started.elapsed().as_secs_f64();
    writeln!(io::stdout(), "{seconds:6.1} s  {:<32} {counts}", program.title())?;
    Ok((program.clone(), text, output.status.success()))
}
