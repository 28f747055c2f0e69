# SDKs as far as their names are known, over the CPU libraries (run.sh), and one that has nothing (missing.c).

# SDK 3.1.0: the driver has exactly the names that its header's bindings show; of the runtime it is only known that
# nothing speaks for forms of the per-thread default stream, nor for pools before SDK 5.
SDK31      := $B/tests/sdk/3.1.0/lib
SDK31_LIBS := $(SDK31)/libmusa.so.1.0 $(SDK31)/libmusart.so.1.0
SDK31_LATER := _pt[sd][sz]$$|^musa(Malloc.*Async|FreeAsync|MemPool|Device.etMemPool|DeviceGetDefaultMemPool|GraphInstantiateWith)
$(SDK31)/libmusa.so.1.0: SDK_FLAGS := -DFORWARD_TO='"$(abspath $(HOST_MUSA))"' -DFORWARD_DRIVER
$(SDK31)/libmusart.so.1.0: SDK_FLAGS := -DFORWARD_TO='"$(abspath $(HOST_RT))"'
$(SDK31)/libmusa.so.1.0.S: tests/sdk/3.1.0/libmusa.so.1.0.names tests/sdk/names.awk tests/sdk/sdk.mk
	@mkdir -p $(@D)
	$Q{ cat $<; echo cumu_host_images; } | awk -v own=muGraphExecUpdate -f tests/sdk/names.awk >$@
$(SDK31)/libmusart.so.1.0.S: $(HOST_RT) tests/sdk/names.awk tests/sdk/sdk.mk
	@mkdir -p $(@D)
	$Qnm -D --defined-only $< | sed 's/.* //' | grep -vE '$(SDK31_LATER)' | awk -v own=musaGraphExecUpdate -f tests/sdk/names.awk >$@
$(SDK31_LIBS): %: %.S tests/sdk/forward.c $(HOST_RT) $(HOST_MUSA)
	@echo "ld tests/sdk/$(@F)"
	$Q$(CC) $(BASE) -Wno-pedantic $(SDK_FLAGS) -shared -o $@ $< tests/sdk/forward.c -Wl,-soname,$(@F) -ldl
	$Qln -sf $(abspath $B)/lib/cumu/host/lib*.so* $(@D)/ && rm -f $(@D)/libmusa.so.1 $(@D)/libmusart.so.5
check-programs: $(if $(filter 1,$(CUMU_ASM)),$(SDK31_LIBS))

# Libraries without a function, under the first of their names, and the program that calls everything over them.
NOTHING := $(foreach b,$(BELOW),$B/tests/sdk/nothing/lib/$(call below_soname,$b))
$(NOTHING): tests/sdk/sdk.mk
	@mkdir -p $(@D)
	$Q$(CC) -shared -o $@ -x c /dev/null -Wl,-soname,$(@F)
$B/tests/sdk/missing: $B/obj/tests/sdk/missing.o $B/obj/gen/prototypes.o
	@echo "ld tests/sdk/missing"
	$Q$(CC) -o $@ $^ $(SAN) -ldl
check-programs: $(NOTHING) $B/tests/sdk/missing
-include $B/obj/tests/sdk/missing.d
