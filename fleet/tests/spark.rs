//! The same queries on a cluster of Apache Spark on this machine: a master and two workers, on
//! loopback.

#![allow(
    missing_docs,
    clippy::expect_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::unwrap_used
)]

use std::fs::File;
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

mod bucket;
use bucket::Bucket;

/// What the cluster is given to come up, and a query to end.
const PATIENCE: Duration = Duration::from_secs(180);

/// A cluster that ends with its owner.
struct Cluster {
    home: PathBuf,
    master: String,
    processes: Vec<Child>,
    folder: tempfile::TempDir,
}

impl Cluster {
    /// `None`, and a line that shows what is needed, where there is no Spark.
    fn start() -> Option<Cluster> {
        let home = std::env::var_os("SPARK_HOME").map(PathBuf::from).or_else(|| {
            let user = PathBuf::from(std::env::var_os("HOME")?);
            let library = std::fs::read_dir(user.join(".cache/iowhy/spark-py/lib")).ok()?;
            let mut found = library.flatten().map(|of| of.path().join("site-packages/pyspark"));
            found.find(|home| home.join("bin/spark-class").is_file())
        });
        let java = Command::new("java").arg("-version").stderr(Stdio::null()).status();
        let (Some(home), Ok(_)) = (home, java) else {
            println!(
                "skipped: needs Apache Spark and Java 17: `apt-get install default-jre-headless`, \
                 `python3 -m venv ~/.cache/iowhy/spark-py && ~/.cache/iowhy/spark-py/bin/pip install pyspark`"
            );
            return None;
        };
        let folder = tempfile::tempdir().unwrap();
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let mut cluster = Cluster {
            home,
            master: format!("spark://127.0.0.1:{port}"),
            processes: Vec::new(),
            folder,
        };
        let number = port.to_string();
        cluster.process(
            "org.apache.spark.deploy.master.Master",
            &["--host", "127.0.0.1", "--port", &number, "--webui-port", "0"],
        );
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the master of Spark does not come up");
            sleep(Duration::from_millis(200));
        }
        for _ in 0..2 {
            let master = cluster.master.clone();
            cluster.process(
                "org.apache.spark.deploy.worker.Worker",
                &[
                    "--host",
                    "127.0.0.1",
                    "--cores",
                    "1",
                    "--memory",
                    "1g",
                    "--webui-port",
                    "0",
                    &master,
                ],
            );
        }
        Some(cluster)
    }

    fn process(&mut self, class: &str, arguments: &[&str]) {
        let folder = self.folder.path();
        let child = Command::new(self.home.join("bin/spark-class"))
            .arg(class)
            .args(arguments)
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .env("SPARK_WORKER_DIR", folder.join("work"))
            .env("SPARK_LOG_DIR", folder.join("logs"))
            .env("SPARK_LOCAL_DIRS", folder.join("local"))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("Spark starts");
        self.processes.push(child);
    }

    /// What a query gives, or what is reported instead of it.
    fn query(&self, query: &str, folder: &Path) -> Result<String, String> {
        self.begin(query, folder, |_| {}).end()
    }

    fn begin(&self, query: &str, folder: &Path, more: impl FnOnce(&mut Command)) -> QueryGuard {
        // Files, because an unread pipe is full soon.
        let name = |what: &str| self.folder.path().join(what);
        let (out, err) = (name("out"), name("err"));
        let mut command = Command::new(env!("CARGO_BIN_EXE_iowhy-fleet"));
        command
            .args(["sql", query, "--csv", "--engine", "spark", "--master", &self.master])
            .arg(folder)
            .env("SPARK_HOME", &self.home)
            .env("SPARK_LOCAL_IP", "127.0.0.1")
            .stdout(File::create(&out).unwrap())
            .stderr(File::create(&err).unwrap());
        more(&mut command);
        QueryGuard { child: command.spawn().unwrap(), out, err }
    }
}

/// A query that is being answered.
struct QueryGuard {
    child: Child,
    out: PathBuf,
    err: PathBuf,
}

impl QueryGuard {
    fn end(mut self) -> Result<String, String> {
        let begun = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            if begun.elapsed() > PATIENCE {
                self.child.kill().unwrap();
                self.child.wait().unwrap();
                return Err("it did not end".to_string());
            }
            sleep(Duration::from_millis(50));
        };
        let out = std::fs::read_to_string(&self.out).unwrap();
        let err = std::fs::read_to_string(&self.err).unwrap();
        match status.success() {
            true => Ok(out),
            false if out.is_empty() && !err.is_empty() => Err(err),
            false => panic!("a failure with a result, or without a reason: {out}{err}"),
        }
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for process in &mut self.processes {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn embedded(query: &str, folder: &Path) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_iowhy-fleet"))
        .args(["sql", query, "--csv"])
        .arg(folder)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
#[ignore = "long: a Spark cluster of a master and two workers on loopback"]
fn spark_gives_the_same_bytes_and_a_lost_worker_no_wrong_ones() {
    let Some(mut cluster) = Cluster::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fleet = folder.path().join("fleet");
    let made = Command::new(env!("CARGO_BIN_EXE_iowhy-fleet"))
        .args(["make", "--disks", "64", "--days", "2", "--span", "3600"])
        .arg(&fleet)
        .status();
    assert!(made.unwrap().success());
    let names =
        ["heatmap", "models", "neighbours", "percentiles", "shared", "since", "tail", "worst"];
    for name in names {
        assert_eq!(cluster.query(name, &fleet).unwrap(), embedded(name, &fleet), "{name}");
    }
    // One of two workers goes while a query runs.
    let expected = embedded("percentiles", &fleet);
    let child = cluster.begin("percentiles", &fleet, |_| {});
    sleep(Duration::from_secs(6));
    let mut worker = cluster.processes.pop().unwrap();
    worker.kill().unwrap();
    worker.wait().unwrap();
    // The right bytes, or an error that says why there are none.
    if let Ok(got) = child.end() {
        assert_eq!(got, expected);
    }
}

/// Hadoop's client of S3 and its dependencies, if installed; else a line that shows how.
fn client_of_stores() -> Option<String> {
    let folder = PathBuf::from(std::env::var_os("HOME")?).join(".cache/iowhy/spark-jars");
    let jars: Vec<PathBuf> =
        std::fs::read_dir(&folder).into_iter().flatten().flatten().map(|jar| jar.path()).collect();
    let has = |name: &str| {
        jars.iter().any(|jar| jar.file_name().unwrap().to_string_lossy().starts_with(name))
    };
    if !["hadoop-aws-", "bundle-", "analyticsaccelerator-s3-"].iter().all(|name| has(name)) {
        println!(
            "skipped: needs, in ~/.cache/iowhy/spark-jars, what `mvn dependency:get -Dtransitive=false -Dartifact=...` \
             brings for org.apache.hadoop:hadoop-aws of the version of Spark's own hadoop-client-api, and of \
             software.amazon.awssdk:bundle and software.amazon.s3.analyticsaccelerator:analyticsaccelerator-s3 those \
             that hadoop-aws names (3.5.0, 2.35.4 and 1.3.1 for Spark 4.3)"
        );
        return None;
    }
    Some(format!("{}/*", folder.display()))
}

#[test]
#[ignore = "long: a Spark cluster and an object store on loopback"]
fn spark_reads_an_object_store() {
    let (Some(jars), Some(bucket)) = (client_of_stores(), Bucket::start()) else { return };
    let Some(cluster) = Cluster::start() else { return };
    let folder = tempfile::tempdir().unwrap();
    let fleet = folder.path().join("fleet");
    let made = Command::new(env!("CARGO_BIN_EXE_iowhy-fleet"))
        .args(["make", "--disks", "24", "--days", "1", "--span", "3600"])
        .arg(&fleet)
        .status();
    assert!(made.unwrap().success());
    let there = bucket.take(&fleet);
    for query in ["heatmap", "models"] {
        let with = |command: &mut Command| {
            command.envs(bucket.environment.iter().cloned());
            for side in ["driver", "executor"] {
                command.args(["--conf", &format!("spark.{side}.extraClassPath={jars}")]);
            }
        };
        let got = cluster.begin(query, Path::new(&there), with).end();
        assert_eq!(got.unwrap(), embedded(query, &fleet), "{query}");
    }
}
