-- The ten calls of gp that took longest, and what they did.
--
--   sqlite3 -box gp.sqlite < docs/nsight/slowest-calls.sql
--
-- A call is a range of gp that lies in no other of its thread. Its causes are the ranges inside, the
-- longest first, with the part of the call that each took: they nest, so parts add up to more than
-- the whole.

CREATE TEMP TABLE gp AS
SELECT e.rowid AS id, e.globalTid AS thread, e.start, e.end, coalesce(e.text, s.value) AS name,
       e.uint64Value AS value
FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId
WHERE e.eventType = 59 AND e.end IS NOT NULL
  AND e.domainId IN (SELECT d.domainId FROM NVTX_EVENTS d LEFT JOIN StringIds t ON t.id = d.textId
                     WHERE d.eventType = 75 AND coalesce(d.text, t.value) = 'gp');
CREATE INDEX temp.gp_by_start ON gp (thread, start);

CREATE TEMP TABLE slowest AS
SELECT id, thread, start, end, name, value FROM (
    SELECT *, max(end) OVER (PARTITION BY thread ORDER BY start, end DESC
                             ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS open_until
    FROM gp)
WHERE open_until IS NULL OR open_until <= start
ORDER BY end - start DESC LIMIT 10;

SELECT c.name, c.end - c.start AS ns, c.value AS bytes,
       c.start AS at_ns, c.thread & 0xffffff AS thread,
       coalesce((SELECT group_concat(cause, ', ') FROM (
           SELECT i.name || ' ' || (100 * sum(i.end - i.start) / max(1, c.end - c.start)) || '%'
                  || CASE count(*) WHEN 1 THEN '' ELSE ' (' || count(*) || ')' END AS cause
           FROM gp i
           WHERE i.thread = c.thread AND i.start >= c.start AND i.end <= c.end AND i.id <> c.id
           GROUP BY i.name ORDER BY sum(i.end - i.start) DESC LIMIT 6)), '') AS causes
FROM slowest c
ORDER BY ns DESC;
