-- Single I/Os by second and latency, in eighths of a power of two: a heat map of what `events` holds.
-- key: second, low_ns
-- rows: events where d2c IS NOT NULL
SELECT e.second, CAST(round(1000 * power(2.0, e.step / 8.0)) AS BIGINT) AS low_ns, e.ios, e.ios AS rows_read
FROM (
    -- Half a nanosecond more, so that no latency lies on an edge.
    SELECT date_trunc('second', time) AS second, CAST(floor(8 * log2((d2c + 0.5) / 1000)) AS INT) AS step, count(*) AS ios
    FROM events
    WHERE d2c IS NOT NULL
    GROUP BY date_trunc('second', time), CAST(floor(8 * log2((d2c + 0.5) / 1000)) AS INT)
) e
ORDER BY 1, 2
