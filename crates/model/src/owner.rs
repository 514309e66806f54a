//! The owner of a control group: the systemd unit, the container and the pod named in its path.
//!
//! Paths as systemd, Docker, containerd, CRI-O, Podman and the kubelet make them, in both versions
//! of control groups and with both drivers: `systemd` (`docker-ID.scope`,
//! `kubepods-burstable-podUID.slice`) and `cgroupfs` (`/docker/ID`,
//! `/kubepods/burstable/podUID/ID`).

use std::collections::BTreeMap;

use crate::{Recording, key};

/// Length of a container ID in hexadecimal digits, and how many of them tools show.
const ID: usize = 64;
const SHOWN: usize = 12;

/// What a control group's path names.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub struct Owner {
    /// The systemd unit: `mariadb.service`, `session-3.scope`; none for a container.
    pub unit: Option<String>,
    /// The container: 64 hexadecimal digits, or the name that LXC and machinectl give it.
    pub container: Option<String>,
    /// The UID of the pod, as the API server writes it.
    pub pod: Option<String>,
}

impl Owner {
    /// The owner named by a path from the root of the hierarchy; empty for a group without one.
    pub fn of_cgroup(path: &str) -> Owner {
        let mut owner = Owner::default();
        let mut parts = path.split(['/', ':']).filter(|part| !part.is_empty()).peekable();
        while let Some(part) = parts.next() {
            let bare = part.trim_end_matches(".scope").trim_end_matches(".service");
            if let Some(uid) = pod_of(part) {
                owner.pod = Some(uid);
            } else if let Some(id) = container_of(bare) {
                (owner.container, owner.unit) = (Some(id.to_string()), None);
            } else if let Some(name) = machine_of(part, parts.peek().copied()) {
                (owner.container, owner.unit) = (Some(name), None);
            } else if is_unit(part) {
                owner.unit = Some(unescaped(part));
            }
        }
        owner
    }
}

/// The ID of a container at the end of a path component: `ID`, `docker-ID`, `cri-containerd-ID`,
/// `crio-conmon-ID`.
fn container_of(part: &str) -> Option<&str> {
    let id = part.rsplit('-').next()?;
    (id.len() == ID && id.bytes().all(is_hex)).then_some(id)
}

/// A container with a name instead: LXC (`lxc.payload.web`, `lxc/web`) and machinectl
/// (`machine-web.scope`).
fn machine_of(part: &str, next: Option<&str>) -> Option<String> {
    let of_lxc = part.strip_prefix("lxc.payload.").or_else(|| part.strip_prefix("lxc.monitor."));
    let of_lxc = of_lxc.or_else(|| next.filter(|_| part == "lxc"));
    let machine = || part.strip_prefix("machine-")?.strip_suffix(".scope").map(unescaped);
    of_lxc.map(str::to_string).or_else(machine).filter(|name| !name.is_empty())
}

/// The UID in `podUID` and `kubepods-burstable-podUID.slice`, where systemd has `_` for `-`. That
/// of a static pod is a hash without hyphens.
fn pod_of(part: &str) -> Option<String> {
    let part = part.strip_suffix(".slice").unwrap_or(part);
    let uid = match part.strip_prefix("pod") {
        Some(uid) => uid,
        None => part.rsplit_once("-pod").filter(|(group, _)| group.contains("kubepods"))?.1,
    };
    let uid = uid.replace('_', "-");
    let lengths: Vec<usize> = uid.split('-').map(str::len).collect();
    let sound = uid.bytes().all(|byte| byte == b'-' || is_hex(byte));
    (sound && matches!(lengths.as_slice(), [8, 4, 4, 4, 12] | [32])).then_some(uid)
}

fn is_hex(byte: u8) -> bool {
    byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte)
}

/// Units that have control groups (systemd.resource-control(5)); slices only contain others.
fn is_unit(part: &str) -> bool {
    let kinds = [".service", ".scope", ".socket", ".mount", ".swap"];
    kinds.iter().any(|kind| part.len() > kind.len() && part.ends_with(kind))
}

/// A unit's name with its escapes undone: `\x2d` is a hyphen (systemd-escape(1)).
fn unescaped(unit: &str) -> String {
    let mut parts = unit.split("\\x");
    let mut text = parts.next().unwrap_or_default().to_string();
    for part in parts {
        let code = part.get(..2).and_then(|code| u8::from_str_radix(code, 16).ok());
        match (code.filter(|code| (b' '..=b'~').contains(code)), part.get(2..)) {
            (Some(code), Some(rest)) => {
                text.extend([char::from(code)].into_iter().chain(rest.chars()))
            }
            _ => text.extend(["\\x", part]),
        }
    }
    text
}

/// The names of pods and containers that a recording holds.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct OwnerNames {
    /// Namespace and name of a pod by its UID: `prod/db-0`.
    pods: BTreeMap<String, String>,
    /// Names of containers by their ID.
    containers: BTreeMap<String, String>,
}

impl OwnerNames {
    /// The names in the facts of a recording.
    pub fn of(recording: &Recording) -> OwnerNames {
        let mut names = OwnerNames::default();
        for fact in recording.listings.iter().flat_map(|listing| &listing.facts) {
            let Some(name) = fact.value.text() else { continue };
            if let Some(uid) = fact.key.member_of(key::POD) {
                names.pods.insert(uid.to_string(), name.to_string());
            } else if let Some(id) = fact.key.member_of(key::CONTAINER) {
                names.containers.insert(id.to_string(), name.to_string());
            }
        }
        names
    }

    /// Namespace and name of a pod: `prod/db-0`.
    pub fn pod(&self, uid: &str) -> Option<&str> {
        self.pods.get(uid).map(String::as_str)
    }

    /// A pod in words: its namespace and name, else its UID.
    pub fn pod_words(&self, uid: &str) -> String {
        self.pod(uid).unwrap_or(uid).to_string()
    }

    /// The name of a container.
    pub fn container(&self, id: &str) -> Option<&str> {
        self.containers.get(id).map(String::as_str)
    }

    /// A container in words: its name, else the twelve digits that `docker ps` shows.
    pub fn container_words(&self, id: &str) -> String {
        let short = || id.get(..SHOWN).filter(|_| id.len() == ID).unwrap_or(id);
        self.container(id).unwrap_or_else(short).to_string()
    }

    /// The owner of a control group in words: `pod prod/db-0`, `container web`, `mariadb.service`;
    /// `None` if it has none.
    pub fn words(&self, cgroup: &str) -> Option<String> {
        let owner = Owner::of_cgroup(cgroup);
        let container = owner.container.map(|id| self.container_words(&id));
        match (owner.pod, container) {
            (Some(uid), Some(container)) => {
                Some(format!("pod {}, container {container}", self.pod_words(&uid)))
            }
            (Some(uid), None) => Some(format!("pod {}", self.pod_words(&uid))),
            (None, Some(container)) => Some(format!("container {container}")),
            (None, None) => owner.unit,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Fact, Level, Sink, Source};

    const ID: &str = "3f4a1c0b9d8e7f6a5b4c3d2e1f0a9b8c7d6e5f4a3b2c1d0e9f8a7b6c5d4e3f2a";
    const UID: &str = "0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0";

    #[test]
    fn paths_of_both_versions_and_drivers_name_their_owners() {
        let slice = format!("kubepods-burstable-pod{}.slice", UID.replace('-', "_"));
        let (container, pod) = (Some(ID), Some(UID));
        let cases = [
            ("/".to_string(), None, None, None),
            ("/system.slice".to_string(), None, None, None),
            ("/system.slice/mariadb.service".to_string(), Some("mariadb.service"), None, None),
            (
                "/user.slice/user-1000.slice/session-3.scope".to_string(),
                Some("session-3.scope"),
                None,
                None,
            ),
            (
                "/user.slice/user-1000.slice/user@1000.service/app.slice/app-backup.service"
                    .to_string(),
                Some("app-backup.service"),
                None,
                None,
            ),
            (
                "/system.slice/system-postgresql.slice/postgresql@15-main.service".to_string(),
                Some("postgresql@15-main.service"),
                None,
                None,
            ),
            (r"/system.slice/mnt-a\x2db.mount".to_string(), Some("mnt-a-b.mount"), None, None),
            // Docker with systemd and with cgroupfs, one inside of another, and below a task of
            // ECS.
            (format!("/system.slice/docker-{ID}.scope"), None, container, None),
            (format!("/docker/{ID}"), None, container, None),
            (format!("/docker/{}/docker/{ID}", ID.replace('3', "4")), None, container, None),
            (format!("/ecs/0123456789abcdef0123456789abcdef/{ID}"), None, container, None),
            // Podman as root and as a user.
            (format!("/machine.slice/libpod-{ID}.scope/container"), None, container, None),
            (
                format!(
                    "/user.slice/user-1000.slice/user@1000.service/user.slice/libpod-{ID}.scope"
                ),
                None,
                container,
                None,
            ),
            // The kubelet with systemd and with cgroupfs, containerd and CRI-O.
            (
                format!(
                    "/kubepods.slice/kubepods-burstable.slice/{slice}/cri-containerd-{ID}.scope"
                ),
                None,
                container,
                pod,
            ),
            (
                format!("/kubepods.slice/kubepods-burstable.slice/{slice}/crio-{ID}.scope"),
                None,
                container,
                pod,
            ),
            (format!("/kubepods.slice/{slice}"), None, None, pod),
            (
                format!(
                    "/kubelet.slice/kubelet-kubepods.slice/kubelet-{slice}/cri-containerd-{ID}.scope"
                ),
                None,
                container,
                pod,
            ),
            (format!("/kubepods/besteffort/pod{UID}/{ID}"), None, container, pod),
            (format!("/kubepods/pod{UID}/{ID}"), None, container, pod),
            (
                format!("/system.slice/containerd.service/{slice}:cri-containerd:{ID}"),
                None,
                container,
                pod,
            ),
            // A static pod.
            (
                format!("/kubepods/burstable/pod0123456789abcdef0123456789abcdef/{ID}"),
                None,
                container,
                Some("0123456789abcdef0123456789abcdef"),
            ),
            // A service inside a container.
            (
                format!("/docker/{ID}/system.slice/sshd.service"),
                Some("sshd.service"),
                container,
                None,
            ),
            ("/lxc.payload.web/system.slice".to_string(), None, Some("web"), None),
            ("/lxc/web".to_string(), None, Some("web"), None),
            (r"/machine.slice/machine-web\x2d1.scope".to_string(), None, Some("web-1"), None),
            ("/podman/podcast".to_string(), None, None, None),
            ("cgroup 4711".to_string(), None, None, None),
        ];
        for (path, unit, container, pod) in cases {
            let owned = |text: Option<&str>| text.map(str::to_string);
            let wanted = Owner { unit: owned(unit), container: owned(container), pod: owned(pod) };
            assert_eq!(Owner::of_cgroup(&path), wanted, "{path}");
        }
    }

    #[test]
    fn owners_are_called_by_the_names_that_are_known() {
        let mut recording = Recording::new();
        recording.begin(Source::new("host-facts", "live", Level::E));
        recording.fact(Fact::read(None, key::POD.member(UID), "prod/db-0", "/var/log/pods"));
        let names = OwnerNames::of(&recording);
        let words = |path: String| names.words(&path);
        let reported = format!("pod prod/db-0, container {}", &ID[..12]);
        assert_eq!(words(format!("/kubepods/pod{UID}/{ID}")), Some(reported));
        assert_eq!(words(format!("/docker/{ID}")), Some(format!("container {}", &ID[..12])));
        assert_eq!(words("/a.slice/b.service".to_string()), Some("b.service".to_string()));
        assert_eq!(words("/".to_string()), None);
    }
}
