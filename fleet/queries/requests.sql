-- Single I/Os by second and latency: a heat map of what `events` holds.
-- key: second, low_ns
-- rows: events where bucket IS NOT NULL
SELECT e.second, b.low_ns, e.ios, e.ios AS rows_read
FROM (
    SELECT second, bucket, count(*) AS ios
    FROM events
    WHERE bucket IS NOT NULL
    GROUP BY second, bucket
) e JOIN buckets b ON b.bucket = e.bucket
ORDER BY 1, 2
