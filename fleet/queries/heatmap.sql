-- I/Os by hour and latency, over all disks: a heat map.
-- key: hour, low_ns
-- rows: cells where stage = 'D2C'
SELECT c.hour, b.low_ns, c.ios, c.rows_read
FROM (
    SELECT date_trunc('hour', time) AS hour, bucket, sum(count) AS ios, count(*) AS rows_read
    FROM cells
    WHERE stage = 'D2C'
    GROUP BY date_trunc('hour', time), bucket
) c JOIN buckets b ON b.bucket = c.bucket
ORDER BY 1, 2
