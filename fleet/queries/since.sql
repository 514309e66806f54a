-- The first day on which a disk's mean D2C was half more than on its own best day, and how far it went.
-- key: host, device, op
-- rows: cells where stage = 'D2C'
-- limit: 20
WITH by_day AS (
  SELECT host, device, op, date, sum(count) AS ios, sum(sum) AS ns, count(*) AS cells
  FROM cells WHERE stage = 'D2C' GROUP BY host, device, op, date
), means AS (
  SELECT host, device, op, date, ios, cells,
    CAST(floor(CAST(ns AS DOUBLE) / CAST(ios AS DOUBLE)) AS BIGINT) AS mean_ns
  FROM by_day
), best AS (
  SELECT host, device, op, date, ios, cells, mean_ns,
    min(mean_ns) OVER (PARTITION BY host, device, op) AS best_ns
  FROM means
)
SELECT host, device, op, min(CASE WHEN mean_ns * 2 >= best_ns * 3 THEN date END) AS since,
  min(best_ns) AS best_ns, max(mean_ns) AS worst_ns,
  CAST(floor(CAST(max(mean_ns) AS DOUBLE) * 100 / CAST(min(best_ns) AS DOUBLE)) AS BIGINT) AS percent,
  sum(cells) AS rows_read
FROM best GROUP BY host, device, op
ORDER BY 7 DESC, host, device, op
