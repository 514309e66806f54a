-- Disks by their mean D2C compared with the median disk of their model and operation, in percent. Load is ignored; `iowhy-fleet why` accounts for it.
-- key: host, device, op
-- rows: cells where stage = 'D2C'
-- limit: 20
WITH disks AS (
  SELECT host, device, max(CASE WHEN key = 'model' THEN value END) AS model
  FROM facts WHERE kind = 'fact' AND device IS NOT NULL GROUP BY host, device
), by_disk AS (
  SELECT host, device, op, sum(count) AS ios, sum(sum) AS ns, count(*) AS rows_read
  FROM cells WHERE stage = 'D2C' GROUP BY host, device, op
), means AS (
  SELECT coalesce(d.model, '?') AS model, c.host, c.device, c.op, c.ios, c.rows_read,
    CAST(floor(CAST(c.ns AS DOUBLE) / CAST(c.ios AS DOUBLE)) AS BIGINT) AS mean_ns
  FROM by_disk c LEFT JOIN disks d ON d.host = c.host AND d.device = c.device
), ranked AS (
  SELECT model, op, mean_ns, row_number() OVER (PARTITION BY model, op ORDER BY mean_ns, host, device) AS place,
    count(*) OVER (PARTITION BY model, op) AS disks
  FROM means
), middle AS (
  SELECT model, op, min(mean_ns) AS median_ns FROM ranked WHERE place * 2 >= disks GROUP BY model, op
)
SELECT m.host, m.device, m.op, m.model, m.ios, m.mean_ns, x.median_ns,
  CAST(floor(CAST(m.mean_ns AS DOUBLE) * 100 / CAST(x.median_ns AS DOUBLE)) AS BIGINT) AS percent, m.rows_read
FROM means m JOIN middle x ON x.model = m.model AND x.op = m.op
ORDER BY 8 DESC, m.host, m.device, m.op
