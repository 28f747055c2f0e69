# PyTorch: libcumu-torch.so, the facades that load it, and a bridge for each PyTorch whose headers are here.
#   make TORCH="FOLDER..."    packages (folders with include/ and lib/: of Python, site-packages/torch)
# Without TORCH the system's own headers are taken, if there are any.

TORCH_LIB  := $B/lib/cumu/libcumu-torch.so
TORCH_SONAMES := $(patsubst mapping/torch/%.exports,%,$(wildcard mapping/torch/*.exports))
TORCH_GEN     := $B/gen/torch_tables.c
TORCH_SRC     := $(foreach s,$(TORCH_SONAMES),$(addprefix $B/gen/$s.,slots.c tramp.S ver))
# The trampolines are assembly only: PyTorch's C++ interface is used on x86-64.
TORCH_FACADES := $(if $(filter 1,$(WITH_ASM)),$(TORCH_SONAMES:%=$B/lib/cumu/torch/%))
$(TORCH_GEN) $(TORCH_SRC): $(GEN_STAMP) ;
define torch_facade_rule
$B/lib/cumu/torch/$1: $B/obj/gen/$1.slots.o $B/obj/gen/$1.tramp.o $B/gen/$1.ver $B/lib/cumu/libcumu-torch.so
	@mkdir -p $$(@D)
	@echo "ld torch/$1"
	$$Q$$(CC) -shared -o $$@ $$(filter %.o,$$^) $B/lib/cumu/libcumu-torch.so $$(LDBASE) \
	    -Wl,-soname,$1 -Wl,--version-script=$B/gen/$1.ver -Wl,--enable-new-dtags \
	    -Wl,-rpath,'$$$$ORIGIN/..'
endef
$(foreach s,$(TORCH_SONAMES),$(eval $(call torch_facade_rule,$s)))

# Exceptions pass through it.
TORCH_OBJ := $(call obj,$(wildcard shim/torch/*.c) $(TORCH_GEN))
$(TORCH_OBJ): EXTRA += -fexceptions
$(TORCH_LIB): $(TORCH_OBJ) $(CORE_LIB) $(CANCEL_OBJ)
	@mkdir -p $(@D)
	@echo "ld $(@F)"
	$(call replace,-shared $(TORCH_OBJ) $(CORE_LIB) $(CANCEL_SAFE) $(LDBASE) -Wl$(,)-soname$(,)$(@F) \
	    -Wl$(,)-rpath$(,)'$$ORIGIN' -ldl)

CXX        ?= g++
TORCH      ?= $(if $(wildcard /usr/include/torch/library.h),/usr)
# GCC 14 sees uninitialised members in std::optional of PyTorch's guards.
TORCH_FLAGS := -std=c++17 $(filter-out -Wshadow,$(WARN)) -Wno-unknown-warning-option -Wno-maybe-uninitialized $(filter-out -g%,$(OPT)) -fPIC -fvisibility=hidden
TORCH_CPP  := $(wildcard shim/torch/bridge/*.cpp)
torch_dir   = $(firstword $(wildcard $(1)/lib/libtorch_cpu.so $(1)/lib/*/libtorch_cpu.so))
torch_version_h = $(1)/include/torch/csrc/api/include/torch/version.h
torch_release = $(shell sed -n 's/^.define TORCH_VERSION_M[AI][JN]OR //p' $(call torch_version_h,$(1)) | paste -sd.)
torch_soname = $(shell readelf -d $(call torch_dir,$(1)) | sed -n 's/.*SONAME.*\[\(.*\)\]/\1/p')
torch_abi   = $(shell nm -D $(call torch_dir,$(1)) | grep -q show_configB5cxx11 && echo 1 || echo 0)

# $1: folder, $2: file name of the bridge
define bridge_rule
$B/lib/cumu/torch/$2: $(TORCH_CPP:shim/torch/bridge/%.cpp=$B/obj/torch/$2/%.o)
	@mkdir -p $$(@D)
	@echo "ld torch/$2"
	$$(call replace,-shared $$(filter %.o,$$^) -Wl$$(,)-soname$$(,)$2 -Wl$$(,)-z$$(,)now \
	    $(dir $(call torch_dir,$1))libtorch_cpu.so $(dir $(call torch_dir,$1))libc10.so -lstdc++)
$B/obj/torch/$2/%.o: shim/torch/bridge/%.cpp
	@mkdir -p $$(@D)
	@echo "c++ torch/bridge/$$*.cpp for $2"
	$$Q$$(CXX) $$(TORCH_FLAGS) -fno-access-control -Ishim \
	    -D_GLIBCXX_USE_CXX11_ABI=$(call torch_abi,$1) $(if $(filter /usr,$1),,-isystem $1/include) \
	    -isystem $1/include/torch/csrc/api/include -MMD -MP -c -o $$@ $$<
TORCH_BRIDGES += $B/lib/cumu/torch/$2
-include $(TORCH_CPP:shim/torch/bridge/%.cpp=$B/obj/torch/$2/%.d)
endef
# They are the C++ compiler's: a build by another C compiler takes the plain one's.
define bridge_copy
$B/lib/cumu/torch/$2: $(PLAIN)/lib/cumu/torch/$2
	@mkdir -p $$(@D)
	$$Qcp $$< $$@
TORCH_BRIDGES += $B/lib/cumu/torch/$2
endef
TORCH_BRIDGES :=
ifeq ($(WITH_ASM)$(SAN),1)
bridge_name = cumu-$(call torch_soname,$1)-$(call torch_release,$1).so
$(foreach t,$(TORCH),$(if $(call torch_dir,$t),$(eval $(call $(if $(PLAIN),bridge_copy,bridge_rule),$t,$(call bridge_name,$t)))))
endif

lib: $(TORCH_FACADES) $(TORCH_BRIDGES)
-include $(TORCH_OBJ:.o=.d)
