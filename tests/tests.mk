# Test programs, fixtures and the targets that run them. A .c file with a main() in a test folder is one
# program; the folder's other .c files are linked to each of them.

TEST_DIRS := unit ptxfront tier0 tier1 musa ptx fatbin kernel jit host host-launch runtime mccl soak random flow trace \
             $(filter mufft murand,$(HAVE_MATHS))
TEST_SRC  := $(foreach d,$(TEST_DIRS),$(wildcard tests/$d/*.c))
TEST_MAIN := $(if $(TEST_SRC),$(shell grep -lE '^int main\b' $(TEST_SRC)))
TEST_PROG := $(TEST_MAIN:%.c=$B/%)
# Tests of tier 0 once more, by code of the baseline generator: each a program of $B/tests/base.
BASE_PROG := $(patsubst tests/tier0/%.c,$B/tests/base/%,$(filter-out %/census.c %/mutants.c %/baseline.c,$(filter tests/tier0/%,$(TEST_MAIN))))
TEST_PROG += $(BASE_PROG)
TEST_SH   := $(wildcard tests/*/run.sh)

# Tests of internals link the objects they touch out of one archive; tests of the MUSA side link the
# libraries as a program would.
TEST_AR   := $B/tests/libcumu-test.a
TEST_OBJ  := $(sort $(CORE_OBJ) $(filter-out %/cli/main.o,$(CLI_OBJ)) $(filter $B/obj/ptx/%,$(MUSA_OBJ)))
TEST_LIBS := -lelf -lz $(COMPRESS_LIBS) -ldl -lm
# Each program links all of the core: lld takes half to a third of ld's time.
TEST_LD   := -pthread -rdynamic $(shell command -v ld.lld >/dev/null && echo -fuse-ld=lld)
HOST_LINK := $(HOST_RT) $(HOST_MUSA) -Wl,-rpath,$(abspath $B/lib/cumu/host)

$(TEST_AR): $(TEST_OBJ)
	@mkdir -p $(@D)
	@rm -f $@
	$Qar rcs $@ $(TEST_OBJ)

# Of the sanitizers tests have what watches memory; the rest is for what they test, and for fuzzers.
TEST_BASE = $(if $(findstring /fuzz/,$@),$(BASE),$(subst fuzzer-no-link$(comma),,$(subst $(comma)undefined,,$(BASE))))
TEST_OPT = $(or $(COLD),-O1)
$B/obj/tests/%.o: tests/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "cc tests/$*.c"
	$Q$(CC) $(TEST_BASE) $(OPT) $(TEST_OPT) -Itests -MMD -MP -c -o $@ $<

# The reference of the random kernels rounds in all modes.
$B/obj/tests/random/scalar.o: override OPT += -frounding-math

# Objects of a folder's files that are not programs.
helpers = $(patsubst tests/%.c,$B/obj/tests/%.o,$(filter-out $(TEST_MAIN),$(wildcard tests/$(1)/*.c)))

define test_rule
$B/tests/$(1)/%: $B/obj/tests/$(1)/%.o $(call helpers,$(1)) $(TEST_AR) $(2)
	@mkdir -p $$(@D)
	@echo "ld tests/$(1)/$$*"
	$$Q$$(CC) -o $$@ $$(filter %.o,$$^) $(if $(2),$(2) $$(HOST_LINK)) $(TEST_AR) $$(SAN) $$(TEST_LD) $$(TEST_LIBS)
endef
$(foreach d,unit ptxfront tier0 tier1 musa ptx fatbin kernel jit random flow trace,$(eval $(call test_rule,$d,)))
$(foreach d,host host-launch runtime,$(eval $(call test_rule,$d,$(HOST_RT) $(HOST_MUSA))))
$(foreach d,mccl soak,$(eval $(call test_rule,$d,$(HOST_MCCL))))
$B/tests/soak/soak: $B/obj/tests/host-launch/kernels.o
$(foreach m,$(filter mufft murand,$(HAVE_MATHS)),$(eval $(call test_rule,$m,$B/lib/cumu/host/$(MATHS_SONAME_$m))))
$B/tests/unit/limits_test: $B/obj/host/driver/limits.o
$B/tests/trace/prototypes_test: $B/obj/gen/prototypes.o
$B/tests/flow/flow_test: $B/obj/tests/musa/machine.o
$(BASE_PROG): $B/tests/base/%: $B/obj/tests/base/%.o $(TEST_AR)
	@mkdir -p $(@D)
	@echo "ld tests/base/$*"
	$Q$(CC) -o $@ $< $(TEST_AR) $(SAN) $(TEST_LD) $(TEST_LIBS)
$B/obj/tests/base/%.o: tests/tier0/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "cc tests/tier0/$*.c by the baseline"
	$Q$(CC) $(TEST_BASE) $(OPT) $(TEST_OPT) -DT0T_BASELINE -Itests -MMD -MP -c -o $@ $<
-include $(BASE_PROG:$B/tests/base/%=$B/obj/tests/base/%.d)
.SECONDARY: $(TEST_SRC:tests/%.c=$B/obj/tests/%.o)
-include $(TEST_SRC:tests/%.c=$B/obj/tests/%.d) $(patsubst tests/%.c,$B/obj/tests/%.d,$(wildcard tests/fuzz/*.c))

# A driver with a device: the CPU driver's objects, where those of tests/device/driver.c take over from a few of
# their functions.
DEVICE_LIB := $B/tests/device/libmusa.so.1
DEVICE_OBJ := $(addprefix $B/obj/tests/,device/driver.o musa/machine.o)
DEVICE_OVER := $(foreach f,ModuleLoadData DeviceGetAttribute FuncGetAttribute FuncSetAttribute LaunchKernel,\
  --redefine-sym mu$f=cpu_mu$f) \
  --redefine-sym host_grid_run=dev_grid_run --redefine-sym t0_kernel_info=dev_kernel_info \
  --redefine-sym cumu_host_images=cpu_images --localize-symbol=cpu_images \
  --redefine-sym muOccupancyAvailableDynamicSMemPerBlock=cpu_shared_left --localize-symbol=cpu_shared_left \
  $(foreach f,load unload kernel global,--redefine-sym t0_module_$f=dev_module_$f)
DEVICE_FROM := $(addprefix $B/obj/host/driver/,module.o device.o launch.o occupancy.o function.o)
DEVICE_NEW  := $(DEVICE_FROM:$B/obj/host/driver/%=$B/tests/device/%)
$(DEVICE_NEW): $B/tests/device/%.o: $B/obj/host/driver/%.o tests/tests.mk
	@mkdir -p $(@D)
	$Q$(OBJCOPY) $(DEVICE_OVER) $< $@
$(DEVICE_LIB): $(filter-out $(DEVICE_FROM),$(MUSA_OBJ)) $(DEVICE_NEW) $(DEVICE_OBJ)
	@mkdir -p $(@D)
	@echo "ld tests/device/$(@F)"
	$Q$(CC) -shared -o $@ $^ $(LDBASE) -Wl,-soname,$(@F) -ldl -lm
-include $(DEVICE_OBJ:.o=.d)
OBJCOPY ?= objcopy

# Fuzz targets: one entry point a file. Every check replays the corpus; `make fuzz` searches.
FUZZ      := $(patsubst tests/fuzz/fuzz_%.c,%,$(wildcard tests/fuzz/fuzz_*.c))
# Their archive has of the APIs' wrappers, two hundred files to compile for fuzzers alone, only NCCL's manifests and what
# conversions call.
FUZZ_PROG := $(FUZZ:%=$B/tests/fuzz/fuzz_%)
FUZZ_AR   := $B/tests/libcumu-fuzz.a
FUZZ_API  := $(addprefix $B/obj/api/,cublas/plain.o cublas/settings.o nccl/json.o nccl/manifest.o nccl/manifest_file.o)
$(FUZZ_AR): $(filter-out $B/obj/api/%,$(TEST_OBJ)) $(FUZZ_API)
	@mkdir -p $(@D)
	@rm -f $@
	$Qar rcs $@ $^
$(FUZZ_PROG): $B/tests/fuzz/%: $B/obj/tests/fuzz/%.o $B/obj/tests/fuzz/replay.o $(FUZZ_AR) $(FUZZ_OBJ)
	@mkdir -p $(@D)
	@echo "ld tests/fuzz/$*"
	$Q$(CC) -o $@ $(filter %.o,$^) $(filter %.so.1,$^) $(FUZZ_AR) $(SAN) -pthread $(TEST_LIBS) \
	  $(if $(filter %.so.1,$^),-Wl$(comma)-rpath$(comma)$(abspath $B/lib/cumu/host))
comma := ,
# Handles of other processes are the CPU driver's.
$B/tests/fuzz/fuzz_ipc $B/fuzz_ipc: $(HOST_MUSA)
$B/tests/fuzz/fuzz_door $B/fuzz_door: $B/obj/host/mccl/net/parse.o
$B/tests/fuzz/fuzz_audit $B/fuzz_audit: $B/obj/audit/patch.o $B/obj/audit/enter.o

FUZZ_SECONDS ?= 60
FUZZ_SEED    ?= 0
FUZZ_CC      ?= clang
# Asked once, and only by who uses it.
HAS_FUZZER = $(eval HAS_FUZZER := $(shell echo 'int LLVMFuzzerTestOneInput(const void *d, unsigned long n) { return d && !~n; }' | \
               $(FUZZ_CC) -x c -fsanitize=fuzzer -o /dev/null - 2>/dev/null && echo 1))$(HAS_FUZZER)
.PHONY: fuzz fuzz-build
fuzz:
	+$Qif [ -z "$(HAS_FUZZER)" ]; then echo "skip fuzz: $(FUZZ_CC) has no libFuzzer"; echo "0 passed, 0 failed, 1 skipped"; exit 0; fi; \
	$(ASAN_MAKE) fuzz-build || exit 1; \
	printf '%s\n' $(FUZZ) | B=$B/asan SECONDS_EACH=$(FUZZ_SECONDS) SEED=$(FUZZ_SEED) xargs -P 2 -n 1 sh tests/fuzz/search || exit 1; \
	echo "$(words $(FUZZ)) passed, 0 failed, 0 skipped"
# Generated kernels of control flow on all back ends, for so long; what fails is reduced and printed.
SECONDS ?= 60
SEED    ?= 1
.PHONY: fuzz-kernels
fuzz-kernels: $B/tests/flow/flow_test
	$QCC="$(CC)" FLOW_SECONDS=$(SECONDS) FLOW_SEED=$(SEED) $<

# Frameworks of others, from their registries: writes mapping/COMPATIBILITY.md. T=word takes some of them.
.PHONY: check-frameworks
check-frameworks: all
	$Qpython3 tests/frameworks/run.py $B mapping/COMPATIBILITY.md $T

fuzz-build: $(FUZZ:%=$B/fuzz_%)
$B/fuzz_%: $B/obj/tests/fuzz/fuzz_%.o $(FUZZ_AR) $(FUZZ_OBJ)
	@echo "ld fuzz_$*"
	$Q$(CC) -fsanitize=fuzzer,address,undefined -o $@ $^ -pthread $(TEST_LIBS) \
	  $(if $(filter %.so.1,$^),-Wl$(comma)-rpath$(comma)$(abspath $B/lib/cumu/host))

# Fixtures: our own CUDA programs. Fresh ones when nvcc is there, else the committed ones.
NVCC        ?= $(firstword $(shell command -v nvcc 2>/dev/null) $(wildcard /usr/local/cuda/bin/nvcc))
ifneq ($(NVCC),)
FIXTURES    := $(patsubst tests/fixtures/src/%.cu,$B/tests/fixtures/%,$(wildcard tests/fixtures/src/*.cu)) \
               $B/tests/fixtures/packed_sass
else
FIXTURES    := $(patsubst tests/fixtures/prebuilt/%,$B/tests/fixtures/%,$(wildcard tests/fixtures/prebuilt/*))
endif
.PHONY: fixtures fixtures-prebuilt
fixtures: $(FIXTURES)
ifneq ($(PLAIN),)
$(FIXTURES): $B/tests/fixtures/%: $(PLAIN)/tests/fixtures/%
	@mkdir -p $(@D)
	$Qcp $< $@
else ifneq ($(NVCC),)
$B/tests/fixtures/packed_sass: tests/fixtures/src/packed.cu # another build of that
$(filter-out %/packed_sass,$(FIXTURES)): $B/tests/fixtures/%: tests/fixtures/src/%.cu
$(FIXTURES): $B/tests/fixtures/%: tests/fixtures/src/fixture.h tests/fixtures/build.sh
	@mkdir -p $(@D)
	@echo "nvcc fixtures/$*"
	$Qsh tests/fixtures/build.sh $(NVCC) $(filter %.cu,$^) $@
# Refreshes the committed binaries. A static runtime is NVIDIA's code: that fixture is never committed.
fixtures-prebuilt: $(filter-out %/static_runtime %/nested,$(FIXTURES))
	@mkdir -p tests/fixtures/prebuilt
	cp $^ tests/fixtures/prebuilt/
else
$(FIXTURES): $B/tests/fixtures/%: tests/fixtures/prebuilt/%
	@mkdir -p $(@D)
	@echo "prebuilt fixtures/$*"
	$Qcp $< $@
endif

T ?=
# What takes longest is first, so that nothing waits for it alone.
LONGEST = tests/mccl/run.sh $B/tests/mccl/quiet
early   = $(filter $(LONGEST),$1) $(filter-out $(LONGEST),$1)
TESTS   = $(call early,$(TEST_PROG) $(TEST_SH)) $(foreach f,$(FUZZ),$B/tests/fuzz/fuzz_$f:tests/fuzz/corpus/$f)
# The tests whose path has one of the words of T; of programs what these are or, being scripts, find in their folders;
# of files those that scripts of these folders take. A script that takes what is another folder's names it here.
selected = $(if $T,$(foreach t,$1,$(if $(strip $(foreach w,$T,$(findstring $w,$t))),$t)),$1)
programs = $(foreach t,$(call selected,$1),$(firstword $(subst :, ,$t)))
scripts  = $(filter tests/%.sh,$(call programs,$(TESTS)))
wanted   = $(if $T,$(filter $(call programs,$(TESTS)) $(patsubst %,$B/%%,$(dir $(scripts))) \
             $(if $(filter tests/cufft/%,$(scripts)),$B/tests/mufft/%),$1),$1)
of       = $(if $(if $T,$(filter $(1:%=tests/%/%),$(scripts)),all),$2)
include tests/sdk/sdk.mk
# What takes minutes: every script of tests/hostile.
.PHONY: check-hostile
check-hostile: check-programs
	$Qbad=0; for t in tests/hostile/*.sh; do echo "# $$t"; B=$B CC="$(CC)" sh $$t || bad=1; done; exit $$bad

.PHONY: check-run check-programs check-asan check-tsan
check-programs: all $(call wanted,$(TEST_PROG) $(FUZZ_PROG)) $(call of,device,$(DEVICE_LIB)) $(call of,gen nvrtc,$(STUBLIBS)) $(call of,gen,$(CALLS)) \
                fixtures $(WHEEL_CORE) $(WHEEL_TOOL)
check-run: check-programs
	$QB=$B CC="$(CC)" sh tests/run $B/test-logs $(call selected,$(TESTS))

# What may depend on the compiler, by clang, in the build that `make lint` makes (of mccl the programs; its script, which
# waits for processes, runs in the plain build); and what the assembly does, by its twins in C: calls that are passed on,
# stacks that are switched.
CLANG_TESTS := $(addprefix tests/,unit fatbin ptxfront/ptxfront ptx/ tier0 tier1/barriers tier1/side_by_side kernel host runtime \
               snippets) clang/tests/mccl/
NOASM_TESTS := $(addprefix tests/,snippets kernel tier0/barriers tier0/progress tier1/barriers host-launch progress process e2e)
.PHONY: check-clang check-noasm
check-clang: fixtures $(TORCH_BRIDGES)
	+$Qif command -v clang >/dev/null; then $(MAKE) --no-print-directory B=$B/clang PLAIN=$B QUICK=1 CC=clang T="$(or $T,$(CLANG_TESTS))" check-run; \
	  else echo "skip clang: not here"; echo "0 passed, 0 failed, 1 skipped"; fi
# All but a few objects are those of the plain build, and are taken from it.
check-noasm: check-programs
	+$Qcd $B && mkdir -p noasm && rm -rf noasm/obj noasm/gen && cp -a obj gen noasm && rm noasm/obj/ptx/tier0/stack.o
	+$QOPT="$(LIGHT)" $(MAKE) --no-print-directory B=$B/noasm PLAIN=$B WITH_ASM=0 T="$(or $T,$(NOASM_TESTS))" check-run

# Builds for one stage of CI alone are compiled with less effort: the compiler takes more time than their tests. To warn
# is for the builds that `make lint` makes.
LIGHT := -O1 -g1 -w
# ASan's objects are the fuzzers' too, where the compiler has them. clang takes NULL + 0 for an overflow; C2x allows it.
ASAN_MAKE = OPT="$(LIGHT)" $(MAKE) --no-print-directory B=$B/asan $(if $(HAS_FUZZER),CC=$(FUZZ_CC)) \
            SAN="-fsanitize=$(if $(HAS_FUZZER),fuzzer-no-link$(comma))address,undefined -fno-sanitize=pointer-overflow \
            -fno-sanitize-recover=undefined"
# The same programs under sanitizers; the end-to-end scripts stay with the plain build, whose processes
# are strangers' binaries. SAN_MATHS: folders of the maths libraries' tests, whose programs go through the facades.
SAN_TESTS = $(addprefix tests/sanitize/maths.sh:,$(SAN_MATHS)) $(call early,$(TEST_PROG)) \
            $(foreach f,$(FUZZ),$B/tests/fuzz/fuzz_$f:tests/fuzz/corpus/$f)
.PHONY: san-run
san-run: $(filter $B/%,$(call programs,$(SAN_TESTS))) \
         $(if $(SAN_MATHS),lib $B/tests/snippets/linked)
	$QB=$B CC="$(CC)" SAN="$(SAN)" sh tests/run $B/test-logs $(call selected,$(SAN_TESTS))
# They see into cumu and not into what it compiles: fewer kernels go through a compiler, as many through the emitters.
check-asan:
	+$QTIER1_EVERY=4 FLOW_COUNT=80 FLOW_LIGHT=1 FLOW_SEED=1001 \
	  ASAN_OPTIONS=detect_leaks=0:allow_user_segv_handler=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  $(ASAN_MAKE) \
	  SAN_MATHS="$(addprefix cu,dnn blas blaslt solver sparse sparselt file pti) snippets hazards maths nccl nvjpeg npp nvtx" san-run
# TSan of gcc 12 does not start where the kernel spreads addresses more widely than it knows.
check-tsan:
	+$Qmkdir -p $B/tsan && echo 'int main(void) { return 0; }' | $(CC) -fsanitize=thread -x c -o $B/tsan/starts - && \
	  $B/tsan/starts 2>$B/tsan/why || { echo "skip tsan: it does not start here"; echo "0 passed, 0 failed, 1 skipped"; exit 0; }; \
	  TSAN_OPTIONS=die_after_fork=0 OPT="$(LIGHT)" $(MAKE) --no-print-directory B=$B/tsan \
	  SAN="-fsanitize=thread $(if $(findstring clang,$(CC)),,-Wno-tsan)" T="$(or $T,/host /kernel /mccl /soak side_by_side)" san-run

# Threads of random work for so long, plain and under sanitizers.
.PHONY: check-soak
check-soak:
	+$Q$(MAKE) --no-print-directory $B/tests/soak/soak && SOAK_SECONDS=$(SECONDS) SOAK_SEED=$(SEED) $B/tests/soak/soak
	+$Q$(MAKE) --no-print-directory B=$B/asan SAN="-fsanitize=address,undefined -fno-sanitize-recover=undefined" $B/asan/tests/soak/soak && \
	  ASAN_OPTIONS=detect_leaks=0:allow_user_segv_handler=1 UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 \
	  SOAK_SECONDS=$(SECONDS) SOAK_SEED=$(SEED) $B/asan/tests/soak/soak
	+$Q$(MAKE) --no-print-directory B=$B/tsan SAN="-fsanitize=thread $(if $(findstring clang,$(CC)),,-Wno-tsan)" $B/tsan/tests/soak/soak && \
	  SOAK_SECONDS=$(SECONDS) SOAK_SEED=$(SEED) $B/tsan/tests/soak/soak

# Figures, each beside what it is compared with in the same run. CUMU_JIT=0 gives tier 0's, and
# `build/tests/bench/kernels/kernels help` says how to run single kernels.
KERN_PTX  := $(if $(NVCC),$(patsubst tests/bench/kernels/%.cu,$B/tests/bench/kernels/%.ptx,$(wildcard tests/bench/kernels/*.cu)),\
  $(patsubst tests/bench/kernels/ptx/%,$B/tests/bench/kernels/%,$(wildcard tests/bench/kernels/ptx/*.ptx)))
KERN_CL   := $(patsubst tests/bench/kernels/opencl/%,$B/tests/bench/kernels/%,$(wildcard tests/bench/kernels/opencl/*))
KERN_PROG := $B/tests/bench/kernels/kernels
LAZY_DIR  := $B/tests/bench/lazy
.PHONY: bench bench-build bench-ptx
bench: bench-build
	$Q$B/tests/bench/calls/calls
	$Q$B/tests/bench/calls/startup $(abspath $(CUMU_BIN) $B/tests/bench/calls/empty)
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/hotpath
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/traced
	$QCUMU_JIT=wait CUMU_COMPUTE_CAPABILITY=10.0 $(CUMU_BIN) run --backend host -- $B/tests/bench/tiles
	$Q$(CUMU_BIN) run --backend host -- $(KERN_PROG)
	$Q$B/tests/bench/compile $${CUMU_BENCH_CORPUS-}
	$Qsh tests/bench/sanitize.sh $(CUMU_BIN) $(KERN_PROG)
	$Q$(CUMU_BIN) run --backend host -- $(LAZY_DIR)/lazy $(LAZY_DIR)
	$Qsh tests/bench/musa.sh $(CUMU_BIN) $(wildcard tests/bench/kernels/ptx/*.ptx tests/fixtures/prebuilt/*)
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/nccl
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/blas
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/solver
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/fft
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/rand
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/spmv
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/dnn
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/products
	$Q$(CUMU_BIN) run --backend host -- $B/tests/bench/attention
	$Qif [ -x $(MCCL_BENCH) ]; then for n in 2 4; do \
	  mpirun --allow-run-as-root --oversubscribe -n $$n $(MCCL_BENCH) || exit 1; done; \
	  sh tests/bench/hosts.sh $(MCCL_BENCH); \
	else echo "# mccl: no mpicc, nothing to compare with"; fi
	$Qif [ -x $B/tests/torch/host ]; then CUMU_HOST_DEVICES=2 LD_LIBRARY_PATH=$(abspath $B/lib/cumu/host) \
	  $(CUMU_BIN) run --backend host -- $(addprefix $B/tests/torch/,host libmusa_python.so extension.so) bench; \
	else echo "# torch: no libtorch-dev"; fi
# Figures kept with the version they are of; LOG= takes the output of a `make bench` made before.
HISTORY := tests/bench/history.tsv
LOG     ?=
.PHONY: bench-record bench-diff
bench-record: $(if $(LOG),,bench-build)
	+$Q$(if $(LOG),,$(MAKE) --no-print-directory bench >$B/bench.log;) scripts/bench record $(HISTORY) <$(or $(LOG),$B/bench.log)
# A= and B= are versions; B is the build folder otherwise, which nothing here needs.
bench-diff:
	$Qscripts/bench diff $(HISTORY) '$A' '$(if $(filter command line,$(origin B)),$B)'
MCCL_BENCH := $B/tests/bench/mccl
bench-build: all $B/tests/bench/compile $B/tests/bench/hotpath $B/tests/bench/traced $B/tests/bench/tiles $B/tests/bench/nccl $B/tests/bench/blas $B/tests/bench/solver $(addprefix $B/tests/bench/,fft rand spmv dnn products attention) $(addprefix $B/tests/bench/calls/,calls startup empty) $(KERN_PROG) $(KERN_PTX) $(KERN_CL) \
  $(LAZY_DIR)/lazy $(LAZY_DIR)/liblazy.so $(if $(shell command -v mpicc),$(MCCL_BENCH))
$(MCCL_BENCH): tests/bench/mccl.c $(HOST_MCCL) | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "mpicc tests/bench/mccl.c"
	$QOMPI_CC="$(CC)" mpicc -std=c11 -D_GNU_SOURCE -O2 $(WARN) -Ishim -I$B/gen -o $@ $< $(HOST_MCCL) $(HOST_LINK)
# What these compare with is written in them.
$(addprefix $B/tests/bench/,rand spmv): BENCH_OPT := -O3 -march=native
$(addprefix $B/tests/bench/,blas solver fft rand spmv dnn products attention tiles): tests/bench/library.h
$(addprefix $B/tests/bench/,products attention): tests/bench/graph.h
# The emitter and the compiler's options are the library's.
$B/tests/bench/compile: tests/bench/compile.c $(TEST_AR)
	@mkdir -p $(@D)
	@echo "cc tests/bench/compile.c"
	$Q$(CC) $(BASE) -O2 -o $@ $< $(TEST_AR) $(SAN) $(TEST_LD) $(TEST_LIBS)
$B/tests/bench/%: tests/bench/%.c | $(GEN_HEADERS)
	@mkdir -p $(@D)
	@echo "cc tests/bench/$*.c"
	$Q$(CC) $(BASE) $(or $(BENCH_OPT),-O2) -o $@ $< -ldl -lm

# A toy library below, a core and a facade, made by gen as the real ones are.
CALLS_DIR := $B/tests/bench/calls
CALLS_MAP := $(addprefix tests/bench/calls/,toy.enum sonames.map toy.map)
CALLS_CC   = $(CC) $(subst $B/gen,$(CALLS_DIR)/gen,$(BASE)) -O2 -fno-semantic-interposition
$(CALLS_DIR)/calls: $(wildcard tests/bench/calls/*.c) $(CALLS_MAP) $(GEN)
	@mkdir -p $(@D)
	@echo "cc tests/bench/calls"
	$Q$(GEN) emit $(@D)/gen $(CALLS_MAP)
	$Q$(CALLS_CC) -shared -o $(@D)/libmutoy.so tests/bench/calls/below.c $(LDBASE)
	$Q$(CALLS_CC) -shared -o $(@D)/libtoycore.so tests/bench/calls/core.c \
	  $(addprefix $(@D)/gen/,libtoy.so.symbols.c tables.c mu.c mu.thunks.S conv.c) -Wl,-Bsymbolic -ldl
	$Q$(CALLS_CC) -shared -o $(@D)/libtoy.so $(addprefix $(@D)/gen/,libtoy.so.slots.c libtoy.so.tramp.S) \
	  $(@D)/libtoycore.so $(LDBASE) -Wl,--version-script=$(@D)/gen/libtoy.so.ver
	$Q$(CALLS_CC) -o $@ tests/bench/calls/calls.c $(addprefix $(@D)/,libtoy.so libmutoy.so libtoycore.so) \
	  -Wl,-rpath,'$$ORIGIN'
$(CALLS_DIR)/startup $(CALLS_DIR)/empty: $(CALLS_DIR)/%: tests/bench/calls/%.c
	@mkdir -p $(@D)
	$Q$(CC) $(BASE) -O2 -o $@ $<

# A library as large as the largest one measured, made here: it shows that only what is launched is read.
$(LAZY_DIR)/%: tests/bench/lazy/%.c tests/bench/lazy/lazy.h
	@mkdir -p $(@D)
	@echo "cc tests/bench/lazy/$*.c"
	$Q$(CC) $(BASE) -O2 -o $@ $< -lzstd -ldl
$(LAZY_DIR)/liblazy.so: $(LAZY_DIR)/generate tests/bench/lazy/library.c tests/bench/lazy/lazy.h \
  $B/lib/cumu/facade/libcudart.so.13
	$Q$(LAZY_DIR)/generate $(LAZY_DIR)/lazy.S $(LAZY_DIR)/lazy.bin
	$Q$(CC) $(BASE) -O1 -shared -fPIC -o $@ tests/bench/lazy/library.c $(LAZY_DIR)/lazy.S \
	  $B/lib/cumu/facade/libcudart.so.13 -Wl,--allow-shlib-undefined
	$Qrm $(LAZY_DIR)/lazy.S $(LAZY_DIR)/lazy.bin

# The plain C beside the kernels is compiled as its user would, for this machine; nothing inlines it.
KERN_OBJ  := $(patsubst tests/bench/kernels/%.c,$B/tests/bench/kernels/%.o,$(wildcard tests/bench/kernels/*.c))
KERN_HDR  := $(wildcard tests/bench/kernels/*.h)
$(addprefix $B/tests/bench/kernels/,native.o native_models.o): KERN_OPT := -O3 -march=native -fopenmp-simd -ffp-contract=fast \
  -Wno-pass-failed
$(KERN_OBJ): $B/tests/bench/kernels/%.o: tests/bench/kernels/%.c $(KERN_HDR)
	@mkdir -p $(@D)
	@echo "cc tests/bench/kernels/$*.c"
	$Q$(CC) $(BASE) $(KERN_OPT) -c -o $@ $<
$(KERN_PROG): $(KERN_OBJ)
	@echo "ld tests/bench/kernels"
	$Q$(CC) -o $@ $^ -ldl -lm
$(KERN_CL): $B/tests/bench/kernels/%: tests/bench/kernels/opencl/%
	@mkdir -p $(@D)
	$Qcp $< $@
# Fresh PTX when nvcc is there, else the committed text, which radix.cu has none of: it is CUB's code.
ifneq ($(NVCC),)
KERN_ARCH := compute_75
$(addprefix $B/tests/bench/kernels/,attention.ptx mma_f16.ptx mma_s8.ptx): KERN_ARCH := compute_80
$(KERN_PTX): $B/tests/bench/kernels/%.ptx: tests/bench/kernels/%.cu $(KERN_HDR)
	@mkdir -p $(@D)
	@echo "nvcc bench/kernels/$*"
	$Q$(NVCC) -ptx -arch=$(KERN_ARCH) -o $@.tmp $< && grep -v '^//' $@.tmp >$@ && rm $@.tmp
bench-ptx: $(KERN_PTX)
	cp $(filter-out %/radix.ptx,$^) tests/bench/kernels/ptx/
else
$(KERN_PTX): $B/tests/bench/kernels/%.ptx: tests/bench/kernels/ptx/%.ptx
	@mkdir -p $(@D)
	$Qcp $< $@
endif

# Snippets: the same files linked against the facades, and with every symbol looked up at run time.
SNIP_SRC  := $(wildcard tests/snippets/*.c)
SNIP_PROG := $B/tests/snippets/linked $B/tests/snippets/lookup $B/tests/snippets/lookup.so
SNIP_LINK := $(addprefix $B/lib/cumu/facade/,libcudart.so.13 libcuda.so.1 libnccl.so.2 libcublas.so.13 libcufft.so.12 libcufftw.so.12 libnvjpeg.so.13 libnppc.so.13 libcufile.so.0 libcurand.so.10 libcusparse.so.12 libcusparseLt.so.0 libcusolver.so.12 libcusolverMg.so.12 libnvrtc.so.13 libnvJitLink.so.13 libcublasLt.so.13 libnvidia-ml.so.1 libcudnn.so.9 libnvtx3interop.so.1 libcupti.so.13)
check-programs: $(call of,snippets sdk,$(SNIP_PROG))
$(SNIP_PROG): $(SNIP_SRC) tests/snippets/snippet.h $(GEN_HEADERS) $(SNIP_LINK) $(CORE_LIB)
	@mkdir -p $(@D)
	@echo "cc tests/snippets/$(@F)"
	$Q$(CC) $(BASE) -O0 -Wno-pedantic -o $@ $(SNIP_SRC) $(if $(findstring lookup,$@),-DVIA_LOOKUP,$(SNIP_LINK)) \
	  $(if $(filter %.so,$@),-shared) -Wl,--allow-shlib-undefined -ldl -lm

# A PyTorch with MUSA and no CUDA, on the system's libtorch: a stand-in for torch_musa, a CUDA extension built with
# PyTorch's headers of CUDA and declarations of a toolkit, and the program that loads both. tests/torch/run.sh says why where it is not built.
TORCH_TEST := $(if $(and $(wildcard /usr/include/torch/library.h),$(filter 1,$(WITH_ASM))),$(addprefix $B/tests/torch/,\
              libmusa_python.so extension.so host libmusa_python.so.9 libmusa_python.so.names devices.so))
TORCH_TEST_CXX = $(CXX) $(TORCH_FLAGS) -O1 -isystem /usr/include/torch/csrc/api/include
check-programs: $(call of,torch,$(TORCH_TEST))
bench-build: $(TORCH_TEST)
$B/tests/torch/libmusa_python.so: tests/torch/backend.cpp $(HOST_RT)
	@mkdir -p $(@D)
	@echo "c++ tests/torch/backend.cpp"
	$Q$(TORCH_TEST_CXX) -shared -o $@ $< -ltorch_cpu -lc10 $B/lib/cumu/host/libmublas.so.1 $(HOST_LINK)
TORCH_TOOLKIT := $(addprefix $B/tests/torch/toolkit/,cuda.h cuda_fp16.h cuda_runtime.h cuda_runtime_api.h library_types.h \
                 cublas_v2.h cublasLt.h cusparse.h cusolverDn.h cusolver_common.h c10/cuda/impl/cuda_cmake_macros.h)
$(TORCH_TOOLKIT): tests/torch/toolkit.h
	@mkdir -p $(@D)
	$Qecho '#include "$(abspath $<)"' >$@
TORCH_TEST_EXT := $(patsubst %,$B/tests/torch/%.o,extension context)
$(TORCH_TEST_EXT): $B/tests/torch/%.o: tests/torch/%.cpp $(TORCH_TOOLKIT) $B/gen/cuda_structs.h
	@echo "c++ $<"
	$Q$(TORCH_TEST_CXX) -isystem $B/tests/torch/toolkit -isystem $B/gen -c -o $@ $<
$B/tests/torch/extension.so: $(TORCH_TEST_EXT) $(TORCH_FACADES)
	$Q$(CXX) -shared -o $@ $(TORCH_TEST_EXT) -Wl,--no-as-needed -lc10 -ltorch_cpu $(TORCH_FACADES) \
	  $(addprefix $B/lib/cumu/facade/,libcudart.so.12 libcuda.so.1 libcublas.so.12 libcublasLt.so.12 libcusparse.so.12 \
	  libcusolver.so.11) -Wl,--allow-shlib-undefined
$B/tests/torch/host: tests/torch/host.cpp
	@mkdir -p $(@D)
	@echo "c++ tests/torch/host.cpp"
	$Q$(TORCH_TEST_CXX) -o $@ $< -ltorch_cpu -lc10 -ldl
$B/tests/torch/devices.so: tests/torch/devices.c $(TORCH_FACADES)
	@mkdir -p $(@D)
	$Q$(CC) $(BASE) -Wno-pedantic -shared -o $@ $< -Wl,--no-as-needed $(TORCH_FACADES) -ltorch_python
$B/tests/torch/libmusa_python.so.9: tests/torch/disagree.c
	@mkdir -p $(@D)
	$Q$(CC) $(BASE) -shared -o $@ $< -DOTHER_RELEASE
$B/tests/torch/libmusa_python.so.names: tests/torch/disagree.c
	@mkdir -p $(@D)
	$Q$(CC) $(BASE) -shared -o $@ $<

# Every function of every facade with bad input; a check calls a sample of them.
BRUTE := $B/tests/brute/brute
check-programs: $(call of,brute,$(BRUTE))
$(BRUTE): $(patsubst tests/%.c,$B/obj/tests/%.o,$(wildcard tests/brute/*.c)) $B/obj/gen/prototypes.o $B/obj/gen/calls.o
	@mkdir -p $(@D)
	@echo "ld tests/brute"
	$Q$(CC) -o $@ $^ $(SAN) -ldl
-include $(patsubst tests/%.c,$B/obj/tests/%.d,$(wildcard tests/brute/*.c))
.PHONY: check-brute
check-brute: all $(BRUTE)
	$QBRUTE_PERCENT=100 BRUTE_MIXED=$(or $(MIXED),16) BRUTE_SEED=$(SEED) B=$B sh tests/brute/run.sh
