-- Noisy neighbours: disks that do four fifths of their host's I/O in an hour, and the mean of the others in that hour compared with their own usual mean.
-- key: host, hour, device
-- rows: cells where stage = 'D2C'
-- limit: 20
WITH by_hour AS (
  SELECT host, device, date_trunc('hour', time) AS hour, sum(count) AS ios, sum(sum) AS ns, count(*) AS cells
  FROM cells WHERE stage = 'D2C' GROUP BY host, device, date_trunc('hour', time)
), of_host AS (
  SELECT host, device, hour, ios, ns, cells, sum(ios) OVER (PARTITION BY host, hour) AS host_ios,
    sum(ns) OVER (PARTITION BY host, hour) AS host_ns,
    sum(ios) OVER (PARTITION BY host, device) AS own_ios, sum(ns) OVER (PARTITION BY host, device) AS own_ns,
    sum(ios) OVER (PARTITION BY host) AS all_ios, sum(ns) OVER (PARTITION BY host) AS all_ns
  FROM by_hour
)
SELECT host, hour, device,
  CAST(floor(CAST(ios AS DOUBLE) * 100 / CAST(host_ios AS DOUBLE)) AS BIGINT) AS percent_of_host,
  CASE WHEN host_ios > ios THEN
    CAST(floor(CAST(host_ns - ns AS DOUBLE) / CAST(host_ios - ios AS DOUBLE)) AS BIGINT) END AS others_mean_ns,
  CASE WHEN all_ios > own_ios THEN
    CAST(floor(CAST(all_ns - own_ns AS DOUBLE) / CAST(all_ios - own_ios AS DOUBLE)) AS BIGINT) END AS others_usual_ns,
  cells AS rows_read
FROM of_host
ORDER BY CASE WHEN ios * 5 >= host_ios * 4 AND host_ios > ios THEN 0 ELSE 1 END, 4 DESC, host, hour, device
