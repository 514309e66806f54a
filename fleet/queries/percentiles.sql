-- Percentiles of D2C per disk and operation, the upper edge of their bucket.
-- key: host, device, op
-- rows: cells where stage = 'D2C'
-- limit: 40
WITH by_bucket AS (
  SELECT host, device, op, bucket, sum(count) AS n, sum(sum) AS ns, count(*) AS cells
  FROM cells WHERE stage = 'D2C' GROUP BY host, device, op, bucket
), running AS (
  SELECT host, device, op, bucket, n, ns, cells,
    sum(n) OVER (PARTITION BY host, device, op ORDER BY bucket) AS upto,
    sum(n) OVER (PARTITION BY host, device, op) AS total
  FROM by_bucket
), placed AS (
  SELECT host, device, op, max(total) AS ios,
    CAST(floor(CAST(sum(ns) AS DOUBLE) / CAST(sum(n) AS DOUBLE)) AS BIGINT) AS mean_ns,
    min(CASE WHEN upto * 2 >= total THEN bucket END) AS p50,
    min(CASE WHEN upto * 100 >= total * 99 THEN bucket END) AS p99,
    min(CASE WHEN upto * 1000 >= total * 999 THEN bucket END) AS p999,
    sum(cells) AS rows_read
  FROM running GROUP BY host, device, op
)
SELECT a.host, a.device, a.op, a.ios, a.mean_ns, x.high_ns AS p50_ns, y.high_ns AS p99_ns,
  CASE WHEN a.ios >= 10000 THEN z.high_ns END AS p999_ns, a.rows_read
FROM placed a JOIN buckets x ON x.bucket = a.p50 JOIN buckets y ON y.bucket = a.p99
  JOIN buckets z ON z.bucket = a.p999
ORDER BY a.mean_ns DESC, a.host, a.device, a.op
