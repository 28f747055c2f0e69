# Builds cumu: generator -> generated sources -> libraries -> tools. `make help` lists the targets.
# Each area adds its rules in its own fragment; this file holds what they share.
-include config.mk

VERSION := 0.2
CC      ?= gcc
B       ?= build
V       ?= 0
Q       := $(if $(filter 1,$V),,@)
WARN    := -Wall -Wextra -Wshadow -Werror
SYMBOLS ?= -g
OPT     ?= -O2 $(SYMBOLS)
BASE    := -std=c11 -D_GNU_SOURCE $(WARN) $(OPT) -fPIC -fvisibility=hidden -fno-strict-aliasing \
           -ffp-contract=off -pthread -Ishim -I$B/gen -I. $(SAN) $(EXTRA)
# A build beside a plain one (by clang, without assembly) takes from that one what its compiler does not make.
PLAIN   :=
LDBASE  := -Wl,-Bsymbolic -Wl,-z,now -Wl,--as-needed $(if $(SAN),,-Wl,-z,defs) $(SAN) -pthread -ldl # a library of its own before glibc 2.34

all: lib tools

include gen/gen.mk
include shim/shim.mk
include shim/torch/torch.mk
include tests/tests.mk

.PHONY: all lib tools demo check check-gen lint bench install uninstall deb wheel clean help
# What a newcomer types: both start from nothing, installing what the build needs if they may, and use
# all cores unless a number of jobs was given.
JOBS = $(if $(findstring j,$(firstword -$(MAKEFLAGS))),,-j$(shell nproc))
demo:
	$Qscripts/deps
	+$Q$(MAKE) --no-print-directory $(JOBS) all $B/tests/fixtures/vectoradd $B/tests/fixtures/mandelbrot
	$Qsh scripts/demo

check:
	$Qscripts/deps
	+$Q$(MAKE) --no-print-directory $(JOBS) check-gen
	+$Q$(MAKE) --no-print-directory $(JOBS) check-run

lint:
	$Qscripts/deps lint || scripts/deps
	+$QB=$B scripts/lint.sh

# PREFIX=/usr/local: the tree finds itself by its own place, so it may be moved afterwards.
PREFIX ?= /usr/local
install: all
	$QB='$B' PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install
uninstall:
	$QB='$B' PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' scripts/install remove
deb: all
	$QB='$B' VERSION='$(VERSION)' scripts/deb

# For pip, on machines with nothing but Python: OUT=folder.
wheel: all $(WHEEL_CORE) $(WHEEL_TOOL)
	$Qscripts/deps wheel
	$QB='$B' OUT='$(or $(OUT),$B)' VERSION='$(VERSION)' python3 scripts/wheel.py

clean:
	$Qrm -rf $B

help:
	@echo "make            build everything into $B/"
	@echo "make demo       set up, build, run a CUDA program on this machine's CPU"
	@echo "make check      set up, build, pass the tests; T=word runs those whose name has it"
	@echo "make check-sdk  the snippets and programs on all SDK shapes of tests/sdk; check has 3.1.0's"
	@echo "make lint       static checks and a build by each compiler"
	@echo "make check-gen  the mapping against the symbol lists, COVERAGE.md against the mapping"
	@echo "make check-asan, check-tsan, fuzz   the tests under sanitizers; a search for crashes"
	@echo "make fuzz-kernels SECONDS= SEED=    generated kernels of control flow on all back ends"
	@echo "make check-frameworks T=word        PyTorch, CuPy, ffmpeg and others from their registries (gigabytes)"
	@echo "make bench      figures, each beside its comparison; bench-record keeps them, bench-diff [A= B=] compares"
	@echo "make install, uninstall    PREFIX=/usr/local DESTDIR="
	@echo "make deb        a Debian package, in $B/"
	@echo "make wheel      a Python wheel for pip, in $B/ or OUT="
	@echo "Variables: B=folder CC=compiler V=1 SAN=-fsanitize=... OPT=-O2 SYMBOLS=-g EXTRA=flags"
