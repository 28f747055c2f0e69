#!/usr/bin/env python3
# Records a release of the static CUDA runtime of which no archive can be had, by programs that have it linked in.
"""Records a release of NVIDIA's static runtime in mapping/static without its archive.
usage: scripts/static-runtime-linked.py RELEASE --near NEIGHBOUR PROGRAM    e.g. 12.6.77 --near 12.5.39 libcurand.so.10
       scripts/static-runtime-linked.py RELEASE PROGRAM PROGRAM...          e.g. 12.1.105 libnccl.so.2 libcurand.so.10

By a neighbour's table: between neighbours a few functions change, and all behind them move. Every function is looked
for by its digest, at the distance from its old place that most of those not yet found share. A function whose code
changed keeps its predecessor's distance, where its successor has it, too, or a prologue stands there.

By symbols: the first program has them. Of each function those bytes count that all programs, linked differently, have
in common before the first that differs: what a linker writes differs.

Nothing is written unless all functions are found, in the order of before."""
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
    """The executable segments (first aligned offset, end) of a 64-bit ELF file."""
    at, = struct.unpack_from("<Q", data, 32)
    size, count = struct.unpack_from("<HH", data, 54)
    for k in range(count):
        kind, flags, offset, address, _, length = struct.unpack_from("<IIQQQQ", data, at + k * size)
        if kind == 1 and flags & 1:
            yield offset + -address % ALIGN, offset + length


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
    """Offset from base of every function that is found, by name."""
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
    """Masks of functions whose code is another, by name. They are at their predecessor's distance, behind the end of a
    function, if their successor is there, too, or if a prologue stands there."""
    old, changed = sorted(rows, key=lambda row: row[1]), {}
    for before, row, after in zip(old, old[1:], old[2:]):
        if row[0] in found or before[0] not in found:
            continue
        moved = found[before[0]] - before[1]
        at = base + row[1] + moved
        first = data[at:at + CHANGED]
        between = after[0] in found and found[after[0]] - after[1] == moved
        if data[at - 1] not in END or not (between or first[:4] == PROLOGUE):
            continue
        found[row[0]] = row[1] + moved
        length = next((i + 1 for i, byte in enumerate(first) if byte in CALLS), CHANGED)
        changed[row[0]] = (1 << length) - 1
        print(f"{row[0]} has other code")
    return changed


def find_start(data, first, releases):
    """Where the runtime's text begins, by the nearest anchor of one of these releases before its first function, and that
    release's words."""
    anchors = {int(words[4], 16): words for words in releases}
    for at in range(first & -ALIGN, max(first - 16 * REACH, 0), -ALIGN):
        words = anchors.get(anchor(data, at))
        if words:
            return at - int(words[3], 16), words
    sys.exit("no anchor before the first function")


def by_neighbour(neighbour, program):
    """The anchor's words, rows, and a comment on where they are from."""
    words, rows = read_table(STATIC / f"{neighbour}.runtime")
    data = pathlib.Path(program).read_bytes()
    base, votes = max((find_base(data, rows, *bounds) for bounds in text_of(data)), key=lambda b: b[1])
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
    start, _ = find_start(data, base + min(found.values()), [words])
    placed = []
    for name, _, mask, d in rows:
        if name in changed:
            mask = changed[name]
            d = digest(data, base + found[name], mask)
        placed.append((name, base + found[name] - start, mask, d))
    return words, placed, f"a program and {neighbour}"


def functions_of(data):
    """(file offset, size) of each function that the symbol table names, by name."""
    table, = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    sections = [struct.unpack_from("<IIQQQQIIQQ", data, table + k * size) for k in range(count)]
    found = {}
    for _, kind, _, _, offset, length, link, _, _, _ in sections:
        if kind != 2:
            continue
        names = sections[link][4]
        for at in range(offset, offset + length, 24):
            name, info, _, section, value, bytes_ = struct.unpack_from("<IBBHQQ", data, at)
            if info & 15 == 2 and 0 < section < count:
                end = data.index(b"\0", names + name)
                found[data[names + name:end].decode()] = (value - sections[section][3] + sections[section][4], bytes_)
    return found


def align_program(data, rows, reference, start):
    """Where the runtime's text begins in a program without symbols: where most functions begin with the same bytes."""
    votes = collections.Counter()
    for _, offset, size in rows:
        first = reference[start + offset:start + offset + min(size, 16)]
        at = data.find(first) if len(first) == 16 else -1
        while at >= 0 and votes.total() < 1000000:
            votes[at - offset] += 1
            at = data.find(first, at + 1)
    return votes.most_common(1)[0]


def by_symbols(programs):
    """The same of by_neighbour."""
    tables = [read_table(path) for path in sorted(STATIC.glob("*.runtime"))]
    wanted = {row[0] for _, rows in tables for row in rows}
    reference = pathlib.Path(programs[0]).read_bytes()
    places = {name: place for name, place in functions_of(reference).items() if name in wanted}
    start, words = find_start(reference, min(at for at, _ in places.values()), [words for words, _ in tables])
    rows = [(name, at - start, size) for name, (at, size) in sorted(places.items())]
    length = {name: min(size, COVER) for name, _, size in rows}
    for program in programs[1:]:
        data = pathlib.Path(program).read_bytes()
        base, votes = align_program(data, rows, reference, start)
        print(f"{program}: {votes} of {len(rows)} functions begin where they should")
        if votes < len(rows) // 2:
            sys.exit("it is of another release")
        for name, offset, _ in rows:
            same = next((i for i in range(length[name]) if data[base + offset + i] != reference[start + offset + i]), None)
            if same is not None:
                length[name] = max(same - 3, 0)  # a word that a linker writes may begin with an equal byte
    rows = [(name, offset, (1 << length[name]) - 1) for name, offset, _ in rows]
    short = [name for name, _, mask in rows if mask < 0xf]
    print(f"{len(rows)} functions, {len(short)} of which fewer than 4 bytes count: {' '.join(short)}")
    return words, [(n, o, m, digest(reference, start + o, m)) for n, o, m in rows], "programs, the first with symbols"


def main():
    if len(sys.argv) == 5 and sys.argv[2] == "--near":
        name, (words, rows, source) = sys.argv[1], by_neighbour(*sys.argv[3:])
    elif len(sys.argv) >= 4 and not sys.argv[2].startswith("-"):
        name, (words, rows, source) = sys.argv[1], by_symbols(sys.argv[2:])
    else:
        sys.exit(__doc__)
    lines = ["# Where libcudart_static.a of this release has its functions: SYMBOL OFFSET MASK DIGEST.",
             f"# Made by scripts/static-runtime-linked.py from {source}; see gen/README.md.",
             f"release {name} {name.split('.')[0]} {words[3]} {words[4]}"]
    lines += [f"{n} {offset:x} {mask:x} {d:016x}" for n, offset, mask, d in rows]
    (STATIC / f"{name}.runtime").write_text("\n".join(lines) + "\n")
    print(f"mapping/static/{name}.runtime: {len(rows)} functions")


main()
