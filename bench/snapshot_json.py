#!/usr/bin/env python3
"""Print what gp-trace needs of a PyTorch memory snapshot as JSON.

    snapshot_json.py FILE

FILE is a pickle, as torch.cuda.memory._dump_snapshot() writes it. A pickle may name any
function of Python's for its reader to call. A snapshot names none: it is made of dicts, lists,
texts and numbers. So this reader looks no name up, whatever the file says, and needs no PyTorch.

Exit code 0; 2 if the file is no sound snapshot, with one line on standard error that says why
and at which byte.
"""

import io
import json
import os
import pickle
import pickletools
import resource
import sys

TRACE_KEYS = ("action", "addr", "size", "stream", "time_us")
BLOCK_KEYS = ("address", "requested_size", "state")

# A few bytes of a damaged pickle may ask for any amount of memory. A sound one becomes about
# twenty times its size.
MEMORY_PER_BYTE = 64
MEMORY_AT_LEAST = 1 << 30

# Opcodes that make the reader look a name up, or call what was looked up.
CALLS = frozenset(
    "GLOBAL STACK_GLOBAL INST OBJ NEWOBJ NEWOBJ_EX REDUCE BUILD EXT1 EXT2 EXT4 PERSID BINPERSID".split()
)


class PlainUnpickler(pickle.Unpickler):
    """Reads plain values only."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"it names {module}.{name}; a snapshot holds plain values only")

    def persistent_load(self, pid):
        raise pickle.UnpicklingError("it refers to something outside; a snapshot does not")


def fault_position(data):
    """The byte at which reading stops to make sense, as far as the opcodes alone tell."""
    position = 0
    try:
        for opcode, _, position in pickletools.genops(data):
            if opcode.name in CALLS:
                break
    except (ValueError, OverflowError, MemoryError):
        pass
    return position


def load(data):
    limit = len(data) * MEMORY_PER_BYTE + MEMORY_AT_LEAST
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        return PlainUnpickler(io.BytesIO(data)).load()
    except MemoryError:
        reason = "it asks for more memory than a snapshot of its size needs"
    except RecursionError:
        reason = "it is nested too deeply"
    except Exception as error:  # Unpickler's own: "may also raise any exception" on wrong data
        reason = " ".join(str(error).split()) or type(error).__name__
    raise ValueError(f"byte {fault_position(data)}: {reason}")


def pick(value, keys):
    if not isinstance(value, dict):
        raise ValueError("it is no memory snapshot")
    return {key: value[key] for key in keys if isinstance(value.get(key), (int, str))}


def listed(value):
    if not isinstance(value, list):
        raise ValueError("it is no memory snapshot")
    return value


def pick_segment(segment):
    picked = pick(segment, ("device", "stream"))
    picked["blocks"] = [pick(block, BLOCK_KEYS) for block in listed(segment.get("blocks"))]
    return picked


def pick_snapshot(snapshot):
    if not isinstance(snapshot, dict):
        raise ValueError("it is no memory snapshot")
    return {
        "device_traces": [
            [pick(entry, TRACE_KEYS) for entry in listed(trace)]
            for trace in listed(snapshot.get("device_traces"))
        ],
        "segments": [pick_segment(segment) for segment in listed(snapshot.get("segments", []))],
    }


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    try:
        with open(sys.argv[1], "rb") as file:
            picked = pick_snapshot(load(file.read()))
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else error
        print(reason, file=sys.stderr)
        return 2
    try:
        sys.stdout.write(json.dumps(picked))
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads on: they have found what they need to know.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 0


if __name__ == "__main__":
    sys.exit(main())
