//! Places in a list by device and a key of few values: found for each I/O without hashing.

use crate::DeviceId;

/// The place of each device and key that has one. Devices are numbered from 0 on.
#[derive(Clone, Debug)]
pub struct ByDevice<K>(Vec<Vec<(K, usize)>>);

impl<K> Default for ByDevice<K> {
    fn default() -> Self {
        ByDevice(Vec::new())
    }
}

impl<K: Copy + PartialEq> ByDevice<K> {
    /// The place, if there is one.
    pub fn get(&self, device: DeviceId, key: K) -> Option<usize> {
        let of_device = self.0.get(device.index())?;
        of_device.iter().find(|(known, _)| *known == key).map(|(_, place)| *place)
    }

    /// The place, or that of a new one.
    pub fn get_or(&mut self, device: DeviceId, key: K, new: impl FnOnce() -> usize) -> usize {
        if let Some(place) = self.get(device, key) {
            return place;
        }
        let place = new();
        if self.0.len() <= device.index() {
            self.0.resize_with(device.index() + 1, Vec::new);
        }
        if let Some(of_device) = self.0.get_mut(device.index()) {
            of_device.push((key, place));
        }
        place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_device_and_key_has_one_place() {
        let mut places = ByDevice::default();
        let mut next = 0;
        let mut place = |device: u32, key: char| {
            places.get_or(DeviceId::at(device), key, || {
                next += 1;
                next - 1
            })
        };
        let all = [(7, 'r'), (0, 'r'), (7, 'w'), (7, 'r'), (0, 'r')];
        assert_eq!(all.map(|(device, key)| place(device, key)), [0, 1, 2, 0, 1]);
        assert_eq!(places.get(DeviceId::at(7), 'w'), Some(2));
        assert_eq!(places.get(DeviceId::at(3), 'w'), None);
        assert_eq!(places.get(DeviceId::at(9), 'r'), None);
    }
}
