//! Device numbers, as older tools print them, become the names other listings use, and back.
//!
//! Only majors with a fixed meaning are named (kernel, `Documentation/admin-guide/devices.txt`);
//! the rest (device mapper, virtio, NVMe) are assigned at boot and stay `253:0`.

/// Majors of the sd driver, 16 disks each, in the order of their letters.
const SD_MAJORS: [u32; 16] =
    [8, 65, 66, 67, 68, 69, 70, 71, 128, 129, 130, 131, 132, 133, 134, 135];
/// Minors of one sd or xvd disk: itself and 15 partitions.
const MINORS_PER_DISK: u32 = 16;
/// Major of loop devices, one minor each.
const LOOP_MAJOR: u32 = 7;
/// Major of software RAID, one minor each.
const MD_MAJOR: u32 = 9;
/// Major of Xen disks.
const XVD_MAJOR: u32 = 202;

/// The name of a device or partition: (65, 128) is `sdy`, (202, 1) is `xvda1`, (253, 0) stays
/// `253:0`.
pub fn device_name(major: u32, minor: u32) -> String {
    let sd = SD_MAJORS.iter().position(|known| *known == major);
    match (sd, major) {
        (Some(place), _) => named("sd", place as u32 * 256 / MINORS_PER_DISK, minor),
        (_, XVD_MAJOR) => named("xvd", 0, minor),
        (_, LOOP_MAJOR) => format!("loop{minor}"),
        (_, MD_MAJOR) => format!("md{minor}"),
        _ => format!("{major}:{minor}"),
    }
}

/// The same for a text such as `8,16` or `8:16`.
pub fn device_of_numbers(text: &str) -> Option<String> {
    let (major, minor) = text.split_once([',', ':'])?;
    Some(device_name(major.parse().ok()?, minor.parse().ok()?))
}

fn named(driver: &str, first: u32, minor: u32) -> String {
    let letters = letters(first.saturating_add(minor / MINORS_PER_DISK));
    match minor % MINORS_PER_DISK {
        0 => format!("{driver}{letters}"),
        partition => format!("{driver}{letters}{partition}"),
    }
}

/// 0 is `a`, 25 `z`, 26 `aa`, as the sd driver counts.
fn letters(mut index: u32) -> String {
    let mut letters = Vec::new();
    loop {
        letters.push(char::from(b'a' + (index % 26) as u8));
        if index < 26 {
            return letters.iter().rev().collect();
        }
        index = index / 26 - 1;
    }
}

/// The numbers of a device or partition by its name: `sdy` is (65, 128), `253:0` (253, 0); `None`
/// where the name has no fixed ones.
pub fn numbers_of(name: &str) -> Option<(u32, u32)> {
    let disk = |driver: &str| {
        let rest = name.strip_prefix(driver)?;
        let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let partition = rest.get(letters.len()..).unwrap_or_default();
        let partition = if partition.is_empty() { 0 } else { partition.parse().ok()? };
        if letters.is_empty() || letters.len() > 3 || partition >= MINORS_PER_DISK {
            return None;
        }
        let index = letters.bytes().try_fold(0u32, |index, letter| {
            letter.is_ascii_lowercase().then(|| index * 26 + u32::from(letter - b'a') + 1)
        })?;
        Some((index - 1, partition))
    };
    let sd = || {
        let (index, partition) = disk("sd")?;
        let major = SD_MAJORS.get((index / MINORS_PER_DISK) as usize)?;
        Some((*major, index % MINORS_PER_DISK * MINORS_PER_DISK + partition))
    };
    let xvd = || {
        let (index, partition) = disk("xvd")?;
        Some((XVD_MAJOR, index * MINORS_PER_DISK + partition))
    };
    let plain = |driver: &str, major| Some((major, name.strip_prefix(driver)?.parse().ok()?));
    let given = || {
        let (major, minor) = name.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    sd().or_else(xvd)
        .or_else(|| plain("loop", LOOP_MAJOR))
        .or_else(|| plain("md", MD_MAJOR))
        .or_else(given)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_become_the_names_the_kernel_gives() {
        // 65:128 is sdy in the source document one_of_seventeen; the rest is from the kernel's
        // devices list.
        for (major, minor, name) in [
            (65, 128, "sdy"),
            (65, 48, "sdt"),
            (8, 0, "sda"),
            (8, 17, "sdb1"),
            (65, 160, "sdaa"),
            (135, 240, "sdiv"),
            (202, 1, "xvda1"),
            (202, 32, "xvdc"),
            (7, 3, "loop3"),
            (9, 0, "md0"),
            (253, 0, "253:0"),
            (259, 1, "259:1"),
        ] {
            assert_eq!(device_name(major, minor), name);
            // Dynamic majors have no fixed name, so the numbers serve as the name.
            assert_eq!(numbers_of(name), Some((major, minor)), "{name}");
        }
        assert_eq!(device_of_numbers("202,16").as_deref(), Some("xvdb"));
        assert_eq!(device_of_numbers("8:x"), None);
        device_name(u32::MAX, u32::MAX);
        device_name(8, u32::MAX);
    }
}
