-- Mean, median and 99th percentile of D2C per model, firmware and operation.
-- key: model, firmware, op
-- rows: cells where stage = 'D2C'
WITH disks AS (
  SELECT host, device, max(CASE WHEN key = 'model' THEN value END) AS model,
    max(CASE WHEN key = 'firmware' THEN value END) AS firmware
  FROM facts WHERE kind = 'fact' AND device IS NOT NULL GROUP BY host, device
), by_disk AS (
  SELECT host, device, op, bucket, sum(count) AS n, sum(sum) AS ns, count(*) AS cells
  FROM cells WHERE stage = 'D2C' GROUP BY host, device, op, bucket
), by_bucket AS (
  SELECT coalesce(d.model, '?') AS model, coalesce(d.firmware, '?') AS firmware, c.op, c.bucket,
    sum(c.n) AS n, sum(c.ns) AS ns, sum(c.cells) AS cells
  FROM by_disk c LEFT JOIN disks d ON d.host = c.host AND d.device = c.device
  GROUP BY coalesce(d.model, '?'), coalesce(d.firmware, '?'), c.op, c.bucket
), running AS (
  SELECT model, firmware, op, bucket, n, ns, cells,
    sum(n) OVER (PARTITION BY model, firmware, op ORDER BY bucket) AS upto,
    sum(n) OVER (PARTITION BY model, firmware, op) AS total
  FROM by_bucket
), placed AS (
  SELECT model, firmware, op, max(total) AS ios,
    CAST(floor(CAST(sum(ns) AS DOUBLE) / CAST(sum(n) AS DOUBLE)) AS BIGINT) AS mean_ns,
    min(CASE WHEN upto * 2 >= total THEN bucket END) AS p50,
    min(CASE WHEN upto * 100 >= total * 99 THEN bucket END) AS p99, sum(cells) AS rows_read
  FROM running GROUP BY model, firmware, op
)
SELECT a.model, a.firmware, a.op, a.ios, a.mean_ns, x.high_ns AS p50_ns, y.high_ns AS p99_ns, a.rows_read
FROM placed a JOIN buckets x ON x.bucket = a.p50 JOIN buckets y ON y.bucket = a.p99
ORDER BY a.model, a.firmware, a.op
