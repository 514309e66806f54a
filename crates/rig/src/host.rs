//! Whether this host has idle CPUs: a simulated disk keeps its times only if it gets a CPU when a
//! response is due.

use std::fs;

/// Share of the last ten seconds from which on tests of times show nothing.
const BUSY: f64 = 0.5;

/// Why times cannot be tested now, if they cannot: tasks wait for a CPU (`/proc/pressure/cpu`,
/// Documentation/accounting/psi.rst). A kernel that does not report it is trusted.
pub fn busy() -> Option<String> {
    let pressure = fs::read_to_string("/proc/pressure/cpu").ok()?;
    let share = some_avg10(&pressure)?;
    (share > BUSY).then(|| {
        let percent = 100.0 * share;
        format!("CPUs to spare: for {percent:.0} % of the last 10 s a task waited for one")
    })
}

/// `some avg10=12.34 ...` as a share.
fn some_avg10(pressure: &str) -> Option<f64> {
    let line = pressure.lines().find(|line| line.starts_with("some "))?;
    let field = line.split_whitespace().find_map(|field| field.strip_prefix("avg10="))?;
    Some(field.parse::<f64>().ok()? / 100.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_own_line_is_understood() {
        let text = "some avg10=95.64 avg60=96.86 avg300=93.10 total=31950335493\nfull avg10=0.00 \
                    avg60=0.00 avg300=0.00 total=0\n";
        assert!((some_avg10(text).unwrap() - 0.9564).abs() < 1e-9);
        assert_eq!(some_avg10(""), None);
    }
}
