"""What a capture of a program with gp has to hold, and the ready queries over it.

    python3 tests/check_nsight_capture.py CAPTURE.sqlite LEVEL

CAPTURE.sqlite was exported with --include-blobs=true from a run with GP_TRACE_LEVEL=LEVEL that grew
its pool. Prints what it found; exit 0: all is there.
"""

import pathlib
import sqlite3
import struct
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PUSH_POP, CATEGORY, DOMAIN = 59, 33, 75
HEADER_BYTES = 32  # nsys's, before what gp wrote:
BLOCK = struct.Struct("<4QI")  # bytes, block_bytes, address, stream_id, tier
BLOCK_BYTES = 88
TIERS = ["failed", "l1", "l2", "shared", "waited", "native", "node", "arena", "parked"]


def expect(holds, what):
    if not holds:
        sys.exit(f"FAILED: {what}")
    print(f"  {what}")


def read_domain(database):
    rows = database.execute(
        """SELECT d.domainId FROM NVTX_EVENTS d LEFT JOIN StringIds t ON t.id = d.textId
           WHERE d.eventType = ? AND coalesce(d.text, t.value) = 'gp'""",
        (DOMAIN,),
    ).fetchall()
    expect(len(rows) >= 1, "domain gp is there")
    return rows[0][0]


def read_ranges(database, domain):
    return database.execute(
        """SELECT e.start, e.end, e.globalTid, coalesce(e.text, s.value), e.uint64Value,
                  e.binaryData, e.category
           FROM NVTX_EVENTS e LEFT JOIN StringIds s ON s.id = e.textId
           WHERE e.eventType = ? AND e.domainId = ? ORDER BY e.globalTid, e.start, e.end DESC""",
        (PUSH_POP, domain),
    ).fetchall()


def check_nesting(ranges):
    open_until = {}
    for start, end, thread, name, *_ in ranges:
        if end is None:
            sys.exit(f"FAILED: a range {name} never ends")
        stack = open_until.setdefault(thread, [])
        while stack and stack[-1] <= start:
            stack.pop()
        if stack and end > stack[-1]:
            sys.exit(f"FAILED: a range {name} outlives the one that it began in")
        stack.append(end)
    expect(len(open_until) >= 1, f"ranges of {len(open_until)} threads nest")


def check_slow_path(ranges):
    names = [item[3] for item in ranges]
    for name in ("pool.create", "miss", "grow", "native.alloc"):
        expect(name in names, f"{names.count(name)} ranges {name}")
    sizes = {item[4] for item in ranges if item[3] == "native.alloc"}
    expect(all(size and size % 65536 == 0 for size in sizes), f"native.alloc has bytes {sizes}")


def check_categories(database, domain):
    names = {
        row[0]
        for row in database.execute(
            """SELECT coalesce(e.text, s.value) FROM NVTX_EVENTS e
               LEFT JOIN StringIds s ON s.id = e.textId
               WHERE e.eventType = ? AND e.domainId = ?""",
            (CATEGORY, domain),
        )
    }
    expect({"L1", "L2", "native", "wait"} <= names, f"categories {sorted(names)}")


def check_blocks(ranges, level):
    blocks = [item for item in ranges if item[3].partition(".")[0] in ("alloc", "free")]
    if level < 2:
        expect(not blocks, "no single blocks at level 1")
        return
    hits = [item for item in blocks if item[3] == "alloc.l1"]
    expect(len(hits) > 0, f"{len(blocks)} ranges of blocks, {len(hits)} of them alloc.l1")
    payloads = [item for item in blocks if item[5]]
    expect(len(payloads) > 0, f"{len(payloads)} blocks have a payload")
    for item in payloads:
        if len(item[5]) != HEADER_BYTES + BLOCK_BYTES:
            sys.exit(f"FAILED: a payload of {len(item[5])} bytes")
        asked, size, address, _, tier = BLOCK.unpack_from(item[5], HEADER_BYTES)
        if tier >= len(TIERS) or TIERS[tier] != item[3].partition(".")[2]:
            sys.exit(f"FAILED: tier {tier} of a range {item[3]}")
        if item[3] != "alloc.failed" and (asked > size or address % 512 != 0):
            sys.exit(f"FAILED: {asked} bytes asked, block of {size} at {address:#x}")
    expect(True, "every payload agrees with its range")


def check_counters(database):
    tables = [
        row[0]
        for row in database.execute("SELECT name FROM sqlite_master WHERE name LIKE '%COUNTER%'")
    ]
    names = [
        row[0]
        for row in database.execute("SELECT value FROM StringIds WHERE value LIKE 'gp pool %: %'")
    ]
    print(f"  counters: tables {tables}, names {names}")
    for table in tables:
        rows = database.execute(f"SELECT * FROM {table} LIMIT 3").fetchall()
        print(f"    {table}: {[c[1] for c in database.execute(f'PRAGMA table_info({table})')]}")
        for row in rows:
            print(f"      {row}")


def run_queries(path):
    for name in ("time-per-tier.sql", "slowest-calls.sql", "bytes-by-stream.sql"):
        text = (ROOT / "docs" / "nsight" / name).read_text()
        lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
        statements = [part.strip() for part in "\n".join(lines).split(";") if part.strip()]
        database = sqlite3.connect(path)
        for statement in statements[:-1]:
            database.execute(statement)
        cursor = database.execute(statements[-1])
        print(f"{name}:")
        print("  " + " | ".join(column[0] for column in cursor.description))
        for row in cursor.fetchmany(12):
            print("  " + " | ".join(map(str, row)))


def main():
    if len(sys.argv) != 3 or sys.argv[2] not in ("1", "2"):
        sys.exit(__doc__)
    path, level = sys.argv[1], int(sys.argv[2])
    database = sqlite3.connect(path)
    domain = read_domain(database)
    ranges = read_ranges(database, domain)
    check_nesting(ranges)
    check_slow_path(ranges)
    check_categories(database, domain)
    check_blocks(ranges, level)
    check_counters(database)
    run_queries(path)


if __name__ == "__main__":
    main()
