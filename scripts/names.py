#!/usr/bin/env python3
# Prints which names of NVIDIA libraries the map lacks.
"""usage: scripts/names.py [--write] WHEEL|LIBRARY|FOLDER...

Of each library only its soname and the names that it exports are read (readelf). A name of the map is one of
mapping/known/SONAME.symbols, where libraries that come together have one file; mangled ones, of C++, serve the library
itself and are only counted. --write adds what is missing there, so that `make check-gen` asks for its line. Exit
status: 0 nothing is missing, 1 something is, 2 a file cannot be read.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
KNOWN = ROOT / "mapping" / "known"


def read_sonames():
    """The sonames that have a facade, each with its file of names: its own, or that of the first of its group."""
    rows = [line.split() for line in (ROOT / "mapping" / "sonames.map").read_text().splitlines()]
    files, first = {}, {}
    for _, group, soname, _, version, *_ in (row for row in rows if row[:1] == ["facade"]):
        own = KNOWN / (soname + ".symbols")
        files[soname] = own if own.exists() else first.get((group, version), own)
        first.setdefault((group, version), own)
    return files


def read_library(path):
    """A library's soname and its exported names; version nodes are not names."""
    dynamic = subprocess.run(["readelf", "-dW", path], capture_output=True, text=True).stdout
    soname = re.search(r"\(SONAME\).*\[(.*)\]", dynamic)
    symbols = subprocess.run(["readelf", "--dyn-syms", "-W", path], capture_output=True, text=True).stdout
    names = set()
    for line in symbols.splitlines():
        f = line.split()
        if len(f) >= 8 and f[3] in ("FUNC", "OBJECT", "IFUNC", "NOTYPE") and f[4] in ("GLOBAL", "WEAK"):
            if f[6] not in ("UND", "ABS") and f[5] in ("DEFAULT", "PROTECTED"):
                names.add(f[7].split("@")[0])
    return soname and soname.group(1), names


def libraries(path, scratch):
    """The shared libraries of a wheel or a folder, or the file itself; those of wheels one at a time."""
    if os.path.isdir(path):
        for p in sorted(pathlib.Path(path).rglob("*.so*")):
            if p.is_file() and not p.is_symlink():
                yield str(p)
    elif zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as wheel:
            for name in wheel.namelist():
                if re.search(r"\.so(\.[0-9.]+)?$", name):
                    inside = wheel.extract(name, scratch)
                    yield inside
                    os.unlink(inside)
    else:
        yield path


def report(soname, names, facades, write):
    """Says what of one library is missing, and adds it; the number of missing names."""
    if soname not in facades:
        print(f"{soname}: {len(names)} names, and no facade")
        return 0
    file = facades[soname]
    known = set(file.read_text().split()) if file.exists() else set()
    mangled = {n for n in names if n.startswith("_Z")}
    names = names - mangled
    missing = sorted(names - known)
    print(f"{soname}: {len(names)} names, {len(missing)} missing" + (f"; {len(mangled)} of C++" if mangled else ""))
    for name in missing:
        print(f"  {name}")
    if write and missing:
        file.write_text("".join(n + "\n" for n in sorted(known | names)))
    return len(missing)


def main(arguments):
    write = "--write" in arguments
    paths = [a for a in arguments if not a.startswith("--")]
    if not paths or len(paths) + write != len(arguments):
        sys.stderr.write(__doc__)
        return 2
    facades, missing, bad = read_sonames(), 0, False
    for path in paths:
        if not os.path.exists(path):
            sys.stderr.write(f"{path}: there is no such file\n")
            bad = True
            continue
        with tempfile.TemporaryDirectory() as scratch:
            for library in libraries(path, scratch):
                soname, names = read_library(library)
                if soname:
                    missing += report(soname, names, facades, write)
                elif library == path:
                    sys.stderr.write(f"{path}: no shared library\n")
                    bad = True
    return 2 if bad else 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
