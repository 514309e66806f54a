//! Compares verdicts with the truth: every scenario is judged at every level, and the first finding
//! is compared with the expected one.
//!
//! [`Score::of`] runs the corpus; its tables are printed by `lab score` and kept in
//! `docs/results/accuracy.md`. A test runs a small part; it fails if a level gets worse.
//!
//! **Must never know:** how a detector decides.

mod accepted;
mod calibration;
mod case;
mod fit;
mod forecast;
mod published;
mod summary;
mod sweep;
mod tables;
mod written;

pub use calibration::Reliability;
pub use case::{Case, CaseVerdict, Opinion, Weighed};
pub use fit::FitTarget;
pub use forecast::{Forecast, forecasts, table as forecast_table};
pub use published::{
    GIVEN, Grade, PublishedCase, pasted, published, published_table, published_tables,
};
pub use summary::{Class, Summary};
pub use sweep::sweep;
pub use written::{WrittenAnswer, answer as written_answer, written_table};

use iowhy_diagnose::Calibration;
use iowhy_model::Level;

use crate::render::LEVELS;
use crate::scenarios::recipes;

/// From this confidence on a finding is an accusation (docs/METHOD.md, 11 Confidence).
const SAID_ALOUD: f64 = iowhy_model::STANDS;

/// The result of a corpus.
#[derive(Clone, Debug, Default)]
pub struct Score {
    /// Every scenario at every level.
    pub judged: Vec<CaseVerdict>,
}

impl Score {
    /// Judges this many scenarios per verdict, and a quarter as many of each misleading recipe.
    ///
    /// # Errors
    /// If a recipe is written wrong, or a rendering is not read.
    pub fn of(cases: usize, seed: u64) -> Result<Score, String> {
        let mut judged = of_all(&corpus(cases, seed), Case::judge)?;
        judged.sort_by(|a, b| (&a.case, a.level).cmp(&(&b.case, b.level)));
        Ok(Score { judged })
    }

    /// The tally of a level, without the misleading scenarios.
    pub fn summary(&self, level: Level) -> Summary {
        let of = |judged: &&CaseVerdict| judged.level == level && !judged.confounds;
        Summary::of(self.judged.iter().filter(of))
    }

    /// All judged scenarios whose disks are well, at a level, and how many of them were accused.
    pub fn accused(&self, level: Option<Level>) -> (usize, usize) {
        let here = |judged: &&CaseVerdict| level.is_none_or(|level| judged.level == level);
        let well: Vec<&CaseVerdict> =
            self.judged.iter().filter(here).filter(|judged| !judged.faulty).collect();
        (well.iter().filter(|judged| judged.accuses.is_some()).count(), well.len())
    }

    /// Every answer as a line of CSV.
    pub fn answers(&self) -> String {
        tables::answers(self)
    }

    /// All tables.
    pub fn tables(&self) -> String {
        let levels = LEVELS.map(|level| tables::level(self, level)).concat();
        format!(
            "{}\n{}\n{}\n{levels}{}\n{}",
            tables::totals(self),
            tables::reliability(self),
            tables::in_the_field(self),
            tables::misleading(self),
            tables::mistakes(self)
        )
    }
}

/// A table of the judge's calibration, fitted to a corpus: of each finding, or of what is reported
/// first. The scenarios that are only there to mislead are left out, as in the tables that show how
/// well it fits.
///
/// # Errors
/// If a recipe is written wrong, or a rendering is not read.
pub fn calibration(of: FitTarget, cases: usize, seed: u64) -> Result<String, String> {
    let so_far = match of {
        FitTarget::Each => Calibration::No,
        FitTarget::First => Calibration::Each,
    };
    let mut corpus = corpus(cases, seed);
    corpus.retain(|case| !case.recipe.confounds);
    let opinions = of_all(&corpus, |case| case.opinions(so_far))?;
    Ok(fit::table(&opinions, of, cases, seed))
}

/// What the judge thinks of the scenarios, as weighed by its rules, of each finding that counts for
/// itself.
///
/// # Errors
/// If a recipe is written wrong, or a rendering is not read.
pub fn opinions(cases: usize, seed: u64) -> Result<Vec<Opinion>, String> {
    let mut opinions = of_all(&corpus(cases, seed), |case| case.opinions(Calibration::No))?;
    opinions.retain(|opinion| fit::counts(opinion, FitTarget::Each));
    Ok(opinions)
}

/// Processes each case, on all CPUs.
pub(crate) fn of_all<C: Sync, T: Send>(
    cases: &[C],
    make: impl Fn(&C) -> Result<Vec<T>, String> + Sync,
) -> Result<Vec<T>, String> {
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    let part = |worker: usize| -> Result<Vec<T>, String> {
        let mut made = Vec::new();
        for case in cases.iter().skip(worker).step_by(workers) {
            made.extend(make(case)?);
        }
        Ok(made)
    };
    let parts: Vec<Result<Vec<T>, String>> = std::thread::scope(|scope| {
        let part = &part;
        let threads: Vec<_> =
            (0..workers).map(|worker| scope.spawn(move || part(worker))).collect();
        let lost = || Err("a worker died".to_string());
        threads.into_iter().map(|thread| thread.join().unwrap_or_else(|_| lost())).collect()
    });
    let mut all = Vec::new();
    for part in parts {
        all.extend(part?);
    }
    Ok(all)
}

/// The cases: each verdict's recipes take turns.
fn corpus(cases: usize, seed: u64) -> Vec<Case> {
    let recipes = recipes();
    let mut list = Vec::new();
    for (place, recipe) in recipes.iter().enumerate() {
        let twins: Vec<usize> = (0..recipes.len())
            .filter(|other| {
                let other = &recipes[*other];
                other.verdict == recipe.verdict && !other.confounds
            })
            .collect();
        let count = match twins.iter().position(|twin| *twin == place) {
            None => cases.div_ceil(4),
            Some(turn) => (cases + twins.len() - 1 - turn) / twins.len(),
        };
        list.extend((0..count).map(|number| Case { recipe: *recipe, number, seed }));
    }
    list
}
