-- Single I/Os by second and latency: a heat map of `events`.
-- key: second, low_ns
-- rows: events where bucket IS NOT NULL
SELECT e.second, b.low_ns, e.ios, e.ios AS rows_read
FROM (
    SELECT second, bucket, count(*) AS ios
    FROM events
    GROUP BY second, bucket
    -- Those without a bucket are left out by the join.
) e JOIN buckets b ON b.bucket = e.bucket
ORDER BY 1, 2
