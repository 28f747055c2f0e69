# Rules of the generator: mapping/ -> $B/gen -> tables of the core and the facades.
GEN       := $B/bin/gen
GEN_SRC   := $(wildcard gen/*.c)
MAPS      := $(wildcard mapping/types/*.enum mapping/types/*.struct)
GEN_STAMP := $B/gen/.stamp
GEN_HEADERS := $(addprefix $B/gen/,cuda_enums.h musa_enums.h cuda_structs.h musa_structs.h)

$(GEN): $(patsubst gen/%.c,$B/obj/generator/%.o,$(GEN_SRC))
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

$(GEN_HEADERS): $(GEN_STAMP) ;

.PHONY: gen
gen: $(GEN_STAMP)

-include $(patsubst gen/%.c,$B/obj/generator/%.d,$(GEN_SRC))
