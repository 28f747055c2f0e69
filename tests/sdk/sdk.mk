# SDKs as far as their names are known, over the CPU libraries (run.sh), and one that has nothing (missing.c).

# A shape is a folder of names, one file a library, whose name is the library's soname; SHAPE.flags says what its
# functions take otherwise. The other libraries are the CPU's own.
SDK_NAMES := $(wildcard tests/sdk/*/*.names)
SDK_LIBS  := $(if $(filter 1,$(WITH_ASM)),$(join $(dir $(SDK_NAMES:%=$B/%)),$(patsubst %.names,lib/%,$(notdir $(SDK_NAMES)))))
SDK_SHAPES := 3.1.0 4.0 4.3 5.2 seen
OLD_INSTANTIATE := -DINSTANTIATE_OF_5
$B/tests/sdk/3.1.0/%: SDK_FLAGS := -DUPDATE_OF_4 -DUNION=32 $(OLD_INSTANTIATE)
$B/tests/sdk/4.0/%:   SDK_FLAGS := -DUPDATE_OF_4 $(OLD_INSTANTIATE)
$B/tests/sdk/4.3/%:   SDK_FLAGS := $(OLD_INSTANTIATE)
$B/tests/sdk/5.2/%:   SDK_FLAGS :=
$B/tests/sdk/seen/%:  SDK_FLAGS :=
# Functions that forward.c defines itself where the shape has them.
SDK_OWN := muDeviceGetAttribute muStreamGetAttribute muStreamSetAttribute muGraphExecUpdate musaGraphExecUpdate muGraphInstantiate muGraphInstantiate_v2 musaGraphInstantiate
.SECONDEXPANSION:
$(SDK_LIBS:%=%.S): %.S: $$(subst $B/,,$$(subst lib/,,$$*)).names shim/runtime/slots.awk tests/sdk/sdk.mk
	@mkdir -p $(@D)
	$Q{ cat $<; $(if $(findstring libmusa.so,$@),echo cumu_host_images;) } | awk -v own="$(SDK_OWN)" -f shim/runtime/slots.awk >$@
# The CPU libraries under names that no SDK has: what a shape forwards to must not be taken for the shape itself.
SDK_CPU := $B/tests/sdk/cpu
SDK_RENAME := s/libmusa\.so/libMUSA.so/g; s/libmusart\.so/libMUSART.so/g; s/libmublas\.so/libMUBLAS.so/g
$(SDK_CPU)/.made: $(HOST_RT) $(HOST_MUSA) $(HOST_MCCL) $(HOST_MATHS) tests/sdk/sdk.mk
	@mkdir -p $(@D)
	$Qfor l in $(filter %.so %.so.1 %.so.2 %.so.3 %.so.5,$^); do n=$$(basename $$l | sed '$(SDK_RENAME)'); \
	  LC_ALL=C sed '$(SDK_RENAME)' $$l >$(@D)/$$n && chmod +x $(@D)/$$n; done
	@touch $@
$(SDK_LIBS): %: %.S tests/sdk/forward.c $(SDK_CPU)/.made
	@echo "ld tests/sdk/$(lastword $(subst /, ,$(dir $(@D)))) $(@F)"
	$Q$(CC) $(BASE) -Wno-pedantic $(SDK_FLAGS) $(if $(findstring /maths/,$@),-DFORWARD_ONLY -DFORWARD_TO='"$(abspath $(SDK_CPU))/$(subst libmublas.,libMUBLAS.,$(@F))"',$(if $(findstring libmusa.so,$@),-DFORWARD_DRIVER -DFORWARD_TO='"$(abspath $(SDK_CPU))/libMUSA.so.1"',-DFORWARD_TO='"$(abspath $(SDK_CPU))/libMUSART.so.5"')) \
	  -shared -o $@ $< tests/sdk/forward.c -Wl,-soname,$(@F) -ldl
	$Qfor l in $(notdir $(if $(findstring /maths/,$@),$(HOST_MCCL),$(HOST_MCCL) $(HOST_MATHS))); do \
	  ln -sf $(abspath $(SDK_CPU))/$$(echo $$l | sed '$(SDK_RENAME)') $(@D)/$$l; done
check-programs: $(call of,sdk,$(SDK_LIBS))

# The snippets and programs on each shape; `make check` has the first, and what public sources have seen at all.
TESTS += $(addprefix tests/sdk/shape.sh:,3.1.0 seen)
.PHONY: check-sdk
check-sdk: check-programs
	$QB=$B CC="$(CC)" TEST_TIMEOUT=600 sh tests/run $B/sdk-logs $(SDK_SHAPES:%=tests/sdk/shape.sh:%)

# Libraries without a function, under the first of their names, and the program that calls everything over them.
NOTHING := $(foreach b,$(BELOW),$B/tests/sdk/nothing/lib/$(call below_soname,$b))
$(NOTHING): tests/sdk/sdk.mk
	@mkdir -p $(@D)
	$Q$(CC) -shared -o $@ -x c /dev/null -Wl,-soname,$(@F)
$B/tests/sdk/missing: $B/obj/tests/sdk/missing.o $B/obj/gen/prototypes.o
	@echo "ld tests/sdk/missing"
	$Q$(CC) -o $@ $^ $(SAN) -ldl
SDK_MATHS_OBJ  := $(addprefix $B/obj/tests/sdk/,maths.o blas.o solver.o sparse.o)
SDK_MATHS_LINK := $(addprefix $B/lib/cumu/facade/,libcudart.so.13 libcurand.so.10 libcusparse.so.12 libcublas.so.13 libcusolver.so.12)
$B/tests/sdk/maths-program: $(SDK_MATHS_OBJ) $(SDK_MATHS_LINK)
	@echo "ld tests/sdk/maths"
	$Q$(CC) -o $@ $^ -Wl,--allow-shlib-undefined $(SAN) -lm
$B/tests/sdk/attributes: $B/obj/tests/sdk/attributes.o $B/lib/cumu/facade/libcuda.so.1
	@echo "ld tests/sdk/attributes"
	$Q$(CC) -o $@ $^ -Wl,--allow-shlib-undefined $(SAN)
check-programs: $(call of,sdk,$(NOTHING) $(addprefix $B/tests/sdk/,missing maths-program attributes))
-include $(SDK_MATHS_OBJ:.o=.d) $(addprefix $B/obj/tests/sdk/,missing.d attributes.d)
