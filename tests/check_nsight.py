"""The ready queries and the timeline, over an export made here with known figures.

    python3 tests/check_nsight.py

The export has the tables and columns of Nsight Systems that they read. Exit 0: all is as expected.
"""

import os
import pathlib
import sqlite3
import struct
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
THREAD = (7 << 24) + 42


class Export:
    """A file as `nsys export --type sqlite` makes it."""

    def __init__(self, path):
        self.database = sqlite3.connect(path)
        self.database.executescript(
            """
            CREATE TABLE StringIds (id INTEGER PRIMARY KEY, value TEXT NOT NULL);
            CREATE TABLE NVTX_EVENTS (
                start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, color INTEGER,
                text TEXT, textId INTEGER, globalTid INTEGER, domainId INTEGER,
                uint64Value INTEGER, binaryData BLOB);
            """
        )
        self.strings = {}
        self.domain("gp", 1)
        self.domain("other", 2)

    def domain(self, name, number):
        self.database.execute(
            "INSERT INTO NVTX_EVENTS (start, eventType, text, domainId) VALUES (0, 75, ?, ?)",
            (name, number),
        )

    def range(self, name, start, end, value=None, payload=None, domain=1, color=0xFF76B900):
        if name not in self.strings:
            self.strings[name] = len(self.strings) + 1
            self.database.execute(
                "INSERT INTO StringIds VALUES (?, ?)", (self.strings[name], name)
            )
        self.database.execute(
            "INSERT INTO NVTX_EVENTS VALUES (?, ?, 59, ?, NULL, ?, ?, ?, ?, ?)",
            (start, end, color, self.strings[name], THREAD, domain, value, payload),
        )


def block(asked, block_bytes, stream_id):
    """As nsys stores it: one payload, of which schema, its length, and where it begins."""
    header = struct.pack("<QIIQQ", 1, 1, 1, 88, 32)
    return header + struct.pack("<4QI", asked, block_bytes, 0x7F0000000000, stream_id, 1) + bytes(52)


def fill(export):
    """A slow allocation, two hits and their frees, on two streams; and somebody else's ranges."""
    export.range("alloc", 1000, 9000, value=1000)
    export.range("miss", 1500, 8000, value=2 << 20)
    export.range("grow", 2000, 7000, value=32 << 20)
    export.range("native.alloc", 2500, 6500, value=32 << 20)
    export.range("alloc.native", 8500, 8510, payload=block(1000, 1024, 5))
    export.range("alloc.l1", 10000, 10020, payload=block(500, 512, 5))
    export.range("free.l1", 11000, 11030, payload=block(512, 512, 5))
    export.range("alloc.l1", 20_000_000, 20_000_025, payload=block(600, 1 << 33, 9))
    export.range("trim", 30_000_000, 30_002_000, value=0)
    export.range("native.free", 30_000_500, 30_001_500, value=32 << 20)
    export.range("miss", 0, 10**9, domain=2)
    export.database.commit()


def query(path, name):
    """The rows of the last statement of a ready query, without its comments."""
    text = (ROOT / "docs" / "nsight" / name).read_text()
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("--")]
    statements = [part.strip() for part in "\n".join(lines).split(";") if part.strip()]
    database = sqlite3.connect(path)
    for statement in statements[:-1]:
        database.execute(statement)
    return database.execute(statements[-1]).fetchall()


def expect(what, found, wanted):
    if found != wanted:
        sys.exit(f"{what}:\n  found  {found}\n  wanted {wanted}")


def check_queries(path):
    expect(
        "time per tier",
        query(path, "time-per-tier.sql"),
        [
            ("call", "alloc.native", 1, 8000, 8000),
            ("call", "alloc.l1", 2, 45, 25),
            ("call", "free.l1", 1, 30, 30),
            ("step", "miss", 1, 6500, 6500),
            ("step", "grow", 1, 5000, 5000),
            ("step", "native.alloc", 1, 4000, 4000),
            ("step", "trim", 1, 2000, 2000),
            ("step", "native.free", 1, 1000, 1000),
        ],
    )
    slowest = query(path, "slowest-calls.sql")
    expect("slowest call", slowest[0][:3], ("alloc", 8000, 1000))
    expect("its causes", slowest[0][5], "miss 81%, grow 62%, native.alloc 50%, alloc.native 0%")
    expect("calls", [row[0] for row in slowest],
           ["alloc", "trim", "free.l1", "alloc.l1", "alloc.l1"])
    expect(
        "bytes by stream",
        query(path, "bytes-by-stream.sql"),
        [(5, 0, 1536, 512, 1024), (9, 20, 1 << 33, 0, 1 << 33)],
    )


def check_timeline(path, directory):
    for name in ("timeline.svg", "timeline.png"):
        picture = os.path.join(directory, name)
        subprocess.run([ROOT / "script" / "nsight-timeline", path, picture], check=True)
        expect(f"{name} is a picture", os.path.getsize(picture) > 2000, True)
    svg = pathlib.Path(directory, "timeline.svg").read_text()
    for text in ("thread 42", "reserved", "live", "MiB"):
        expect(f"the picture says {text}", text in svg, True)


def main():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "gp.sqlite")
        export = Export(path)
        fill(export)
        export.database.close()
        check_queries(path)
        check_timeline(path, directory)
    print("queries and timeline are as expected")


if __name__ == "__main__":
    main()
