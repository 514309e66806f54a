//! Where tables lie: in a folder of this machine, or below a prefix in an object store.

use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;

#[cfg(feature = "sql")]
mod store;

#[cfg(feature = "sql")]
pub use store::Bucket;

/// How the URL of a prefix in an object store begins.
const S3: &str = "s3://";
/// The error if a store cannot be reached.
const HINT: &str = "hint: credentials are taken from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY \
     (or the machine's own role), the region from AWS_REGION, a server other than Amazon's from \
     AWS_ENDPOINT_URL";

/// A folder, or `s3://bucket/prefix`; as it was given.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place(String);

impl FromStr for Place {
    type Err = Infallible;

    fn from_str(text: &str) -> Result<Place, Infallible> {
        Ok(Place(text.to_string()))
    }
}

impl From<&Path> for Place {
    fn from(folder: &Path) -> Place {
        Place(folder.display().to_string())
    }
}

impl Display for Place {
    fn fmt(&self, to: &mut Formatter<'_>) -> fmt::Result {
        to.write_str(&self.0)
    }
}

impl Place {
    /// The bucket and the prefix; `None` of a folder.
    fn bucket(&self) -> Option<(&str, &str)> {
        let rest = self.0.strip_prefix(S3)?;
        let (bucket, prefix) = rest.split_once('/').unwrap_or((rest, ""));
        Some((bucket, prefix.trim_matches('/')))
    }

    /// The same wherever it is read from: a URL, or a whole path.
    ///
    /// # Errors
    /// If there is no folder to begin from.
    pub fn absolute(&self) -> anyhow::Result<PathBuf> {
        Ok(match self.bucket() {
            Some(_) => PathBuf::from(self.0.trim_end_matches('/')),
            None => std::path::absolute(&self.0)?,
        })
    }

    /// The folder.
    ///
    /// # Errors
    /// If it is in an object store, or there is no folder to begin from.
    pub fn folder(&self) -> anyhow::Result<PathBuf> {
        anyhow::ensure!(
            self.bucket().is_none(),
            "`{self}`: this program was built without object stores\n\
             hint: build it with the feature `sql`"
        );
        self.absolute()
    }

    /// The error if its files cannot be listed.
    pub fn unreachable(&self) -> String {
        match self.bucket() {
            Some(_) => format!("cannot read `{self}`\n{HINT}"),
            None => format!("cannot read `{self}`"),
        }
    }
}
