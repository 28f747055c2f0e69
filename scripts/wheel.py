#!/usr/bin/env python3
# Makes cumu-VERSION-py3-none-manylinux_X_Y_x86_64.whl in OUT out of what `make wheel` built in B.
"""What stands in it, and why:

The tree of `make install`, as the wheel's data: bin/cumu, libexec and lib/cumu come into the environment's own bin and
lib, so the tool finds its libraries beside itself as it always does. A package `cumu` starts it by `python -m cumu`.
The core and the tool have zstd, lz4 and libelf inside, as without them nothing starts; OpenBLAS and oneDNN with their
Fortran and OpenMP runtimes come as files, as cuBLAS and cuDNN are what programs ask for most. FFTW (GPL), SuiteSparse and
libjpeg-turbo are the system's, and missed by name where they are needed.

WHEEL_WITH names other libraries to bring than OpenBLAS and oneDNN, WHEEL_LEVEL how well to compress.

A wheel holds no links: tools that are one program by several names are copies, names of libraries without a version
are left to the audit module, which knows them.
"""
import base64
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
import zipfile

B, OUT, VERSION = os.environ["B"], os.environ["OUT"], os.environ["VERSION"]
os.makedirs(OUT, exist_ok=True)
MAIN = '''"""`python -m cumu` is the command cumu of the same installation."""
import importlib.metadata
import os
import sys


def main():
    for file in importlib.metadata.files("cumu") or []:
        if file.parts[-2:] == ("bin", "cumu"):
            tool = os.path.realpath(file.locate())
            os.execv(tool, ["cumu"] + sys.argv[1:])
    sys.exit("cumu: this installation has lost its bin/cumu; install the wheel again")


if __name__ == "__main__":
    main()
'''
DESCRIPTION = """Run unmodified CUDA programs on Moore Threads MUSA GPUs, or on the CPU.

    cumu check ./prog             # what it needs, and a verdict
    cumu run -- ./prog            # on a MUSA machine if one is there, else on the CPU
    cumu memcheck ./prog          # wrong accesses of its kernels, with source lines

Kernels run in an interpreter; with a C compiler (gcc or clang) on PATH they are compiled, 5 to 20 times faster.
cuBLAS and cuSOLVER stand on OpenBLAS and cuDNN on oneDNN, which are in the wheel; cuFFT needs the system's FFTW
(libfftw3-double3 and libfftw3-single3 on Debian) or MKL (pip install "cumu[fft]" or mkl), nvJPEG its libjpeg-turbo,
cusolverSp its SuiteSparse.
"""


def needed(path):
    text = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def find(name):
    """A library of this system by its soname."""
    text = subprocess.run(["ldconfig", "-p"], capture_output=True, text=True, check=False,
                          env={**os.environ, "PATH": os.environ["PATH"] + ":/sbin:/usr/sbin"}).stdout
    for line in text.splitlines():
        if line.split() and line.split()[0] == name and "x86-64" in line:
            return os.path.realpath(line.split("=>")[1].strip())
    return None


def licence(path):
    """The copyright file of the Debian package that a library is of."""
    for p in (path, path.replace("/usr", "", 1)):
        found = subprocess.run(["dpkg", "-S", p], capture_output=True, text=True, check=False)
        if found.returncode == 0:
            file = "/usr/share/doc/" + found.stdout.split(":")[0] + "/copyright"
            return file if os.path.exists(file) else None
    return None


def vendor(folder, licences):
    """Libraries that ours name or open, and what those name, as far as no glibc system has them by itself."""
    own = re.compile(r"lib(c|m|dl|pthread|rt|stdc\+\+|gcc_s)\.so\.|ld-linux")
    want = os.environ.get("WHEEL_WITH", "libopenblas.so.0 libdnnl.so.2").split()
    while want:
        name = want.pop()
        path = find(name)
        if not path or os.path.exists(folder + "/" + name):
            if not path:
                print("wheel: without " + name + ": it is not here", file=sys.stderr)
            continue
        shutil.copyfile(path, folder + "/" + name)
        subprocess.run(["patchelf", "--set-rpath", "$ORIGIN", folder + "/" + name], check=True)
        text = licence(path)
        if text:
            licences[name] = text
        want += [n for n in needed(path) if not own.match(n)]


def glibc(tree):
    """The newest version of glibc that a library asks for."""
    most = (2, 17)
    for folder, _, names in os.walk(tree):
        for name in names:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                if file.read(4) != b"\x7fELF":
                    continue
            text = subprocess.run(["objdump", "-T", path], capture_output=True, text=True, check=False).stdout
            for major, minor in re.findall(r"GLIBC_(\d+)\.(\d+)", text):
                most = max(most, (int(major), int(minor)))
    return most


def main():
    root = B + "/wheel/root"
    shutil.rmtree(root, ignore_errors=True)
    subprocess.run(["scripts/install"], env={**os.environ, "PREFIX": "/", "DESTDIR": os.path.abspath(root)},
                   stdout=subprocess.DEVNULL, check=True)
    shutil.copyfile(B + "/wheel/libcumu-core.so", root + "/lib/cumu/libcumu-core.so")
    shutil.copyfile(B + "/wheel/cumu-tool", root + "/libexec/cumu-tool")
    shutil.rmtree(root + "/include")
    for folder, _, names in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            with open(path, "rb") as file:
                elf = file.read(4) == b"\x7fELF"
            if elf and not os.path.islink(path):
                subprocess.run(["strip", "--strip-unneeded", path], check=True)
    for folder, _, names in os.walk(root):
        for path in (os.path.join(folder, name) for name in names):
            if os.path.islink(path):
                real = os.path.realpath(path)
                os.unlink(path)
                if "/libexec/" in path:
                    shutil.copy(real, path)
    licences = {"cumu": "LICENSE", "NOTICE": root + "/lib/cumu/NOTICE"}
    vendor(root + "/lib/cumu/host", licences)

    tag = "py3-none-manylinux_%d_%d_x86_64" % glibc(root)
    info = "cumu-%s.dist-info/" % VERSION
    epoch = int(os.environ.get("SOURCE_DATE_EPOCH") or subprocess.run(
        ["git", "log", "-1", "--format=%ct"], capture_output=True, text=True, check=False).stdout.strip() or 315532800)
    date = time.gmtime(epoch)[:6]
    record = []
    wheel = "%s/cumu-%s-%s.whl" % (OUT, VERSION, tag)
    with zipfile.ZipFile(wheel + ".new", "w", zipfile.ZIP_DEFLATED,
                         compresslevel=int(os.environ.get("WHEEL_LEVEL", "6"))) as archive:

        def add(name, data, mode=0o644):
            entry = zipfile.ZipInfo(name, date)
            entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, (0o100000 | mode) << 16
            archive.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append("%s,sha256=%s,%d" % (name, digest, len(data)))

        add("cumu/__init__.py", ('"""The command cumu; see `python -m cumu help`."""\n__version__ = "%s"\n' % VERSION).encode())
        add("cumu/__main__.py", MAIN.encode())
        for folder, folders, names in os.walk(root):
            folders.sort()
            for name in sorted(names):
                path = os.path.join(folder, name)
                with open(path, "rb") as file:
                    add("cumu-%s.data/data/%s" % (VERSION, os.path.relpath(path, root)), file.read(),
                        0o755 if os.access(path, os.X_OK) else 0o644)
        for name, path in sorted(licences.items()):
            with open(path, "rb") as file:
                add(info + "licenses/" + name, file.read())
        add(info + "METADATA", ("Metadata-Version: 2.1\nName: cumu\nVersion: %s\nSummary: %s\nLicense: MIT\n"
                                "Requires-Python: >=3.8\nProvides-Extra: fft\n"
                                "Requires-Dist: mkl; extra == \"fft\"\nDescription-Content-Type: text/markdown\n\n%s"
                                % (VERSION, DESCRIPTION.split("\n", 1)[0], DESCRIPTION)).encode())
        add(info + "WHEEL", ("Wheel-Version: 1.0\nGenerator: cumu\nRoot-Is-Purelib: false\nTag: %s\n" % tag).encode())
        record.append(info + "RECORD,,")
        archive.writestr(zipfile.ZipInfo(info + "RECORD", date), "\n".join(record) + "\n")
    os.rename(wheel + ".new", wheel)
    shutil.rmtree(root)
    print(wheel)


main()
