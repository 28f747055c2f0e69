/* The prelude's text, as it stands in these files, inside the library that emits kernels. */
        .section .rodata
        .globl t1_prelude_text, t1_prelude_end
        .hidden t1_prelude_text, t1_prelude_end
        .globl t1_prelude_matrix, t1_prelude_matrix_end
        .hidden t1_prelude_matrix, t1_prelude_matrix_end
t1_prelude_text:
        .incbin "shim/ptx/tier1/prelude/base.h"
        .incbin "shim/ptx/tier1/prelude/memory.h"
        .incbin "shim/ptx/tier1/prelude/rows.h"
        .incbin "shim/ptx/tier1/prelude/vectors.h"
        .incbin "shim/ptx/tier1/prelude/block.h"
        .incbin "shim/ptx/tier1/prelude/places.h"
        .incbin "shim/ptx/tier1/prelude/lanes.h"
        .incbin "shim/ptx/tier1/prelude/arith.h"
        .incbin "shim/ptx/tier1/prelude/copy.h"
        .incbin "shim/ptx/tier1/prelude/float.h"
        .incbin "shim/ptx/tier1/prelude/convert.h"
        .incbin "shim/ptx/tier1/prelude/half.h"
        .incbin "shim/ptx/tier1/prelude/number.h"
        .incbin "shim/ptx/lir/approx.h"
        .incbin "shim/ptx/tier1/prelude/approx.h"
        .incbin "shim/ptx/tier1/prelude/atomics.h"
        .incbin "shim/ptx/tier1/prelude/watch.h"
        .incbin "shim/ptx/tier1/prelude/fibre.h"
t1_prelude_end:
t1_prelude_matrix:
        .incbin "shim/ptx/tier1/prelude/matrix.h"
        .incbin "shim/ptx/tier1/prelude/factor.h"
t1_prelude_matrix_end:
        .section .note.GNU-stack, "", %progbits
