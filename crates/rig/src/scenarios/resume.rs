//! Runs kept in a file, a line of JSON each, so that an interrupted stage resumes where it stopped.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Write};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use iowhy_lab::written::{WrittenScenario, written};

use super::{Answer, Outcome, RunVerdicts};

/// The runs of a file.
#[derive(Debug)]
pub(super) struct RunLog {
    path: PathBuf,
    known: Vec<Outcome>,
}

impl RunLog {
    /// Reads what is there already. A run of a scenario that has changed since, or a line that was
    /// cut off, is as good as none.
    ///
    /// # Errors
    /// If the file is there and cannot be read.
    pub(super) fn open(path: &Path) -> io::Result<RunLog> {
        let mut known = Vec::new();
        match File::open(path) {
            Ok(file) => {
                for line in BufReader::new(file).lines() {
                    let value: Option<Value> = serde_json::from_str(&line?).ok();
                    known.extend(value.as_ref().and_then(outcome));
                }
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(error),
        }
        Ok(RunLog { path: path.to_path_buf(), known })
    }

    /// The run of a scenario with a seed, if it is there.
    pub(super) fn find(&self, scenario: &WrittenScenario, seed: u64) -> Option<&Outcome> {
        self.known.iter().find(|known| known.scenario.name == scenario.name && known.seed == seed)
    }

    /// Adds a run.
    ///
    /// # Errors
    /// If it cannot be written.
    pub(super) fn add(&self, outcome: &Outcome) -> io::Result<()> {
        let mut file = File::options().create(true).append(true).open(&self.path)?;
        writeln!(file, "{}", line(outcome))
    }
}

fn line(outcome: &Outcome) -> Value {
    let answer = |answer: &Answer| {
        json!({
            "verdict": answer.verdict,
            "device": answer.device,
            "confidence": answer.confidence,
            "figure": answer.figure,
            "accused": answer.accused,
        })
    };
    let answers: Vec<Option<Value>> =
        outcome.judged.answers.iter().map(|known| known.as_ref().map(answer)).collect();
    json!({
        "scenario": outcome.scenario.name,
        "is": outcome.scenario.tells(),
        "seed": outcome.seed,
        "truth": outcome.truth,
        "requests": outcome.requests,
        "late_ns": outcome.late,
        "faulty": outcome.faulty,
        "answers": answers,
    })
}

fn outcome(line: &Value) -> Option<Outcome> {
    let is = |one: &&WrittenScenario| {
        line["scenario"] == one.name.as_str() && line["is"] == one.tells().as_str()
    };
    let scenario = written().ok()?.iter().find(is)?;
    let answers = line["answers"].as_array()?;
    let at = |place: usize| answers.get(place).and_then(answer);
    Some(Outcome {
        scenario,
        seed: line["seed"].as_u64()?,
        truth: line["truth"].as_f64(),
        requests: usize::try_from(line["requests"].as_u64()?).ok()?,
        late: line["late_ns"].as_u64()?,
        faulty: serde_json::from_value(line["faulty"].clone()).ok()?,
        judged: RunVerdicts { answers: [at(0), at(1), at(2)] },
    })
}

fn answer(value: &Value) -> Option<Answer> {
    Some(Answer {
        verdict: value["verdict"].as_str()?.to_string(),
        device: value["device"].as_str().map(str::to_string),
        confidence: value["confidence"].as_f64()?,
        figure: value["figure"].as_f64(),
        accused: serde_json::from_value(value["accused"].clone()).ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_comes_back_as_it_was_kept_and_one_of_another_scenario_does_not() {
        let all = written().unwrap();
        let reported = |verdict: &str| {
            Some(Answer {
                verdict: verdict.to_string(),
                device: Some("loop7".to_string()),
                confidence: 0.96,
                figure: Some(7199.5),
                accused: vec![("loop7".to_string(), verdict.to_string())],
            })
        };
        let run = Outcome {
            scenario: &all[0],
            seed: 11,
            truth: Some(7200.0),
            requests: 930,
            late: 2_000_000,
            faulty: vec!["loop7".to_string()],
            judged: RunVerdicts { answers: [reported("device.retry"), None, reported("healthy")] },
        };
        let path = std::env::temp_dir().join(format!("iowhy-kept-{}", std::process::id()));
        RunLog { path: path.clone(), known: Vec::new() }.add(&run).unwrap();
        let kept = RunLog::open(&path).unwrap();
        std::fs::remove_file(&path).unwrap();
        let known = kept.find(&all[0], 11).unwrap();
        assert_eq!((line(known), &known.judged), (line(&run), &run.judged));
        assert!(kept.find(&all[0], 12).is_none() && kept.find(&all[1], 11).is_none());
        let mut changed = line(&run);
        changed["is"] = "another disk".into();
        assert!(outcome(&changed).is_none());
    }
}
