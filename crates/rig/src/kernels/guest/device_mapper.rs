//! Devices of the device mapper, created and removed without its tools.

use std::fs::File;
use std::io;

use crate::faulty_disk::kernel::{MAPPER_HEADER, tell_mapper};

/// `DM_DEV_CREATE` and related ones, `include/uapi/linux/dm-ioctl.h`.
const CREATE: u32 = 3;
const REMOVE: u32 = 4;
const RESUME: u32 = 6;
const LOAD: u32 = 9;
/// The interface's major version, in every message.
const VERSION: u32 = 4;
/// Where the UUID is in `struct dm_ioctl`, after the name of 128 bytes.
const UUID: usize = 176;
/// Bytes of `struct dm_target_spec`.
const TARGET: usize = 40;

/// A mapped device, there until it is dropped.
#[derive(Debug)]
pub(super) struct MapperDevice {
    control: File,
    name: &'static str,
    /// Its name in /sys/block.
    pub device: String,
}

impl MapperDevice {
    /// Creates a device of this many sectors from one target with its parameters; of a volume group
    /// and a volume it is LVM's (lvm2: `LVM-` and both of their IDs).
    ///
    /// # Errors
    /// What the kernel says; nothing is left behind then.
    pub(super) fn new(
        name: &'static str,
        sectors: u64,
        target: &str,
        parameters: &str,
    ) -> io::Result<MapperDevice> {
        let uuid = if name.contains('-') { "LVM-rig" } else { "" };
        MapperDevice::with_uuid(name, uuid, sectors, target, parameters)
    }

    /// The same with a UUID.
    ///
    /// # Errors
    /// What the kernel says; nothing is left behind then.
    pub(super) fn with_uuid(
        name: &'static str,
        uuid: &str,
        sectors: u64,
        target: &str,
        parameters: &str,
    ) -> io::Result<MapperDevice> {
        let control = File::options().read(true).write(true).open("/dev/mapper/control")?;
        let mut create = header(name, 0, 0);
        let bytes = create.iter_mut().skip(UUID);
        bytes.zip(uuid.bytes()).for_each(|(byte, letter)| *byte = letter);
        tell_mapper(&control, CREATE, &mut create)?;
        // The number of the new device is at 40: minor in the low byte, as long as it is small.
        let minor = create.get(40).copied().unwrap_or(0);
        let mapped = MapperDevice { control, name, device: format!("dm-{minor}") };
        let padded = (parameters.len() + 1).next_multiple_of(8);
        let mut load = header(name, TARGET + padded, 1);
        load.extend_from_slice(&0u64.to_ne_bytes());
        load.extend_from_slice(&sectors.to_ne_bytes());
        load.extend_from_slice(&0u32.to_ne_bytes());
        load.extend_from_slice(&((TARGET + padded) as u32).to_ne_bytes());
        load.extend_from_slice(&field::<16>(target));
        load.extend_from_slice(parameters.as_bytes());
        load.resize(MAPPER_HEADER + TARGET + padded, 0);
        tell_mapper(&mapped.control, LOAD, &mut load)?;
        tell_mapper(&mapped.control, RESUME, &mut header(name, 0, 0))?;
        Ok(mapped)
    }

    /// Where it is opened.
    pub(super) fn path(&self) -> String {
        format!("/dev/{}", self.device)
    }
}

impl Drop for MapperDevice {
    fn drop(&mut self) {
        let _ = tell_mapper(&self.control, REMOVE, &mut header(self.name, 0, 0));
    }
}

/// `struct dm_ioctl` for a device, with this many bytes after it.
fn header(name: &str, behind: usize, targets: u32) -> Vec<u8> {
    let mut message = Vec::with_capacity(MAPPER_HEADER + behind);
    let size = (MAPPER_HEADER + behind) as u32;
    for word in [VERSION, 0, 0, size, MAPPER_HEADER as u32, targets] {
        message.extend_from_slice(&word.to_ne_bytes());
    }
    message.resize(48, 0);
    message.extend_from_slice(&field::<128>(name));
    message.resize(MAPPER_HEADER, 0);
    message
}

/// Text in a field of fixed length, followed by a zero.
fn field<const LENGTH: usize>(text: &str) -> [u8; LENGTH] {
    let mut bytes = [0; LENGTH];
    let own = text.bytes().take(LENGTH - 1);
    bytes.iter_mut().zip(own).for_each(|(byte, own)| *byte = own);
    bytes
}
