//! Where tables lie: in a folder of this machine, or below a prefix in an object store.

use std::convert::Infallible;
use std::fmt::{self, Display, Formatter};
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use datafusion::datasource::listing::ListingTableUrl;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::{ObjectStore, RetryConfig};

use crate::tables::Table;

/// How the URL of a prefix in an object store begins.
const S3: &str = "s3://";
/// Retries for a server that does not answer: number and duration.
const RETRIES: usize = 4;
const PATIENCE: Duration = Duration::from_secs(30);
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

    /// One of its tables, as the engine names it.
    ///
    /// # Errors
    /// If the place is not a name.
    pub fn table(&self, table: Table) -> anyhow::Result<ListingTableUrl> {
        let path = self.absolute()?.join(table.name());
        Ok(ListingTableUrl::parse(format!("{}/", path.display()))?)
    }

    /// The object store that it lies in; `None` of a folder.
    ///
    /// # Errors
    /// If the environment does not show how to reach it.
    pub fn store(&self) -> anyhow::Result<Option<Arc<dyn ObjectStore>>> {
        let Some((bucket, _)) = self.bucket() else { return Ok(None) };
        anyhow::ensure!(!bucket.is_empty(), "`{self}` has no bucket\nhint: `s3://bucket/prefix`");
        let retry =
            RetryConfig { max_retries: RETRIES, retry_timeout: PATIENCE, ..RetryConfig::default() };
        let builder = AmazonS3Builder::from_env().with_bucket_name(bucket).with_retry(retry);
        // A server named without TLS is intended.
        let is_plain = [AmazonS3ConfigKey::Endpoint, AmazonS3ConfigKey::S3Endpoint]
            .iter()
            .filter_map(|key| builder.get_config_value(key))
            .any(|url| url.starts_with("http://"));
        let builder = if is_plain { builder.with_allow_http(true) } else { builder };
        Ok(Some(Arc::new(builder.build().with_context(|| format!("`{self}`"))?)))
    }

    /// The error if its files cannot be listed.
    pub fn unreachable(&self) -> String {
        match self.bucket() {
            Some(_) => format!("cannot read `{self}`\n{HINT}"),
            None => format!("cannot read `{self}`"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_no_folder() -> anyhow::Result<()> {
        let at = |text: &str| Place(text.to_string());
        let table = |text: &str| Ok::<_, anyhow::Error>(at(text).table(Table::Cells)?.to_string());
        assert_eq!(table("s3://fleet/2026/all/")?, "s3://fleet/2026/all/cells/");
        assert_eq!(table("s3://fleet")?, "s3://fleet/cells/");
        assert_eq!(table("/srv/a fleet")?, "file:///srv/a%20fleet/cells/");
        assert!(at("/srv/fleet").store()?.is_none());
        assert!(at("s3:///fleet").store().is_err());
        Ok(())
    }
}
