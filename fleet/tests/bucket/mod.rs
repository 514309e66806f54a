//! An object store on loopback: the S3 that `moto` of PyPI plays.

use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// What the server is given to come up.
const PATIENCE: Duration = Duration::from_secs(60);
const BUCKET: &str = "fleet";

/// Puts every file below a folder into a bucket, under the folder's own name.
const UPLOAD: &str = r#"
import boto3, pathlib, sys
store = boto3.client("s3")
store.create_bucket(Bucket=sys.argv[1])
folder = pathlib.Path(sys.argv[2])
for path in sorted(folder.rglob("*")):
    if path.is_file():
        store.put_object(Bucket=sys.argv[1], Key=f"{folder.name}/{path.relative_to(folder)}", Body=path.read_bytes())
"#;

/// A server that ends with its owner.
pub struct Bucket {
    python: PathBuf,
    server: Child,
    /// What its clients find in their environment.
    pub environment: Vec<(&'static str, String)>,
}

impl Bucket {
    /// `None`, and a line that shows what is needed, where there is no moto.
    pub fn start() -> Option<Bucket> {
        let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
        let own = home.join(".cache/iowhy/fleet-py/bin/python");
        let python = if own.exists() { own } else { PathBuf::from("python3") };
        let has = Command::new(&python).args(["-c", "import boto3, moto.server"]).output();
        if !has.is_ok_and(|output| output.status.success()) {
            println!(
                "skipped: needs moto: `python3 -m venv ~/.cache/iowhy/fleet-py && \
                 ~/.cache/iowhy/fleet-py/bin/pip install 'moto[server]'`"
            );
            return None;
        }
        // A port that was free a moment ago.
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let server = Command::new(&python)
            .args(["-m", "moto.server", "-H", "127.0.0.1", "-p", &port.to_string()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let environment = [
            ("AWS_ENDPOINT_URL", format!("http://127.0.0.1:{port}")),
            ("AWS_ACCESS_KEY_ID", "of-the-test".to_string()),
            ("AWS_SECRET_ACCESS_KEY", "of-the-test".to_string()),
            ("AWS_REGION", "us-east-1".to_string()),
            ("AWS_DEFAULT_REGION", "us-east-1".to_string()),
        ];
        let bucket = Bucket { python, server, environment: environment.to_vec() };
        let begun = Instant::now();
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(begun.elapsed() < PATIENCE, "the object store does not come up");
            sleep(Duration::from_millis(100));
        }
        Some(bucket)
    }

    /// Takes a folder in; its URL there.
    pub fn take(&self, folder: &Path) -> String {
        let taken = Command::new(&self.python)
            .args(["-c", UPLOAD, BUCKET])
            .arg(folder)
            .envs(self.environment.iter().cloned())
            .output()
            .unwrap();
        assert!(taken.status.success(), "{}", String::from_utf8_lossy(&taken.stderr));
        format!("s3://{BUCKET}/{}", folder.file_name().unwrap().to_str().unwrap())
    }
}

impl Drop for Bucket {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}
