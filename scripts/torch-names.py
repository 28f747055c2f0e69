#!/usr/bin/env python3
# Writes mapping/torch/*.exports out of unpacked wheels of PyTorch.
"""Lists the CUDA interface that PyTorch's libraries export to extensions: the names of mapping/torch/*.symbols.

usage: scripts/torch-names.py SONAME TORCH...      TORCH: unpacked wheels (folders with lib/ and include/)

Kept are the names in c10::cuda, at::cuda and at::CUDAGeneratorImpl. Left out, because no extension binds to them:
PyTorch's operators (ATen/ops/*_cuda_dispatch.h; extensions call at::), and instances of templates, which the header
puts into the extension itself (at::cuda::blas, whose templates are defined in the library, stays), and what
has no name outside its file.
"""
import glob
import re
import subprocess
import sys

LIBRARIES = {"libc10_cuda.so": ["libc10_cuda.so"],
             "libtorch_cuda.so": ["libtorch_cuda.so", "libtorch_cuda_cu.so", "libtorch_cuda_cpp.so",
                               "libtorch_cuda_linalg.so"]}
OURS = re.compile(r"_Z(GV|T[VIS])?[NZK]*(3c104cuda|2at4cuda|2at17CUDAGeneratorImpl|3c10\d+FreeCudaMemory)")
# Wheels before 2.7 have the old ABI of std::string, distributions' builds the new one.
CXX11 = {"libc10_cuda.so": ["_ZN3c104cuda29c10_cuda_check_implementationERKNSt7__cxx1112basic_stringIcSt11char_traits"
                            "IcESaIcEEES8_ib"]}


def operators(torch):
    names = set()
    for path in glob.glob(torch + "/include/ATen/ops/*_cuda_dispatch.h"):
        with open(path, encoding="utf-8") as file:
            names.update(re.findall(r"\b(\w+)\(", file.read()))
    return names


def exported(library):
    try:
        lines = subprocess.run(["nm", "-D", "--defined-only", library], check=True, text=True,
                               capture_output=True).stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        return []
    return [line.split()[2] for line in lines]


def main():
    soname, torches = sys.argv[1], sys.argv[2:]
    kept = set(CXX11.get(soname, []))
    for torch in torches:
        omit = operators(torch)
        names = sorted({n for lib in LIBRARIES[soname] for n in exported(f"{torch}/lib/{lib}") if OURS.match(n)})
        plain = subprocess.run(["c++filt"], input="\n".join(names), text=True, capture_output=True,
                               check=True).stdout.splitlines()
        for name, text in zip(names, plain):
            if text.startswith("guard variable") or name.startswith("_ZZ") or "(anonymous namespace)" in text:
                continue
            head = re.sub(r"^(vtable|typeinfo( name)?) for ", "", text)
            operator = re.match(r"at::cuda::(\w+)\(", head)
            template = re.match(r"[\w:*&<>() ]+ (at|c10)::cuda::", head) and "at::cuda::blas::" not in head
            if not (operator and operator[1] in omit) and not template and \
                    not re.match(r"at::cuda::(cub|jit)::|at::cuda::detail::TensorInfo<|.*::\{lambda", head):
                kept.add(name)
    print(f"# Made by scripts/torch-names.py; the names of {soname} that extensions may bind to, in")
    print("# torch " + ", ".join(re.search(r"(\d+\.\d+\.\d+)", t)[1] for t in torches) + ".")
    print("\n".join(sorted(kept)))


main()
