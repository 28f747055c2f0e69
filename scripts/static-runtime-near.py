#!/usr/bin/env python3
# Records a release of the static CUDA runtime that no archive of can be had, by a program and a neighbouring release.
"""Records a release of NVIDIA's static runtime in mapping/static from a program that has it linked in, by the table of
a release near it, where no archive of the release can be had. Between neighbours a few functions change, and all behind
them move: every function is looked for by its digest, at the distance from its old place that most of those not yet
found share. A function whose code changed keeps its predecessor's distance, if a prologue stands there behind another
function's end. Nothing is written unless all are found, in the order of before.
usage: scripts/static-runtime-near.py RELEASE NEIGHBOUR PROGRAM      e.g. 12.6.77 12.5.39 libcurand.so.10"""
import collections
import pathlib
import struct
import sys

STATIC = pathlib.Path(__file__).resolve().parent.parent / "mapping" / "static"
ALIGN, COVER, REACH = 16, 32, 0x8000  # as shim/audit/digest.h; REACH: how far a function may have moved, in bytes
WORD = (1 << 64) - 1
PROLOGUE = bytes.fromhex("554889e5")  # push %rbp; mov %rsp,%rbp
END = {0x00, 0x90, 0xc3}  # the last byte of a nop, nop, ret
CALLS = {0xe8, 0xe9}  # behind these a linker writes
CHANGED = 12  # bytes that the digest of a changed function covers


def digest(data, at, mask):
    """audit_digest of shim/audit/digest.h."""
    h = mask
    for i in range(COVER):
        if mask >> i & 1:
            h = (h ^ data[at + i]) * 0x100000001b3 & WORD
    return h


def anchor(data, at):
    """audit_anchor of the same."""
    h = int.from_bytes(data[at:at + 8], "little") * 0x9e3779b97f4a7c15 & WORD
    return h ^ h >> 29


def read_table(path):
    """The anchor's words and the rows (name, offset, mask, digest)."""
    release, rows = None, []
    for line in path.read_text().splitlines():
        words = line.split()
        if words and words[0] == "release":
            release = words
        elif words and words[0] != "#":
            rows.append((words[0], *(int(w, 16) for w in words[1:])))
    return release, rows


def text_of(data):
    """The executable segments (offset, size, first aligned offset) of a 64-bit ELF file."""
    at, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for k in range(count):
        kind, flags, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, at + k * size)
        if kind == 1 and flags & 1:
            yield offset, length, offset + -address % ALIGN


def find_base(data, rows, start, end):
    """Where most functions of whole digests are at one distance from their old offsets."""
    places = collections.defaultdict(list)
    wanted = {d for _, _, mask, d in rows if mask == (1 << COVER) - 1}
    for at in range(start, end - COVER, ALIGN):
        h = digest(data, at, (1 << COVER) - 1)
        if h in wanted:
            places[h].append(at)
    votes = collections.Counter(at - offset for _, offset, _, d in rows for at in places[d][:1000])
    return votes.most_common(1)[0] if votes else (0, 0)


def place(data, rows, base):
    """Offset from base of every function, or None for one that is not found."""
    found, missing = {}, rows
    while missing:
        votes = collections.Counter()
        for _, offset, mask, d in missing:
            for step in range(-REACH, REACH, ALIGN):
                if 0 <= base + offset + step <= len(data) - COVER and digest(data, base + offset + step, mask) == d:
                    votes[step] += 1
        if not votes:
            break
        step, count = votes.most_common(1)[0]
        print(f"{count} of {len(missing)} functions moved by {step}")
        for name, offset, mask, d in missing:
            if digest(data, base + offset + step, mask) == d:
                found[name] = offset + step
        missing = [row for row in missing if row[0] not in found]
    return found


def place_changed(data, rows, base, found):
    """Rows of functions whose code is another, at their predecessor's distance; None where no function begins."""
    old, changed = sorted(rows, key=lambda row: row[1]), {}
    for before, row in zip(old, old[1:]):
        if row[0] in found or before[0] not in found:
            continue
        offset = found[before[0]] + row[1] - before[1]
        first = data[base + offset:base + offset + CHANGED]
        if first[:4] != PROLOGUE or data[base + offset - 1] not in END or set(first) & CALLS:
            continue
        found[row[0]] = offset
        changed[row[0]] = (1 << CHANGED) - 1
        print(f"{row[0]} has other code")
    return changed


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    name, neighbour, program = sys.argv[1:]
    release, rows = read_table(STATIC / f"{neighbour}.runtime")
    data = pathlib.Path(program).read_bytes()
    base, votes, first = max(((*find_base(data, rows, start, offset + size), start)
                              for offset, size, start in text_of(data)), key=lambda b: b[1])
    if votes < len(rows) // 2:
        sys.exit(f"{program}: {votes} of {len(rows)} functions of {neighbour}")
    found = place(data, rows, base)
    changed = place_changed(data, rows, base, found)
    lost = [row[0] for row in rows if row[0] not in found]
    if lost:
        sys.exit(f"not found: {' '.join(lost)}")
    old = sorted(rows, key=lambda row: row[1])
    if any(found[a[0]] - found[b[0]] >= 0 for a, b in zip(old, old[1:]) if a[1] < b[1]):
        sys.exit("functions would change their order")
    digest_of_anchor, offset = int(release[4], 16), int(release[3], 16)
    at = base + min(found.values())
    while at >= first and anchor(data, at) != digest_of_anchor:
        at -= ALIGN
    if at < first:
        sys.exit("no anchor before the first function")
    start = at - offset
    lines = ["# Where libcudart_static.a of this release has its functions: SYMBOL OFFSET MASK DIGEST.",
             f"# Made by scripts/static-runtime-near.py from a program and {neighbour}; see gen/README.md.",
             f"release {name} {release[2]} {release[3]} {release[4]}"]
    for n, _, mask, d in rows:
        if n in changed:
            mask = changed[n]
            d = digest(data, base + found[n], mask)
        lines.append(f"{n} {base + found[n] - start:x} {mask:x} {d:016x}")
    (STATIC / f"{name}.runtime").write_text("\n".join(lines) + "\n")
    print(f"mapping/static/{name}.runtime: {len(rows)} functions")


main()
