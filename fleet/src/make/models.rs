//! The models of a generated fleet: what their disks need, and how much they are asked.

/// A model.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// Its name.
    pub name: &'static str,
    /// As `iowhy` calls it.
    pub class: &'static str,
    /// Bytes.
    pub size: u64,
    /// What a read and a write need when nothing waits, µs.
    pub service_us: [f64; 2],
    /// Spread of single requests, a logarithm.
    pub sigma: f64,
    /// Requests that it serves at once.
    pub channels: f64,
    /// I/Os per second of an ordinary disk of the model by day.
    pub usual: f64,
    /// Spread of the disks of a model, all well.
    pub varied: f64,
    /// In no order.
    pub firmwares: &'static [&'static str],
}

const TB: u64 = 1_000_000_000_000;

const ROTATIONAL: Model = Model {
    name: "",
    class: "rotational",
    size: TB,
    service_us: [7800.0, 6100.0],
    sigma: 0.45,
    channels: 1.0,
    usual: 45.0,
    varied: 0.05,
    firmwares: &[],
};

const FLASH: Model = Model {
    name: "",
    class: "flash",
    size: TB,
    service_us: [190.0, 95.0],
    sigma: 0.55,
    channels: 4.0,
    usual: 2_500.0,
    varied: 0.05,
    firmwares: &[],
};

const NVME: Model = Model {
    name: "",
    class: "nvme",
    size: TB,
    service_us: [92.0, 21.0],
    sigma: 0.35,
    channels: 16.0,
    usual: 12_000.0,
    varied: 0.05,
    firmwares: &[],
};

/// Twelve, as a fleet has them after some years.
pub const MODELS: [Model; 12] = [
    Model {
        name: "ROTOR-4T",
        size: 4 * TB,
        service_us: [7800.0, 6100.0],
        sigma: 0.45,
        usual: 45.0,
        varied: 0.05,
        firmwares: &["A1", "A3", "B0"],
        ..ROTATIONAL
    },
    Model {
        name: "ROTOR-8T",
        size: 8 * TB,
        service_us: [8200.0, 5900.0],
        sigma: 0.42,
        usual: 40.0,
        varied: 0.04,
        firmwares: &["C2", "C5"],
        ..ROTATIONAL
    },
    Model {
        name: "ROTOR-16T",
        size: 16 * TB,
        service_us: [7400.0, 5200.0],
        sigma: 0.40,
        usual: 52.0,
        varied: 0.05,
        firmwares: &["SN02", "SN04"],
        ..ROTATIONAL
    },
    Model {
        name: "ROTOR-20T",
        size: 20 * TB,
        service_us: [7600.0, 5500.0],
        sigma: 0.44,
        usual: 50.0,
        varied: 0.04,
        firmwares: &["SN01", "SN02"],
        ..ROTATIONAL
    },
    Model {
        name: "SATAF-960",
        size: TB,
        service_us: [190.0, 95.0],
        sigma: 0.55,
        usual: 2_500.0,
        varied: 0.06,
        firmwares: &["X1", "X2", "X4"],
        ..FLASH
    },
    Model {
        name: "SATAF-1920",
        size: 2 * TB,
        service_us: [175.0, 80.0],
        sigma: 0.50,
        usual: 3_000.0,
        varied: 0.05,
        firmwares: &["X2", "X4"],
        ..FLASH
    },
    Model {
        name: "SATAF-3840",
        size: 4 * TB,
        service_us: [185.0, 84.0],
        sigma: 0.52,
        usual: 2_800.0,
        varied: 0.05,
        firmwares: &["Q7", "Q9"],
        ..FLASH
    },
    Model {
        name: "NVF-1T6",
        size: TB,
        service_us: [92.0, 21.0],
        sigma: 0.35,
        usual: 12_000.0,
        varied: 0.05,
        firmwares: &["E1.0", "E1.2"],
        ..NVME
    },
    Model {
        name: "NVF-3T2",
        size: 3 * TB,
        service_us: [88.0, 19.0],
        sigma: 0.33,
        usual: 15_000.0,
        varied: 0.04,
        firmwares: &["E1.2", "E2.0"],
        ..NVME
    },
    Model {
        name: "NVF-6T4",
        size: 6 * TB,
        service_us: [84.0, 18.0],
        sigma: 0.34,
        channels: 24.0,
        usual: 18_000.0,
        varied: 0.05,
        firmwares: &["E2.0", "E2.1"],
        ..NVME
    },
    Model {
        name: "NVR-7T7",
        size: 8 * TB,
        service_us: [97.0, 24.0],
        sigma: 0.40,
        usual: 9_000.0,
        varied: 0.06,
        firmwares: &["R3", "R5", "R6"],
        ..NVME
    },
    Model {
        name: "NVR-15T",
        size: 15 * TB,
        service_us: [110.0, 27.0],
        sigma: 0.41,
        usual: 8_000.0,
        varied: 0.06,
        firmwares: &["R5", "R6"],
        ..NVME
    },
];
