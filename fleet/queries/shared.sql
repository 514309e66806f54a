-- What the slow disks share: of each model, firmware, kernel and label, disks, and those half slower than their model.
-- key: attribute, value
-- rows: cells where stage = 'D2C'
WITH disks AS (
  SELECT host, device, max(CASE WHEN key = 'model' THEN value END) AS model
  FROM facts WHERE kind = 'fact' AND device IS NOT NULL GROUP BY host, device
), by_disk AS (
  SELECT host, device, sum(CASE WHEN op = 'read' THEN count ELSE 0 END) AS ios,
    sum(CASE WHEN op = 'read' THEN sum ELSE 0 END) AS ns, count(*) AS cells
  FROM cells WHERE stage = 'D2C' GROUP BY host, device
), means AS (
  SELECT coalesce(d.model, '?') AS model, c.host, c.device, c.cells,
    CASE WHEN c.ios > 0 THEN CAST(floor(CAST(c.ns AS DOUBLE) / CAST(c.ios AS DOUBLE)) AS BIGINT) END AS mean_ns
  FROM by_disk c LEFT JOIN disks d ON d.host = c.host AND d.device = c.device
), ranked AS (
  SELECT model, mean_ns, row_number() OVER (PARTITION BY model ORDER BY mean_ns, host, device) AS place,
    count(*) OVER (PARTITION BY model) AS disks
  FROM means WHERE mean_ns IS NOT NULL
), middle AS (
  SELECT model, min(mean_ns) AS median_ns FROM ranked WHERE place * 2 >= disks GROUP BY model
), judged AS (
  SELECT m.host, m.device, m.cells, CASE WHEN m.mean_ns * 2 >= x.median_ns * 3 THEN 1 ELSE 0 END AS slow
  FROM means m LEFT JOIN middle x ON x.model = m.model
), stated AS (
  SELECT DISTINCT host, device, key AS attribute, value FROM facts
  WHERE (kind = 'fact' AND key IN ('model', 'firmware', 'kernel')) OR kind = 'label'
), joined AS (
  SELECT j.host, j.device, j.slow, s.attribute, s.value FROM judged j
  JOIN stated s ON s.host = j.host AND (s.device = j.device OR s.device IS NULL)
), counted AS (
  SELECT attribute, value, count(*) AS disks, sum(slow) AS slow_disks, CAST(0 AS BIGINT) AS rows_read
  FROM joined GROUP BY attribute, value
  UNION ALL
  SELECT 'all' AS attribute, 'disks' AS value, count(*) AS disks, sum(slow) AS slow_disks, sum(cells) AS rows_read
  FROM judged
)
SELECT attribute, value, disks, slow_disks,
  CAST(floor(CAST(slow_disks AS DOUBLE) * 1000 / CAST(disks AS DOUBLE)) AS BIGINT) AS slow_per_mille, rows_read
FROM counted ORDER BY 5 DESC, attribute, value
