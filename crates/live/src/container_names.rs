//! Names of containers and pods, from the files in which runtimes and the kubelet keep them. No
//! server is contacted.

use std::fs::DirEntry;
use std::path::Path;

use iowhy_model::{FactKey, key};
use serde_json::Value;

use crate::foreign_files::{MOST_ENTRIES, own_entries, text_below};
use crate::sysfs::SysFact;

/// Folders whose entries name pods and containers: `NAMESPACE_NAME_UID` and
/// `POD_NAMESPACE_CONTAINER-ID.log` (Kubernetes, pkg/kubelet/kuberuntime, BuildPodLogsDirectory and
/// LogSymlink).
pub const LOGS_OF_PODS: [&str; 2] = ["/var/log/pods", "/var/log/containers"];
/// A folder for each container, with its settings (Moby, daemon/container, ConfigFileName).
const DOCKER: &str = "var/lib/docker/containers";
/// Lists of containers (containers/storage, containers.go), of Podman and CRI-O.
const STORAGE: &str = "var/lib/containers/storage";
const STORAGES: [&str; 3] = ["overlay", "btrfs", "vfs"];
const LISTS: [&str; 2] = ["containers.json", "volatile-containers.json"];
/// Files named after containers that contain their IDs (nerdctl, pkg/namestore):
/// `HASH/names/NAMESPACE/NAME`.
const NERDCTL: &str = "var/lib/nerdctl";

/// The names of pods and containers below a folder, `/` or one with the same layout.
pub(crate) fn owner_facts(root: &Path) -> Vec<SysFact> {
    let mut facts = Vec::new();
    let mut add = |key: FactKey, value: &str, place: &str| {
        let (value, path) = (value.to_string(), root.join(place).display().to_string());
        facts.push(SysFact { disk: String::new(), key, value, path });
    };
    for entry in own_entries(root, DOCKER).take(MOST_ENTRIES) {
        let place = format!("{DOCKER}/{}/config.v2.json", name(&entry));
        let settings = json(root, &place).unwrap_or_default();
        if let Some(called) = settings["Name"].as_str() {
            add(key::CONTAINER.member(name(&entry)), bare(called), &place);
        }
    }
    for (storage, list) in STORAGES.iter().flat_map(|one| LISTS.map(|list| (one, list))) {
        let place = format!("{STORAGE}/{storage}-containers/{list}");
        let listed = json(root, &place);
        for one in listed.as_ref().and_then(Value::as_array).into_iter().flatten() {
            if let (Some(id), Some(called)) = (one["id"].as_str(), one["names"][0].as_str()) {
                add(key::CONTAINER.member(id), bare(called), &place);
            }
        }
    }
    for entry in own_entries(root, NERDCTL).take(MOST_ENTRIES) {
        let names = format!("{NERDCTL}/{}/names", name(&entry));
        for space in own_entries(root, &names).take(MOST_ENTRIES) {
            let folder = format!("{names}/{}", name(&space));
            for entry in own_entries(root, &folder).take(MOST_ENTRIES) {
                let place = format!("{folder}/{}", name(&entry));
                if let Some(id) = text_below(root, &place) {
                    add(key::CONTAINER.member(id.trim()), &name(&entry), &place);
                }
            }
        }
    }
    // Last, because the kubelet's name is the one people know.
    for folder in LOGS_OF_PODS.map(|folder| folder.trim_start_matches('/')) {
        for entry in own_entries(root, folder).take(MOST_ENTRIES) {
            let name = name(&entry);
            match name.split('_').collect::<Vec<_>>().as_slice() {
                [space, pod, uid] if folder.ends_with("pods") => {
                    add(key::POD.member(*uid), &format!("{space}/{pod}"), folder);
                }
                [_, _, container] => {
                    let id = container.strip_suffix(".log").and_then(|name| name.rsplit_once('-'));
                    if let Some((name, id)) = id {
                        add(key::CONTAINER.member(id), name, folder);
                    }
                }
                _ => {}
            }
        }
    }
    facts
}

fn name(entry: &DirEntry) -> String {
    entry.file_name().to_string_lossy().into_owned()
}

fn json(root: &Path, place: &str) -> Option<Value> {
    serde_json::from_str(&text_below(root, place)?).ok()
}

/// `/web` of Docker is `web`; `k8s_db_db-0_prod_UID_0` of a pod's runtime is `db`.
fn bare(called: &str) -> &str {
    let called = called.trim_start_matches('/');
    called.strip_prefix("k8s_").and_then(|rest| rest.split('_').next()).unwrap_or(called)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs;

    use super::*;

    #[test]
    fn runtimes_name_their_containers() {
        let root = std::env::temp_dir().join(format!("iowhy-containers-{}", std::process::id()));
        let write = |path: &str, text: &str| {
            let path = root.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("folders");
            fs::write(path, text).expect("a file");
        };
        write("var/lib/docker/containers/3f4a/config.v2.json", r#"{"ID":"3f4a","Name":"/web"}"#);
        write("var/lib/docker/containers/77aa/config.v2.json", "{\"ID\": cut");
        write(
            "var/lib/containers/storage/overlay-containers/containers.json",
            r#"[{"id":"aa11","names":["mail"]},{"id":"bb22"},
                {"id":"cc33","names":["k8s_db_db-0_prod_0f1e2d3c_0"]}]"#,
        );
        write("var/lib/nerdctl/1935db59/names/default/cache", "dd44\n");
        write("var/log/pods/prod_db-0_0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0/db/0.log", "");
        write("var/log/containers/db-0_prod_postgres-cc33.log", "");
        let facts = owner_facts(&root);
        fs::remove_dir_all(&root).expect("nobody needs it");
        let names: BTreeMap<String, String> =
            facts.into_iter().map(|fact| (fact.key.to_string(), fact.value)).collect();
        let wanted = [
            ("container.3f4a", "web"),
            ("container.aa11", "mail"),
            ("container.cc33", "postgres"),
            ("container.dd44", "cache"),
            ("pod.0f1e2d3c-4b5a-6978-8796-a5b4c3d2e1f0", "prod/db-0"),
        ];
        let wanted = wanted.map(|(key, name)| (key.to_string(), name.to_string()));
        assert_eq!(names, BTreeMap::from(wanted));
    }
}
