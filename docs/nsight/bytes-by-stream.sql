-- Bytes by stream over time: what was allocated and freed on each stream in each 10 ms.
--
--   nsys export --type sqlite --include-blobs=true gp.nsys-rep
--   sqlite3 -box gp.sqlite < docs/nsight/bytes-by-stream.sql
--
-- For captures at level 2, whose ranges carry a payload for each block. It is read from the blob
-- behind the 32 bytes that nsys puts there, as gp wrote it: 64-bit numbers, low byte first, of bytes asked, bytes of the block, address and stream
-- id, then 32 bits of the tier. "live_after" is the sum up to the end of the time slice of what was
-- allocated on the stream, less what was freed on it.

CREATE TEMP TABLE block AS
WITH gp AS (
    SELECT e.start, coalesce(e.text, s.value) AS name, substr(hex(e.binaryData), 65) AS payload
    FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId
    WHERE e.eventType = 59 AND e.binaryData IS NOT NULL
      AND e.domainId IN (SELECT d.domainId FROM NVTX_EVENTS d
                         LEFT JOIN StringIds t ON t.id = d.textId
                         WHERE d.eventType = 75 AND coalesce(d.text, t.value) = 'gp')
),
-- The place of each of a number's 8 bytes.
place(byte) AS (SELECT 0 UNION ALL SELECT byte + 1 FROM place WHERE byte < 7)
SELECT start, name,
       (SELECT sum(((instr('0123456789ABCDEF', substr(payload, 17 + 2 * byte, 1)) - 1) * 16
                    + instr('0123456789ABCDEF', substr(payload, 18 + 2 * byte, 1)) - 1)
                   << (8 * byte)) FROM place) AS block_bytes,
       (SELECT sum(((instr('0123456789ABCDEF', substr(payload, 49 + 2 * byte, 1)) - 1) * 16
                    + instr('0123456789ABCDEF', substr(payload, 50 + 2 * byte, 1)) - 1)
                   << (8 * byte)) FROM place) AS stream_id
FROM gp
WHERE (name GLOB 'alloc.*' AND name <> 'alloc.failed') OR name GLOB 'free.*';

WITH slice AS (
    SELECT start / 10000000 AS slice, stream_id,
           sum(CASE WHEN name GLOB 'alloc.*' THEN block_bytes ELSE 0 END) AS allocated,
           sum(CASE WHEN name GLOB 'free.*' THEN block_bytes ELSE 0 END) AS freed
    FROM block GROUP BY 1, 2
)
SELECT stream_id, slice * 10 AS from_ms, allocated, freed,
       sum(allocated - freed) OVER (PARTITION BY stream_id ORDER BY slice) AS live_after
FROM slice
ORDER BY stream_id, slice;
