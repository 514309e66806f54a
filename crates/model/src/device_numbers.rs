//! Device numbers, as older tools print them, become the names other listings use, and back.
//!
//! Only majors with a fixed meaning are named (kernel, `Documentation/admin-guide/devices.txt`);
//! the rest (device mapper, virtio, NVMe) are assigned at boot and stay `253:0`.

/// Majors of the sd driver, 16 disks each, in the order of their letters.
const SD_MAJORS: [u32; 16] =
    [8, 65, 66, 67, 68, 69, 70, 71, 128, 129, 130, 131, 132, 133, 134, 135];
/// Minors of one sd or xvd disk: itself and 15 partitions.
const MINORS_PER_DISK: u32 = 16;
/// Majors of IDE controllers, two disks each, and minors of a disk.
const IDE_MAJORS: [u32; 10] = [3, 22, 33, 34, 56, 57, 88, 89, 90, 91];
const MINORS_PER_IDE_DISK: u32 = 64;
/// Major of loop devices, one minor each.
const LOOP_MAJOR: u32 = 7;
/// Major of software RAID, one minor each.
const MD_MAJOR: u32 = 9;
/// Major of Xen disks.
const XVD_MAJOR: u32 = 202;

/// The name of a device or partition: (65, 128) is `sdy`, (202, 1) is `xvda1`, (253, 0) stays
/// `253:0`.
pub fn device_name(major: u32, minor: u32) -> String {
    let place = |majors: &[u32]| majors.iter().position(|known| *known == major);
    let (sd, ide) = (place(&SD_MAJORS), place(&IDE_MAJORS));
    match (sd, ide, major) {
        (Some(place), ..) => named(("sd", MINORS_PER_DISK), place as u32 * 16, minor),
        (_, Some(place), _) if minor < 2 * MINORS_PER_IDE_DISK => {
            named(("hd", MINORS_PER_IDE_DISK), place as u32 * 2, minor)
        }
        (.., XVD_MAJOR) => named(("xvd", MINORS_PER_DISK), 0, minor),
        (.., LOOP_MAJOR) => format!("loop{minor}"),
        (.., MD_MAJOR) => format!("md{minor}"),
        _ => format!("{major}:{minor}"),
    }
}

/// The same for a text such as `8,16` or `8:16`.
pub fn device_of_numbers(text: &str) -> Option<String> {
    let (major, minor) = text.split_once([',', ':'])?;
    Some(device_name(major.parse().ok()?, minor.parse().ok()?))
}

fn named((driver, minors): (&str, u32), first: u32, minor: u32) -> String {
    let letters = letters(first.saturating_add(minor / minors));
    match minor % minors {
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
    let disk = |driver: &str, minors: u32| {
        let rest = name.strip_prefix(driver)?;
        let letters = rest.trim_end_matches(|c: char| c.is_ascii_digit());
        let partition = rest.get(letters.len()..).unwrap_or_default();
        let partition = if partition.is_empty() { 0 } else { partition.parse().ok()? };
        if letters.is_empty() || letters.len() > 3 || partition >= minors {
            return None;
        }
        let index = letters.bytes().try_fold(0u32, |index, letter| {
            letter.is_ascii_lowercase().then(|| index * 26 + u32::from(letter - b'a') + 1)
        })?;
        Some((index - 1, partition))
    };
    let sd = || {
        let (index, partition) = disk("sd", MINORS_PER_DISK)?;
        let major = SD_MAJORS.get((index / MINORS_PER_DISK) as usize)?;
        Some((*major, index % MINORS_PER_DISK * MINORS_PER_DISK + partition))
    };
    let xvd = || {
        let (index, partition) = disk("xvd", MINORS_PER_DISK)?;
        Some((XVD_MAJOR, index * MINORS_PER_DISK + partition))
    };
    let ide = || {
        let (index, partition) = disk("hd", MINORS_PER_IDE_DISK)?;
        let major = IDE_MAJORS.get((index / 2) as usize)?;
        Some((*major, index % 2 * MINORS_PER_IDE_DISK + partition))
    };
    let plain = |driver: &str, major| Some((major, name.strip_prefix(driver)?.parse().ok()?));
    let given = || {
        let (major, minor) = name.split_once(':')?;
        Some((major.parse().ok()?, minor.parse().ok()?))
    };
    sd().or_else(xvd)
        .or_else(ide)
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
            (3, 0, "hda"),
            (22, 65, "hdd1"),
            (3, 200, "3:200"),
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
