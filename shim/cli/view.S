/* The pages of shim/cli/view, inside the tool: each stands before the data that it shows. */
        .section .rodata
        .globl cumu_view_trace, cumu_view_trace_end, cumu_view_check, cumu_view_check_end
        .hidden cumu_view_trace, cumu_view_trace_end, cumu_view_check, cumu_view_check_end
cumu_view_trace:
        .incbin "shim/cli/view/trace.html"
cumu_view_trace_end:
        .byte 0
cumu_view_check:
        .incbin "shim/cli/view/check.html"
cumu_view_check_end:
        .byte 0
        .section .note.GNU-stack, "", %progbits
