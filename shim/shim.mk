# Rules of everything under shim/: libcumu-core.so, the CPU MUSA libraries and the cumu tool.
# Sources are found by folder, so a new file needs no edit here. Objects mirror the source tree under
# $B/obj; a sanitizer or other-compiler build takes its own tree: make B=build/asan SAN=-fsanitize=...

CORE_LIB   := $B/lib/cumu/libcumu-core.so
HOST_MUSA  := $B/lib/cumu/host/libmusa.so.1
HOST_RT    := $B/lib/cumu/host/libmusart.so.5
AUDIT_LIB  := $B/lib/cumu/libcumu-audit.so
CUMU_BIN   := $B/bin/cumu

PTX_SRC    := $(wildcard shim/ptx/*.c shim/ptx/tier0/lower/*.c shim/ptx/tier1/*.c \
              shim/ptx/tier1/emit/*.c) \
              shim/ptx/tier1/prelude/text.S
FATBIN_SRC := $(wildcard shim/fatbin/*.c)
CORE_SRC   := $(wildcard shim/core/*.c shim/core/*.S shim/api/*.c shim/api/*/*.c shim/kernel/*.c) \
              $(FATBIN_SRC) $(PTX_SRC) $(GEN_CORE_SRC)
ALU_SRC    := $(wildcard shim/ptx/tier0/exec/alu_*.c)
MUSA_SRC   := $(filter-out $(ALU_SRC),$(wildcard shim/host/driver/*.c shim/ptx/tier0/exec/*.c \
              shim/ptx/tier1/exec/*.c shim/ptx/tier1/*.c))
MUSART_SRC := $(wildcard shim/host/runtime/*.c)
CLI_SRC    := $(wildcard shim/cli/*.c shim/audit/elf.c shim/audit/patch.c) $(FATBIN_SRC) $(PTX_SRC) \
              $(addprefix shim/core/,config.c log.c ldcache.c table.c) \
              $(addprefix shim/kernel/,link.c hash.c cache.c child.c compile.c)

# Source path -> object path: shim/core/log.c -> $B/obj/core/log.o, build/gen/x.c -> $B/obj/gen/x.o
obj         = $(patsubst shim/%,$B/obj/%.o,$(patsubst $B/gen/%,$B/obj/gen/%.o,$(basename $(1))))
CORE_OBJ   := $(call obj,$(CORE_SRC))
ALU_LEVELS := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),1 3 4,1)
ALU_OBJ    := $(foreach l,$(ALU_LEVELS),$(patsubst %.o,%.l$l.o,$(call obj,$(ALU_SRC))))
MUSA_OBJ   := $(call obj,$(MUSA_SRC)) $(ALU_OBJ)
MUSART_OBJ := $(call obj,$(MUSART_SRC))
AUDIT_OBJ  := $(call obj,$(wildcard shim/audit/*.c))
CLI_OBJ    := $(call obj,$(CLI_SRC))

COMPRESS_LIBS := -lzstd -llz4

# A link replaces its target in one step: processes that run from the build folder keep their copy, and
# a link that fails leaves the last good one.
, := ,
define replace
$Qnew=$@.$$$$; $(CC) -o $$new $(1) && mv -f $$new $@ || { rm -f $$new; exit 1; }
endef

# The warp-vector loops of tier 0 are written for the vectoriser and built once per CPU level; alu.c
# chooses. Without traps and errno the loops have no branches; neither changes a result.
ALU_FLAGS   = $(if $(SAN),$(OPT),-O3 -g) -fno-math-errno -fno-trapping-math
ALU_ARCH_1 :=
ALU_ARCH_3 := -march=x86-64-v3
ALU_ARCH_4 := -march=x86-64-v4
define alu_rule
$B/obj/ptx/tier0/exec/%.l$(1).o: shim/ptx/tier0/exec/%.c | $$(GEN_HEADERS)
	@mkdir -p $$(@D)
	@echo "cc ptx/tier0/exec/$$*.c level $(1)"
	$$Q$$(CC) $$(BASE) $$(ALU_FLAGS) $(ALU_ARCH_$(1)) -DT0_LEVEL=$(1) -MMD -MP -c -o $$@ $$<
endef
$(foreach l,$(ALU_LEVELS),$(eval $(call alu_rule,$l)))

# What a guest's core must not get wrong is compiled with one more warning.
$B/obj/core/%.o $B/obj/cli/%.o: OPT += -Wconversion

$B/obj/%.o: shim/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "cc $*.c"
	$Q$(CC) $(BASE) $(OPT) -MMD -MP -c -o $@ $<

$B/obj/%.o: shim/%.S | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "as $*.S"
	$Q$(CC) $(BASE) -MMD -MP -c -o $@ $<

$B/obj/ptx/tier1/prelude/text.o: $(wildcard shim/ptx/tier1/prelude/*.h)

$B/obj/gen/%.o: $B/gen/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "cc gen/$*.c"
	$Q$(CC) $(BASE) -MMD -MP -c -o $@ $<

$B/obj/gen/%.o: $B/gen/%.S
	@mkdir -p $(@D)
	@echo "as gen/$*.S"
	$Q$(CC) $(BASE) -MMD -MP -c -o $@ $<

$(CORE_LIB): $(CORE_OBJ)
	@mkdir -p $(@D)
	@echo "ld $(@F)"
	$(call replace,-shared $(CORE_OBJ) $(LDBASE) -Wl$(,)-soname$(,)$(@F) $(COMPRESS_LIBS) -ldl -lm)

$(AUDIT_LIB): $(AUDIT_OBJ)
	@mkdir -p $(@D)
	@echo "ld $(@F)"
	$(call replace,-shared $(AUDIT_OBJ) $(LDBASE) -Wl$(,)-soname$(,)$(@F) -ldl)

$(HOST_MUSA): $(MUSA_OBJ)
	@mkdir -p $(@D)
	@echo "ld host/$(@F)"
	$(call replace,-shared $(MUSA_OBJ) $(LDBASE) -Wl$(,)-soname$(,)$(@F) -ldl -lm)

$(HOST_RT): $(MUSART_OBJ) $(HOST_MUSA)
	@mkdir -p $(@D)
	@echo "ld host/$(@F)"
	$(call replace,-shared $(MUSART_OBJ) $(HOST_MUSA) $(LDBASE) -Wl$(,)-soname$(,)$(@F) \
	    -Wl$(,)-rpath$(,)'$$ORIGIN' -ldl -lm)

$(CUMU_BIN): $(CLI_OBJ)
	@mkdir -p $(@D)
	@echo "ld bin/$(@F)"
	$(call replace,$(CLI_OBJ) $(LDBASE) -lelf $(COMPRESS_LIBS) -ldl -lm)

# Names without a version, for programs that open those; the newest runtime answers.
FACADE_LINKS := $(addprefix $B/lib/cumu/facade/,libcudart.so libcuda.so)
$B/lib/cumu/facade/libcudart.so: $B/lib/cumu/facade/libcudart.so.13
	$Qln -sf $(<F) $@
$B/lib/cumu/facade/libcuda.so: $B/lib/cumu/facade/libcuda.so.1
	$Qln -sf $(<F) $@

.PHONY: core host
core: $(CORE_LIB)
host: $(if $(MUSA_OBJ),$(HOST_MUSA)) $(if $(MUSART_OBJ),$(HOST_RT))
lib: core host $(AUDIT_LIB) $(FACADES) $(FACADE_LINKS)
tools: $(CUMU_BIN)

-include $(patsubst %.o,%.d,$(sort $(CORE_OBJ) $(MUSA_OBJ) $(MUSART_OBJ) $(AUDIT_OBJ) $(CLI_OBJ)))
