# Builds cumu: generator -> generated sources -> libraries -> tools. `make help` lists the targets.
# Each area adds its rules in its own fragment; this file holds what they share.
-include config.mk

CC      ?= gcc
B       ?= build
V       ?= 0
Q       := $(if $(filter 1,$V),,@)
WARN    := -Wall -Wextra -Wshadow -Werror
OPT     ?= -O2 -g
BASE    := -std=c11 -D_GNU_SOURCE $(WARN) $(OPT) -fPIC -fvisibility=hidden -fno-strict-aliasing \
           -ffp-contract=off -pthread -Ishim -I$B/gen -I. $(SAN) $(EXTRA)
LDBASE  := -Wl,-Bsymbolic -Wl,-z,now -Wl,--as-needed $(if $(SAN),,-Wl,-z,defs) $(SAN) -pthread

all: lib tools

include gen/gen.mk
include shim/shim.mk
include tests/tests.mk

.PHONY: all lib tools demo check check-gen lint bench clean help
clean:
	$Qrm -rf $B
