-- Cost of the tail latency: seconds waited beyond twice the median of the model and operation, and their share of all seconds waited.
-- key: model, op
-- rows: cells where stage = 'D2C'
WITH disks AS (
  SELECT host, device, max(CASE WHEN key = 'model' THEN value END) AS model
  FROM facts WHERE kind = 'fact' AND device IS NOT NULL GROUP BY host, device
), by_disk AS (
  SELECT host, device, op, bucket, sum(count) AS n, sum(sum) AS ns, count(*) AS cells
  FROM cells WHERE stage = 'D2C' GROUP BY host, device, op, bucket
), by_bucket AS (
  SELECT coalesce(d.model, '?') AS model, c.op, c.bucket, sum(c.n) AS n, sum(c.ns) AS ns, sum(c.cells) AS cells
  FROM by_disk c LEFT JOIN disks d ON d.host = c.host AND d.device = c.device
  GROUP BY coalesce(d.model, '?'), c.op, c.bucket
), running AS (
  SELECT model, op, bucket, n, ns, cells, sum(n) OVER (PARTITION BY model, op ORDER BY bucket) AS upto,
    sum(n) OVER (PARTITION BY model, op) AS total
  FROM by_bucket
), middle AS (
  SELECT r.model, r.op, min(b.high_ns) AS median_ns FROM running r JOIN buckets b ON b.bucket = r.bucket
  WHERE r.upto * 2 >= r.total GROUP BY r.model, r.op
)
SELECT r.model, r.op, sum(r.n) AS ios, max(m.median_ns) AS median_ns,
  CAST(floor(CAST(sum(r.ns) AS DOUBLE) / 1000000000) AS BIGINT) AS waited_s,
  CAST(floor(CAST(sum(CASE WHEN r.ns > 2 * m.median_ns * r.n THEN r.ns - 2 * m.median_ns * r.n ELSE 0 END) AS DOUBLE)
    / 1000000000) AS BIGINT) AS tail_s,
  CAST(floor(CAST(sum(CASE WHEN r.ns > 2 * m.median_ns * r.n THEN r.ns - 2 * m.median_ns * r.n ELSE 0 END) AS DOUBLE)
    * 1000 / CAST(sum(r.ns) AS DOUBLE)) AS BIGINT) AS tail_per_mille,
  sum(r.cells) AS rows_read
FROM running r JOIN middle m ON m.model = r.model AND m.op = r.op
GROUP BY r.model, r.op ORDER BY r.model, r.op
