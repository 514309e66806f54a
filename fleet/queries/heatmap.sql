-- I/Os by hour and latency, over all disks: a heat map.
-- key: hour, low_ns
-- rows: cells where stage = 'D2C'
SELECT date_trunc('hour', c.time) AS hour, b.low_ns, sum(c.count) AS ios, count(*) AS rows_read
FROM cells c JOIN buckets b ON b.bucket = c.bucket
WHERE c.stage = 'D2C'
GROUP BY date_trunc('hour', c.time), b.low_ns
ORDER BY 1, 2
