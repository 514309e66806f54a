//! Times and sizes, as written on the command line.

/// `300ms`, `2s`, `40us`, in ns.
pub fn duration(text: &str) -> Option<u64> {
    let units = [("us", 1e3), ("ms", 1e6), ("s", 1e9)];
    let (number, unit) =
        units.iter().find_map(|(unit, ns)| Some((text.strip_suffix(unit)?, ns)))?;
    let value: f64 = number.parse().ok()?;
    (0.0..1e6).contains(&value).then_some((value * unit) as u64)
}

/// Bytes, with the suffixes K, M, G, T of 1024: `4096`, `128K`, `2G`.
pub fn size(text: &str) -> Option<u64> {
    let units = [('K', 10), ('M', 20), ('G', 30), ('T', 40)];
    let unit = units.iter().find_map(|(letter, bits)| Some((text.strip_suffix(*letter)?, *bits)));
    let (number, bits) = unit.unwrap_or((text, 0));
    number.parse::<u64>().ok()?.checked_mul(1 << bits)
}
