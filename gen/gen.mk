# Rules of the generator: mapping/ -> $B/gen -> tables of the core, facades, logging stub libraries.
# WITH_ASM=0 builds the portable C twins in place of the x86-64 assembly.
GEN        := $B/bin/gen
GEN_SRC    := $(wildcard gen/*.c)
GEN_OBJ    := $(GEN_SRC:gen/%.c=$B/obj/generator/%.o)
GEN_STAMP  := $B/gen/.stamp
FUZZ_OBJ   += $(filter-out %/main.o,$(GEN_OBJ)) # the map parser's fuzz target links the generator
MAPS       := $(wildcard mapping/types/*.enum mapping/types/*.struct mapping/sonames.map mapping/*.evidence \
                mapping/api/*.map mapping/api/*.versions mapping/static/*.runtime \
                mapping/torch/*.rules mapping/torch/*.numbers mapping/torch/*.exports)
WITH_ASM   ?= $(if $(filter x86_64-%,$(shell $(CC) -dumpmachine)),1,0)

# What the generator makes, from the same map that it reads.
SONAMES    := $(shell sed -n 's/^facade  *[^ ]*  *\([^ ]*\).*/\1/p' mapping/sonames.map)
AUDIT_GEN  := $B/gen/runtimes.c $B/gen/torch_boundary.c
BELOW      := $(shell sed -n 's/^below  *\([^ ]*\) .*/\1/p' mapping/sonames.map)
GEN_HEADERS  := $(addprefix $B/gen/,cuda_enums.h musa_enums.h cuda_texts.h musa_texts.h cuda_functions.h cuda_structs.h musa_structs.h \
                  mu.h wraps.h conv.h)
GEN_CORE_SRC := $(addprefix $B/gen/,tables.c calls.c bases.c conv.c mu.c mu.proof.c per_thread.c \
                  $(if $(filter 1,$(WITH_ASM)),mu.thunks.S,mu.twin.c) $(SONAMES:%=%.symbols.c))
FACADE_SRC   := $(foreach s,$(SONAMES),$(addprefix $B/gen/$s.,slots.c tramp.S twin.c calls.c ver))
STUBLIB_SRC  := $(BELOW:%=$B/gen/stub.%.c)
FACADES      := $(SONAMES:%=$B/lib/cumu/facade/%)
# The first file name of a MUSA library, which the stub takes too.
below_soname  = $(firstword $(shell sed -n \
                  's/^below  *$1  *[^ ]*  *[^ ]*  *[^ ]*  *//p' mapping/sonames.map))
STUBLIBS     := $(foreach b,$(BELOW),$B/lib/cumu/stub/$(call below_soname,$b))

$(GEN): $(GEN_OBJ)
	@mkdir -p $(@D)
	@echo "ld bin/gen"
	$Q$(CC) -o $@ $^ $(SAN) -lelf

$B/obj/generator/%.o: gen/%.c
	@mkdir -p $(@D)
	@echo "cc gen/$*.c"
	$Q$(CC) $(BASE) -MMD -MP -c -o $@ $<

# Files whose text did not change keep their time, so only what really changed is rebuilt.
$(GEN_STAMP): $(GEN) $(MAPS)
	@mkdir -p $(@D)
	@echo "gen"
	$Q$(GEN) emit $B/gen $(MAPS)
	@touch $@

$(GEN_HEADERS) $(GEN_CORE_SRC) $(FACADE_SRC) $(STUBLIB_SRC) $(AUDIT_GEN) $B/gen/prototypes.c: $(GEN_STAMP) ;

# cuBLAS's library needs cuBLASLt's: programs look up the latter's functions by a handle of the former (Triton does).
FACADE_NEEDS = $(patsubst libcublas.so.%,$B/lib/cumu/facade/libcublasLt.so.%,$(filter libcublas.so.%,$1))
AS_NEEDED := -Wl,--as-needed
FACADE_NEEDS_FLAGS := -Wl,-rpath,'$$ORIGIN' -Wl,--no-as-needed
FACADE_FORM := $(if $(filter 1,$(WITH_ASM)),tramp,twin)
define facade_rule
$B/lib/cumu/facade/$1: $B/obj/gen/$1.slots.o $B/obj/gen/$1.$(FACADE_FORM).o $B/gen/$1.ver \
                       $B/lib/cumu/libcumu-core.so $(call FACADE_NEEDS,$1)
	@mkdir -p $$(@D)
	@echo "ld facade/$1"
	$$Q$$(CC) -shared -o $$@ $$(filter %.o,$$^) $B/lib/cumu/libcumu-core.so $$(LDBASE) \
	    $(if $(call FACADE_NEEDS,$1),$$(FACADE_NEEDS_FLAGS) $(call FACADE_NEEDS,$1) $$(AS_NEEDED)) \
	    -Wl,-soname,$1 -Wl,--version-script=$B/gen/$1.ver -Wl,--enable-new-dtags \
	    -Wl,-rpath,'$$$$ORIGIN/..'
endef
$(foreach s,$(SONAMES),$(eval $(call facade_rule,$s)))

define stublib_rule
$B/lib/cumu/stub/$2: $B/obj/gen/stub.$1.o
	@mkdir -p $$(@D)
	@echo "ld stub/$2"
	$$Q$$(CC) -shared -o $$@ $$^ $$(LDBASE) -Wl,-soname,$2
endef
$(foreach b,$(BELOW),$(eval $(call stublib_rule,$b,$(call below_soname,$b))))

# Test programs that call every jump of a facade (tests/gen/stublog).
CALLS := $(SONAMES:%=$B/tests/gen/%.calls)
$(CALLS): $B/tests/gen/%.calls: $B/gen/%.calls.c tests/gen/stublog/calls.c tests/gen/stublog/calls.h
	@mkdir -p $(@D)
	@echo "cc gen/$*.calls.c"
	$Q$(CC) $(BASE) -Itests/gen/stublog -o $@ $(filter %.c,$^) $(SAN) -ldl

.PHONY: gen facades stublibs
gen: $(GEN_STAMP)
facades: $(FACADES)
stublibs: $(STUBLIBS)

-include $(GEN_OBJ:.o=.d) $(patsubst %,$B/obj/gen/%.d,$(SONAMES:%=%.slots) $(SONAMES:%=%.twin) \
           $(BELOW:%=stub.%))

# Shows what is wrong; WRITE=1 writes COVERAGE.md. REAL= takes real NVIDIA libraries to compare with.
# Wrappers are also compiled against the prototypes that the map gives them.
check-gen: lib tools
	$Q$(GEN) check --core $(CORE_LIB) \
	    --host $(HOST_MUSA) --host $(HOST_RT) --host $(HOST_MCCL) --host $(HOST_MTML) $(HOST_MATHS:%=--host %) $(MAPS) $(wildcard mapping/known/*.symbols) $(REAL)
	$Qfor f in $(wildcard shim/api/*.c shim/api/*/*.c); do \
	    $(CC) $(BASE) -fsyntax-only -include wraps.h $$f || exit 1; done
	$Q$(CUMU_BIN) coverage --format markdown >$B/COVERAGE.md
	$Q$(if $(WRITE),cp $B/COVERAGE.md mapping/,diff -u mapping/COVERAGE.md $B/COVERAGE.md || { \
	    echo "mapping/COVERAGE.md differs from the map; expected \`make check-gen WRITE=1' and a commit"; exit 1; })
	@echo "check-gen: ok"
