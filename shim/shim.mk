# Rules of everything under shim/: libcumu-core.so, the CPU MUSA libraries and the cumu tool.
# Sources are found by folder, so a new file needs no edit here. Objects mirror the source tree under
# $B/obj; a sanitizer or other-compiler build takes its own tree: make B=build/asan SAN=-fsanitize=...

CORE_LIB   := $B/lib/cumu/libcumu-core.so
HOST_MUSA  := $B/lib/cumu/host/libmusa.so.1
HOST_RT    := $B/lib/cumu/host/libmusart.so.5
HOST_MCCL  := $B/lib/cumu/host/libmccl.so.2
HOST_MTML  := $B/lib/cumu/host/libmtml.so.2
SOBOL_SRC  := $(wildcard shim/sobol/*.c) shim/sobol/numbers.S
# The maths libraries on the CPU: folder, soname, the well-kept libraries each stands on. One whose libraries
# are not here is left out; the rest is built.
MATHS      := mublas musolver mublaslt mufft murand musparse mudnn mupp
MATHS_SONAME_mublas := libmublas.so.1
MATHS_ON_mublas     := -lopenblas
MATHS_SONAME_musolver := libmusolver.so.1
MATHS_ON_musolver     := -lopenblas
MATHS_NEEDS_musolver  := $B/lib/cumu/host/libmublas.so.1
MATHS_SONAME_mublaslt := libmublasLt.so.1
MATHS_ON_mublaslt   := -lopenblas
MATHS_SONAME_mufft  := libmufft.so.1
# Beside an environment's own libraries, as pip puts MKL's, ours lie in lib/cumu/host.
MATHS_ON_mufft      := -ldl -Xlinker -rpath -Xlinker '$$$$ORIGIN/../..'
MATHS_SONAME_murand := libmurand.so.1
MATHS_ON_murand     :=
MATHS_WITH_murand   := $(SOBOL_SRC)
MATHS_SONAME_musparse := libmusparse.so
MATHS_ON_musparse   :=
MATHS_SONAME_mudnn  := libmudnn.so.3
MATHS_ON_mudnn      := -lopenblas -ldl
MATHS_SONAME_mupp   := libmupp.so
MATHS_ON_mupp       :=
has_libs    = $(if $(1),$(shell echo 'int main(void){return 0;}' | $(CC) -x c - -o /dev/null $(1) 2>/dev/null && echo 1),1)
HAVE_MATHS := $(foreach m,$(MATHS),$(if $(call has_libs,$(MATHS_ON_$m)),$m))
HOST_MATHS := $(foreach m,$(HAVE_MATHS),$B/lib/cumu/host/$(MATHS_SONAME_$m))
# Functions of the runtime over the driver, for an SDK whose own runtime lacks them.
OVER_LIB   := $(if $(filter 1,$(WITH_ASM)),$B/lib/cumu/libcumu-runtime.so)
OVER_SRC   := shim/runtime/over.c $(addprefix shim/host/runtime/,array.c copy.c fill.c graph.c memory.c properties.c \
              settings.c stream.c texture.c)
AUDIT_LIB  := $B/lib/cumu/libcumu-audit.so
NODES_LIB  := $B/lib/cumu/libcumu-nodes.so
CUMU_BIN   := $B/bin/cumu
CUMU_TOOL  := $B/libexec/cumu-tool

PTX_SRC    := $(wildcard shim/ptx/*.c shim/ptx/front/*.c shim/ptx/analysis/*.c shim/ptx/lir/*.c shim/ptx/lir/lower/*.c \
              shim/ptx/tier1/*.c shim/ptx/tier1/emit/*.c shim/ptx/musa/emit/*.c) \
              shim/ptx/tier1/prelude/text.S shim/ptx/musa/prelude/text.S
FATBIN_SRC := $(wildcard shim/fatbin/*.c)
CORE_SRC   := $(wildcard shim/core/*.c shim/core/*.S shim/api/*.c shim/api/*/*.c shim/api/*/*/*.c shim/api/*/*.S shim/kernel/*.c shim/compile/*.c) \
              $(FATBIN_SRC) $(PTX_SRC) $(SOBOL_SRC) $(GEN_CORE_SRC)
ALU_SRC    := $(wildcard shim/ptx/tier0/alu_*.c)
MUSA_SRC   := $(filter-out $(ALU_SRC),$(wildcard shim/host/driver/*.c shim/ptx/tier0/*.c shim/ptx/base/*.c \
              shim/ptx/tier1/exec/*.c shim/ptx/tier1/*.c))
MUSART_SRC := $(wildcard shim/host/runtime/*.c)
LEVEL_SRC  := shim/host/mccl/reduce.c
MCCL_SRC   := $(filter-out $(LEVEL_SRC),$(wildcard shim/host/mccl/*.c shim/host/mccl/net/*.c))
CLI_SRC    := $(filter-out %/launcher.c,$(wildcard shim/cli/*.c)) $(wildcard shim/tools/*.c) shim/cli/uses.S shim/cli/view.S $(addprefix shim/audit/,elf.c redirect.c runtime.c) $(AUDIT_GEN) $(FATBIN_SRC) $(PTX_SRC) \
              $(addprefix shim/core/,config.c log.c append.c file.c history.c json.c ldcache.c table.c) \
              $(filter-out %/place.c,$(wildcard shim/compile/*.c))

CLI_SRC    += $B/gen/wrappers.c

# What `cumu run` needs, alone.
RUN_SRC    := $(addprefix shim/cli/,launcher.c run.c launch.c closure.c neighbours.c program.c util.c) \
              $(addprefix shim/core/,config.c log.c append.c file.c history.c ldcache.c) shim/audit/elf.c

# Source path -> object path: shim/core/log.c -> $B/obj/core/log.o, build/gen/x.c -> $B/obj/gen/x.o
obj         = $(patsubst shim/%,$B/obj/%.o,$(patsubst $B/gen/%,$B/obj/gen/%.o,$(basename $(1))))
CORE_OBJ   := $(call obj,$(CORE_SRC))
ALU_LEVELS := $(if $(findstring x86_64,$(shell $(CC) -dumpmachine)),1 3 4,1)
ALU_OBJ    := $(foreach l,$(ALU_LEVELS),$(patsubst %.o,%.l$l.o,$(call obj,$(ALU_SRC))))
MUSA_OBJ   := $(call obj,$(MUSA_SRC)) $(ALU_OBJ)
MCCL_OBJ   := $(call obj,$(MCCL_SRC)) \
              $(foreach l,$(ALU_LEVELS),$(patsubst %.o,%.l$l.o,$(call obj,$(LEVEL_SRC))))
MTML_OBJ   := $(call obj,$(wildcard shim/host/mtml/*.c))
maths_obj   = $(call obj,$(wildcard shim/host/$(1)/*.c shim/host/maths/*.c) $(MATHS_WITH_$(1)))
MUSART_OBJ := $(call obj,$(MUSART_SRC))
OVER_OBJ   := $(call obj,$(OVER_SRC))
AUDIT_OBJ  := $(call obj,$(wildcard shim/audit/*.c shim/audit/*.S) $(AUDIT_GEN))
CLI_OBJ    := $(call obj,$(CLI_SRC))
RUN_OBJ    := $(call obj,$(RUN_SRC))
NODES_OBJ  := $(call obj,$(wildcard shim/nodes/*.c))

, := ,
# gcc clears and copies structs of a hundred bytes by `rep stos` and `rep movs`, which take their time to begin: a sixth
# of a small launch was that, a third of a small call of BLAS.
STRUCT_OPT  := $(foreach what,memset memcpy,-m$(what)-strategy=unrolled_loop:512:noalign$(,)libcall:-1:noalign)
STRUCT_OPT  := $(shell $(CC) $(STRUCT_OPT) -x c -c /dev/null -o /dev/null 2>/dev/null && echo '$(STRUCT_OPT)')
$(MUSA_OBJ) $(sort $(foreach m,$(MATHS),$(call maths_obj,$m))): BASE += $(STRUCT_OPT)

COMPRESS_LIBS := -lzstd -llz4

# No call into these libraries is a cancellation point (cancel/points.c).
CANCEL_OBJ  := $B/obj/cancel/points.o
CANCEL_SAFE := $(CANCEL_OBJ) $(shell sed -n 's/^[PV][A-Z]*.[^,]*, \([a-z0-9_]*\),.*/-Wl,--wrap=\1/p' shim/cancel/points.c)
$(CORE_LIB) $(HOST_MUSA) $(HOST_RT) $(HOST_MCCL) $(HOST_MTML) $(HOST_MATHS): $(CANCEL_OBJ)

# A link replaces its target in one step: processes that run from the build folder keep their copy, and
# a link that fails leaves the last good one.
define newline


endef
define replace
$Qnew=$@.$$$$; $(CC) -o $$new $(1) && mv -f $$new $@ || { rm -f $$new; exit 1; }
endef

# Which file a wrapper is in, its object tells; a table whose text did not change keeps its time.
API_OBJ    := $(call obj,$(wildcard shim/api/*.c shim/api/*/*.c shim/api/*/*/*.c))
$B/gen/.wrappers: $(GEN_STAMP) $(API_OBJ)
	$Q$(GEN) wrappers $B/gen $(MAPS) $(API_OBJ)
	@touch $@
$B/gen/wrappers.c: $B/gen/.wrappers ;

# The warp-vector loops of tier 0 are written for the vectoriser and built once per CPU level; alu.c
# chooses. Without traps and errno the loops have no branches; neither changes a result.
ALU_FLAGS   = $(if $(SAN),-O2 -g1,-O3 $(SYMBOLS)) -fno-math-errno -fno-trapping-math
ALU_ARCH_1 :=
ALU_ARCH_3 := -march=x86-64-v3
ALU_ARCH_4 := -march=x86-64-v4
define alu_rule
$B/obj/%.l$(1).o: shim/%.c | $$(GEN_HEADERS)
	@mkdir -p $$(@D)
	@echo "cc $$*.c level $(1)"
	$$Q$$(CC) $$(BASE) $$(ALU_FLAGS) $(ALU_ARCH_$(1)) -DT0_LEVEL=$(1) -MMD -MP -c -o $$@ $$<
endef
$(foreach l,$(ALU_LEVELS),$(eval $(call alu_rule,$l)))

# What a guest's core must not get wrong is compiled with one more warning.
$B/obj/core/%.o $B/obj/cli/%.o $B/obj/tools/%.o: override OPT += -Wconversion
# Another emitter makes other objects: what the cache goes by.
EMITTER_SRC := $(sort $(wildcard $(foreach d,shim/ptx shim/ptx/* shim/ptx/*/*,$d/*.[chS] $d/*.def)))
EMITTER      = $(shell sha256sum $(EMITTER_SRC) | sha256sum | cut -c 1-32)
$B/obj/compile/key.o: override OPT += -DCUMU_EMITTER='"$(EMITTER)"'
$B/obj/compile/key.o: $(EMITTER_SRC)
$B/obj/cli/help.o $B/obj/cli/manual.o $B/obj/cli/doctor.o \
    $B/obj/host/mccl/net/parse.o: override OPT += -DCUMU_VERSION='"$(VERSION)"'
# A maths library's message names the function that was called (host/maths/submit.c).
$(foreach m,maths $(MATHS),$B/obj/host/$m/%.o): BASE += -fno-omit-frame-pointer -fno-optimize-sibling-calls
$(sort $(foreach m,$(MATHS),$(call maths_obj,$m))): shim/shim.mk
# Loops of its own, written for the vectoriser. Random numbers are the same on every CPU: no fused operations.
# Shadows are read lane by lane.
$(patsubst %,$B/obj/ptx/tier0/%.o,race race_clock race_shared race_tensor race_event race_global race_page race_report race_visit tools watch) $B/obj/ptx/tier1/exec/race.o: OPT := $(if $(SAN),$(OPT),-O3 $(SYMBOLS))
$B/obj/host/murand/%.o: OPT := $(if $(SAN),$(OPT),-O3 $(SYMBOLS)) -fno-math-errno -fno-trapping-math -ffp-contract=off
$B/obj/host/musparse/%.o $B/obj/host/mupp/%.o $B/obj/host/mudnn/%.o $B/obj/host/mublaslt/%.o: OPT := $(if $(SAN),$(OPT),-O3 $(SYMBOLS)) -fno-math-errno -fno-trapping-math

# Kernels race as they like: what they load and store is no concern of TSan's (by AVX-512 it is intrinsics, unseen).
$B/obj/ptx/tier0/core_memory.o $B/obj/ptx/tier0/core_avx2.o: BASE := $(filter-out -fsanitize=thread,$(BASE))

# WITH_ASM=0: stacks are switched by the C library.
$B/obj/ptx/tier0/stack.o: override OPT += -DCUMU_ASM=$(WITH_ASM)

# Sanitizers make compilations long: what neither calculates nor is searched by fuzzers is not optimised under them, nor
# (QUICK=1) in the second compiler's build.
HOT  := $(addprefix $B/obj/,ptx/tier0/% ptx/lir/% ptx/front/% ptx/analysis/% fatbin/% half/% sobol/% \
        host/maths/% host/mu% host/mccl/% \
        $(addprefix tests/,random/% flow/% musa/% ptx/% ptxfront/% murand/% tier0/tcgen05.o base/tcgen05.o))
COLD = $(if $(SAN)$(QUICK),$(if $(filter $(HOT),$@),,-O0))
$B/obj/%.o: shim/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "cc $*.c"
	$Q$(CC) $(BASE) $(OPT) $(COLD) -MMD -MP -c -o $@ $<

$B/obj/%.o: shim/%.S | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "as $*.S"
	$Q$(CC) $(BASE) -MMD -MP -c -o $@ $<

$B/obj/ptx/tier1/prelude/text.o: $(wildcard shim/ptx/tier1/prelude/*.h) shim/ptx/lir/approx.h
$B/obj/ptx/musa/prelude/text.o: $(wildcard shim/ptx/musa/prelude/*.h)
$B/obj/sobol/numbers.o: shim/sobol/joe-kuo-6.bin
$B/obj/cli/uses.o: mapping/uses.tsv
$B/obj/cli/view.o: $(wildcard shim/cli/view/*.html)
$B/obj/api/cupti/text.o: mapping/cupti.tsv

# Generated text is long and all alike: lines to find a place by are enough. Of the prototypes, which only tests have, none.
GEN_OPT = -g1
$B/obj/gen/prototypes.o: GEN_OPT := -O0 -g0
$B/obj/gen/%.o: $B/gen/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "cc gen/$*.c"
	$Q$(CC) $(BASE) $(GEN_OPT) $(COLD) -MMD -MP -c -o $@ $<

$B/obj/gen/%.o: $B/gen/%.S
	@mkdir -p $(@D)
	@echo "as gen/$*.S"
	$Q$(CC) $(BASE) -MMD -MP -c -o $@ $<

$(CORE_LIB): $(CORE_OBJ)
	@mkdir -p $(@D)
	@echo "ld $(@F)"
	$(call replace,-shared $(CORE_OBJ) $(CANCEL_SAFE) $(LDBASE) -Wl$(,)-soname$(,)$(@F) $(COMPRESS_LIBS) -ldl -lm)

# The audit module has no C library: no sanitizer, no stack protector, no built-in functions.
AUDIT_FLAGS := -ffreestanding -fno-builtin -fno-stack-protector
LOADER      := $(firstword $(foreach l,ld-linux-x86-64.so.2 ld-linux-aarch64.so.1,$(wildcard \
               $(shell $(CC) -print-file-name=$l))))
$B/obj/audit/%.o: shim/audit/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "cc audit/$*.c"
	$Q$(CC) $(filter-out $(SAN),$(BASE)) $(OPT) $(AUDIT_FLAGS) -MMD -MP -c -o $@ $<

$(AUDIT_LIB): $(AUDIT_OBJ)
	@mkdir -p $(@D)
	@echo "ld $(@F)"
	$(call replace,-shared -nostdlib $(AUDIT_OBJ) $(filter-out $(SAN),$(LDBASE)) -Wl$(,)-soname$(,)$(@F) $(LOADER))

$(NODES_LIB): $(NODES_OBJ)
	@mkdir -p $(@D)
	@echo "ld $(@F)"
	$(call replace,-shared $(NODES_OBJ) $(LDBASE) -Wl$(,)-soname$(,)$(@F) -ldl)

$(HOST_MUSA): $(MUSA_OBJ)
	@mkdir -p $(@D)
	@echo "ld host/$(@F)"
	$(call replace,-shared $(MUSA_OBJ) $(CANCEL_SAFE) $(LDBASE) -Wl$(,)-soname$(,)$(@F) -ldl -lm)

$(HOST_RT): $(MUSART_OBJ) $(HOST_MUSA)
	@mkdir -p $(@D)
	@echo "ld host/$(@F)"
	$(call replace,-shared $(MUSART_OBJ) $(HOST_MUSA) $(CANCEL_SAFE) $(LDBASE) -Wl$(,)-soname$(,)$(@F) \
	    -Wl$(,)-rpath$(,)'$$ORIGIN' -ldl -lm)

# The driver's functions are slots, which the core fills.
$B/gen/runtime.slots.S: $(OVER_OBJ) shim/runtime/slots.awk
	@mkdir -p $(@D)
	$Qnm -u $(OVER_OBJ) | sed -n 's/^ *U \(mu[A-Z]\)/\1/p' | sort -u | awk -v hidden=1 -f shim/runtime/slots.awk >$@
$(OVER_LIB): $(OVER_OBJ) $B/obj/gen/runtime.slots.o
	@mkdir -p $(@D)
	@echo "ld $(@F)"
	$(call replace,-shared $(OVER_OBJ) $B/obj/gen/runtime.slots.o $(LDBASE) -Wl$(,)-soname$(,)$(@F))

$(HOST_MCCL): $(MCCL_OBJ) $(HOST_RT) $(HOST_MUSA)
	@mkdir -p $(@D)
	@echo "ld host/$(@F)"
	$(call replace,-shared $(MCCL_OBJ) $(HOST_RT) $(HOST_MUSA) $(CANCEL_SAFE) $(LDBASE) -Wl$(,)-soname$(,)$(@F) \
	    -Wl$(,)-rpath$(,)'$$ORIGIN' -ldl)

$(HOST_MTML): $(MTML_OBJ) $(HOST_MUSA)
	@mkdir -p $(@D)
	@echo "ld host/$(@F)"
	$(call replace,-shared $(MTML_OBJ) $(HOST_MUSA) $(CANCEL_SAFE) $(LDBASE) -Wl$(,)-soname$(,)$(@F) \
	    -Wl$(,)-rpath$(,)'$$ORIGIN')

define maths_rule
$B/lib/cumu/host/$(MATHS_SONAME_$(1)): $(call maths_obj,$(1)) $(MATHS_NEEDS_$(1)) $(HOST_RT) $(HOST_MUSA)
	@mkdir -p $$(@D)
	@echo "ld host/$$(@F)"
	$$(call replace,-shared $(call maths_obj,$(1)) $(MATHS_NEEDS_$(1)) $(HOST_RT) $(HOST_MUSA) $$(CANCEL_SAFE) $$(LDBASE) -Wl$$(,)-soname$$(,)$$(@F) \
	    -Wl$$(,)-rpath$$(,)'$$$$ORIGIN' $(MATHS_ON_$(1)) -lm)
endef
$(foreach m,$(HAVE_MATHS),$(eval $(call maths_rule,$m)))

$(CUMU_TOOL): $(CLI_OBJ)
	@mkdir -p $(@D)
	@echo "ld libexec/$(@F)"
	$(call replace,$(CLI_OBJ) $(LDBASE) -lelf -lz $(COMPRESS_LIBS) -ldl -lm)

# A static program starts 0.1 ms earlier; not every system has a static C library.
STATIC := $(if $(SAN),,-static)
$(CUMU_BIN): $(RUN_OBJ) $(CUMU_TOOL)
	@mkdir -p $(@D)
	@echo "ld bin/$(@F)"
	$Qnew=$@.$$$$; $(CC) -o $$new $(RUN_OBJ) $(STATIC) -pthread -ldl 2>/dev/null || \
	    $(CC) -o $$new $(RUN_OBJ) $(LDBASE) && mv -f $$new $@ || { rm -f $$new; exit 1; }

# Names without a version, for programs that open those: the newest answers. A compiler's are the program's own.
FACADE_LINKS := $(addprefix $B/lib/cumu/facade/,$(filter-out libnvrtc.so libnvJitLink.so,\
                $(sort $(foreach s,$(SONAMES),$(firstword $(subst .so., ,$s)).so))))
define facade_link
$1: $B/lib/cumu/facade/$(lastword $(sort $(filter $(notdir $1).%,$(SONAMES))))
	$$Qln -sf $$(<F) $$@
endef
$(foreach l,$(FACADE_LINKS),$(eval $(call facade_link,$l)))

# What finds NVIDIA's tools by name finds ours (cumu run puts this folder on PATH).
TOOL_LINKS := $(addprefix $B/libexec/cumu/,nvidia-smi ptxas nvlink fatbinary cuobjdump nvdisasm)
$(TOOL_LINKS): $(CUMU_TOOL)
	@mkdir -p $(@D)
	$Qln -sf ../$(<F) $@

.PHONY: core host
core: $(CORE_LIB)
host: $(HOST_MUSA) $(HOST_RT) $(HOST_MCCL) $(HOST_MTML) $(HOST_MATHS)
	$(foreach m,$(filter-out $(HAVE_MATHS),$(MATHS)),@echo "no $(MATHS_ON_$m): built without lib$m; its programs will not run"$(newline))
lib: core host $(AUDIT_LIB) $(NODES_LIB) $(OVER_LIB) $(FACADES) $(FACADE_LINKS)
tools: $(CUMU_BIN) $(TOOL_LINKS)

-include $(patsubst %.o,%.d,$(sort $(CORE_OBJ) $(MUSA_OBJ) $(MUSART_OBJ) $(OVER_OBJ) $(MCCL_OBJ) $(MTML_OBJ) $(foreach m,$(MATHS),$(call maths_obj,$m)) $(AUDIT_OBJ) $(NODES_OBJ) $(CLI_OBJ) $(RUN_OBJ) $(CANCEL_OBJ)))

# For places that have nothing but Python (scripts/wheel.py): the same objects with what they stand on inside, so that
# nothing of those libraries' names reaches the program.
WHEEL_CORE := $B/wheel/libcumu-core.so
WHEEL_TOOL := $B/wheel/cumu-tool
INSIDE     := -l:libzstd.a -l:liblz4.a
$(WHEEL_CORE): $(CORE_OBJ)
	@mkdir -p $(@D)
	@echo "ld wheel/$(@F)"
	$(call replace,-shared $(CORE_OBJ) $(CANCEL_SAFE) $(LDBASE) -Wl$(,)-soname$(,)$(@F) $(INSIDE) -Wl$(,)--exclude-libs$(,)ALL \
	    -ldl -lm)
$(WHEEL_TOOL): $(CLI_OBJ)
	@mkdir -p $(@D)
	@echo "ld wheel/$(@F)"
	$(call replace,$(CLI_OBJ) $(LDBASE) -l:libelf.a -l:libz.a $(INSIDE) -ldl -lm)
