/* The prelude's text, as it stands in these files, inside the library that emits kernels. */
        .section .rodata
        .globl mu_prelude_text, mu_prelude_end, mu_prelude_matrix, mu_prelude_matrix_end
        .globl mu_prelude_barrier, mu_prelude_barrier_end, mu_prelude_wide, mu_prelude_wide_end
        .globl mu_prelude_async, mu_prelude_async_end, mu_prelude_video, mu_prelude_video_end
        .globl mu_prelude_packed, mu_prelude_packed_end
        .hidden mu_prelude_text, mu_prelude_end, mu_prelude_matrix, mu_prelude_matrix_end
        .hidden mu_prelude_barrier, mu_prelude_barrier_end, mu_prelude_wide, mu_prelude_wide_end
        .hidden mu_prelude_async, mu_prelude_async_end, mu_prelude_video, mu_prelude_video_end
        .hidden mu_prelude_packed, mu_prelude_packed_end
mu_prelude_text:
        .incbin "shim/ptx/musa/prelude/platform.h"
        .incbin "shim/ptx/musa/prelude/int.h"
        .incbin "shim/ptx/musa/prelude/round.h"
        .incbin "shim/ptx/musa/prelude/float.h"
        .incbin "shim/ptx/musa/prelude/cvt.h"
        .incbin "shim/ptx/musa/prelude/memory.h"
        .incbin "shim/ptx/musa/prelude/warp.h"
mu_prelude_end:
mu_prelude_async:
        .incbin "shim/ptx/musa/prelude/async.h"
mu_prelude_async_end:
mu_prelude_video:
        .incbin "shim/ptx/musa/prelude/video.h"
mu_prelude_video_end:
mu_prelude_packed:
        .incbin "shim/ptx/musa/prelude/packed.h"
mu_prelude_packed_end:
mu_prelude_matrix:
        .incbin "shim/ptx/musa/prelude/matrix.h"
        .incbin "shim/ptx/musa/prelude/product.h"
mu_prelude_matrix_end:
mu_prelude_barrier:
        .incbin "shim/ptx/musa/prelude/barrier.h"
mu_prelude_barrier_end:
mu_prelude_wide:
        .incbin "shim/ptx/musa/prelude/wide.h"
mu_prelude_wide_end:
        .section .note.GNU-stack, "", %progbits
