-- Where gp spent host time: of each tier (captures at level 2), and of each step of the slow path.
--
--   sqlite3 -box gp.sqlite < docs/nsight/time-per-tier.sql
--
-- A range "alloc.<tier>" or "free.<tier>" says which tier a call came to. A hit takes no longer than
-- that range; any other call has a range of its own around it, "alloc" or "free", whose length is
-- counted here. Steps of the slow path count in full each, the ones inside of them too.

CREATE TEMP TABLE gp AS
SELECT e.rowid AS id, e.globalTid AS thread, e.start, e.end, coalesce(e.text, s.value) AS name
FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId
WHERE e.eventType = 59 AND e.end IS NOT NULL
  AND e.domainId IN (SELECT d.domainId FROM NVTX_EVENTS d LEFT JOIN StringIds t ON t.id = d.textId
                     WHERE d.eventType = 75 AND coalesce(d.text, t.value) = 'gp');
CREATE INDEX temp.gp_by_name ON gp (thread, name, start);

WITH calls AS (
    SELECT b.name,
           b.end - b.start AS own_ns,
           (SELECT CASE WHEN o.end >= b.end THEN o.end - o.start END
            FROM gp o
            WHERE o.thread = b.thread AND o.start <= b.start
              AND o.name = substr(b.name, 1, instr(b.name, '.') - 1)
            ORDER BY o.start DESC LIMIT 1) AS call_ns
    FROM gp b
    WHERE b.name GLOB 'alloc.*' OR b.name GLOB 'free.*'
),
steps AS (
    SELECT name, end - start AS ns FROM gp
    WHERE name NOT IN ('alloc', 'free') AND NOT name GLOB 'alloc.*' AND NOT name GLOB 'free.*'
)
SELECT 'call' AS what, name, count(*) AS count, sum(coalesce(call_ns, own_ns)) AS total_ns,
       max(coalesce(call_ns, own_ns)) AS longest_ns
FROM calls GROUP BY name
UNION ALL
SELECT 'step', name, count(*), sum(ns), max(ns) FROM steps GROUP BY name
ORDER BY what, total_ns DESC;
