//! A sentence beside a capture that says the machine is a guest.

/// Words of hypervisors in lower case, and what they are called.
const HYPERVISORS: [(&str, &str); 8] = [
    ("esxi", "VMware"),
    ("hyper-v", "Hyper-V"),
    ("kvm", "KVM"),
    ("proxmox", "KVM"),
    ("qemu", "KVM"),
    ("virtualbox", "VirtualBox"),
    ("vmware", "VMware"),
    ("vsphere", "VMware"),
];
/// Words for a guest, and for a device of the host that it owns: then what it sees is real.
const GUEST: [&str; 3] = ["vm", "guest", "virtual"];
const OWNED: [&str; 4] = ["passthrough", "pass-through", "passed", "rdm"];

/// The hypervisor of the guest that a sentence is about.
pub(crate) fn hypervisor(text: &str) -> Option<&'static str> {
    let is_end = |c: char| !c.is_alphanumeric() && c != '-';
    let words = || text.split(is_end);
    let is_word = |word: &str, known: &str| word.eq_ignore_ascii_case(known);
    let says = |known: &[&str]| words().any(|word| known.iter().any(|one| is_word(word, one)));
    let place = |word| HYPERVISORS.iter().position(|(known, _)| is_word(word, known));
    let (_, name) = HYPERVISORS.get(words().filter_map(place).min()?)?;
    (says(&GUEST) && !says(&OWNED)).then_some(*name)
}

#[cfg(test)]
mod tests {
    use super::hypervisor;

    #[test]
    fn a_guest_is_told_from_its_host_and_from_a_disk_it_owns() {
        assert_eq!(hypervisor("the VM runs on ESXi 6, its disks on a SAN"), Some("VMware"));
        assert_eq!(hypervisor("(guest of Hyper-V)"), Some("Hyper-V"));
        assert_eq!(hypervisor("Proxmox host, twelve VMs on it"), None);
        assert_eq!(hypervisor("VM on ESXi, the disk by passthrough"), None);
        assert_eq!(hypervisor("a virtual disk"), None);
    }
}
