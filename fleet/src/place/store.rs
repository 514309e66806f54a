//! Places in object stores.

use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use datafusion::datasource::listing::ListingTableUrl;
use futures::TryStreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::path::Path;
use object_store::{ObjectMeta, ObjectStore, ObjectStoreExt, RetryConfig};
use parquet::file::reader::ChunkReader;

use super::Place;
use crate::tables::Table;

/// Retries for a server that does not answer: number and duration.
const RETRIES: usize = 4;
const PATIENCE: Duration = Duration::from_secs(30);

impl Place {
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

    /// The objects there, for those that wait for them; `None` of a folder.
    ///
    /// # Errors
    /// If the environment does not show how to reach it.
    pub fn objects(&self) -> anyhow::Result<Option<Bucket>> {
        let Some(store) = self.store()? else { return Ok(None) };
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        Ok(Some(Bucket { store, runtime }))
    }
}

/// A bucket.
pub struct Bucket {
    store: Arc<dyn ObjectStore>,
    runtime: tokio::runtime::Runtime,
}

impl Bucket {
    /// The files of a table of a place there, sorted.
    ///
    /// # Errors
    /// If they cannot be listed.
    pub fn list(&self, place: &Place, table: Table) -> anyhow::Result<Vec<ObjectMeta>> {
        let url = place.table(table)?;
        let listed = self.store.list(Some(url.prefix()));
        let mut found: Vec<ObjectMeta> = self.runtime.block_on(listed.try_collect())?;
        found.retain(|object| object.location.extension() == Some("parquet"));
        found.sort_by(|a, b| a.location.cmp(&b.location));
        Ok(found)
    }

    /// An object.
    ///
    /// # Errors
    /// If it cannot be read.
    pub fn bytes(&self, object: &Path) -> anyhow::Result<impl ChunkReader + use<>> {
        Ok(self.runtime.block_on(async { self.store.get(object).await?.bytes().await })?)
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
