/* Emits a facade: trampolines in assembly, the same in C, the struct that joins them to the core,
 * and the version script with NVIDIA's node. */
#include "gen/emit.h"

#include <string.h>

static void save_registers(FILE *f)
{
    static const char *const general[] = {"rdi", "rsi", "rdx", "rcx", "r8", "r9", "rax"};
    for (unsigned i = 0; i < 7; i++)
        fprintf(f, "    pushq %%%s\n    .cfi_adjust_cfa_offset 8\n", general[i]);
    fprintf(f, "    subq $128, %%rsp\n    .cfi_adjust_cfa_offset 128\n");
    for (unsigned i = 0; i < 8; i++)
        fprintf(f, "    movups %%xmm%u, %u(%%rsp)\n", i, i * 16);
}

static void restore_registers(FILE *f)
{
    static const char *const general[] = {"rax", "r9", "r8", "rcx", "rdx", "rsi", "rdi"};
    for (unsigned i = 0; i < 8; i++)
        fprintf(f, "    movups %u(%%rsp), %%xmm%u\n", i * 16, i);
    fprintf(f, "    addq $128, %%rsp\n    .cfi_adjust_cfa_offset -128\n");
    for (unsigned i = 0; i < 7; i++)
        fprintf(f, "    popq %%%s\n    .cfi_adjust_cfa_offset -8\n", general[i]);
}

/* Slots, first-call entries and stubs, shared by facades and by mu. In the resolver %r11d holds the
 * index and the argument registers hold the caller's arguments; after seven pushes the stack is
 * 16-byte aligned again (return address plus 56 bytes). %rax counts the vector arguments of
 * variadic calls. */
void emit_asm_entries(FILE *f, const char *load_arguments, const char *resolver, const char *stub_jump,
                      const char *slots, const char *stubs)
{
    fprintf(f, "    .section .note.GNU-stack,\"\",@progbits\n"
               "    .text\n"
               "    .balign 16\n"
               "    .type cumu_resolver, @function\n"
               "cumu_resolver: /* %%r11d: index; arguments as the caller set them */\n"
               "    .cfi_startproc\n");
    save_registers(f);
    fprintf(f, "%s    call %s@PLT\n    movq %%rax, %%r11\n", load_arguments, resolver);
    restore_registers(f);
    fprintf(f,
            "    jmp *%%r11\n"
            "    .cfi_endproc\n"
            "    .size cumu_resolver, .-cumu_resolver\n\n"
            "/* First call of slot INDEX, and what answers when there is nothing to call. */\n"
            "    .macro entry index\n"
            "    .text\n"
            "    .cfi_startproc\n"
            ".Llazy\\index:\n"
            "    endbr64\n"
            "    movl $\\index, %%r11d\n"
            "    jmp cumu_resolver\n"
            ".Lstub\\index:\n"
            "    endbr64\n"
            "    %s\n"
            "    .cfi_endproc\n"
            "    .section .data.rel,\"aw\"\n"
            "    .quad .Llazy\\index\n"
            "    .section .data.rel.ro,\"aw\"\n"
            "    .quad .Lstub\\index\n"
            "    .endm\n\n"
            "    .section .data.rel,\"aw\"\n"
            "    .balign 64\n"
            "    .globl %s\n"
            "    .hidden %s\n"
            "%s:\n"
            "    .section .data.rel.ro,\"aw\"\n"
            "    .balign 16\n"
            "    .globl %s\n"
            "    .hidden %s\n"
            "%s:\n\n",
            stub_jump, slots, slots, slots, stubs, stubs, stubs);
}

/* Emits a facade's assembly: a trampoline a symbol (`endbr64; jmp *slot`), what fills the slot at the first call, a
 * stub, and a thunk that leads to the tracer. The thunks lie in a section of their own: one that no trace needs is
 * never paged in. */
static void emit_trampolines(const struct job *j, const struct facade *f, const struct slots *s)
{
    struct output o = emit_open(j, arena_print(j->arena, "%s.tramp.S", f->soname), "//", "emit_facade.c",
                                arena_print(j->arena, "api/%s.map", f->library));
    emit_asm_entries(o.file,
                     "    leaq cumu_facade(%rip), %rdi\n"
                     "    movl %r11d, %esi\n",
                     "cumu_slot_fill",
                     "movl $\\index, %esi\n"
                     "    jmp cumu_stub_entry",
                     "cumu_facade_slots", "cumu_facade_stubs");
    fprintf(o.file, "    .text\n"
                    "cumu_stub_entry: /* %%esi: index */\n"
                    "    .cfi_startproc\n"
                    "    leaq cumu_facade(%%rip), %%rdi\n"
                    "    subq $8, %%rsp\n"
                    "    .cfi_adjust_cfa_offset 8\n"
                    "    call cumu_stub_called@PLT\n"
                    "    addq $8, %%rsp\n"
                    "    .cfi_adjust_cfa_offset -8\n"
                    "    xorl %%edx, %%edx /* the rest of a struct, and what is no integer */\n"
                    "    pxor %%xmm0, %%xmm0\n"
                    "    pxor %%xmm1, %%xmm1\n"
                    "    ret\n"
                    "    .cfi_endproc\n\n"
                    "    .weak cumu_trace_entry\n"
                    "cumu_facade_traced: /* %%r11d: index */\n"
                    "    .cfi_startproc\n"
                    "    leaq cumu_facade(%%rip), %%r10\n"
                    "    jmp *cumu_trace_entry@GOTPCREL(%%rip)\n"
                    "    .cfi_endproc\n\n"
                    "    .section .text.cumu_thunks,\"ax\",@progbits\n"
                    "    .balign 16\n"
                    "    .globl cumu_facade_thunks\n"
                    "    .hidden cumu_facade_thunks\n"
                    "cumu_facade_thunks:\n\n"
                    "    .macro trampoline name index\n"
                    "    entry \\index\n"
                    "    .section .text.cumu_thunks,\"ax\",@progbits\n"
                    "    .balign 16\n"
                    "    .cfi_startproc\n"
                    "    endbr64\n"
                    "    movl $\\index, %%r11d\n"
                    "    jmp cumu_facade_traced\n"
                    "    .cfi_endproc\n"
                    "    .text\n"
                    "    .balign 16\n"
                    "    .globl \\name\n"
                    "    .type \\name, @function\n"
                    "\\name:\n"
                    "    .cfi_startproc\n"
                    "    endbr64\n"
                    "    jmp *cumu_facade_slots+8*\\index(%%rip)\n"
                    "    .cfi_endproc\n"
                    "    .size \\name, .-\\name\n"
                    "    .endm\n\n");
    for (unsigned i = 0; i < s->count; i++)
        fprintf(o.file, "    trampoline %s %u\n", s->at[i]->symbol, i);
    output_close(&o);
}

/* The C twin cannot forward arguments it does not know, so it is typed by the signatures. An empty
 * slot is NULL here. */
static void emit_twin(const struct job *j, const struct facade *f, const struct slots *s)
{
    struct output o = emit_open(j, arena_print(j->arena, "%s.twin.c", f->soname), "//", "emit_facade.c",
                                arena_print(j->arena, "api/%s.map", f->library));
    fprintf(o.file,
            "#include \"abi/values.h\"\n"
            "#include \"core/symbols.h\"\n\n"
            "#include <stddef.h>\n\n"
            "extern const struct cumu_facade cumu_facade;\n"
            "extern void *cumu_facade_slots[];\n"
            "void *cumu_facade_slots[%u];\n\n"
            "static inline void *slot(unsigned index)\n"
            "{\n"
            "    void *f = __atomic_load_n(&cumu_facade_slots[index], __ATOMIC_ACQUIRE);\n"
            "    return f ? f : cumu_slot_fill(&cumu_facade, index);\n"
            "}\n"
            "#define TWIN __attribute__((visibility(\"default\")))\n",
            s->count);
    for (unsigned i = 0; i < s->count; i++) {
        const struct signature *g = effective(s->at[i])->signature;
        const char *result = is_void(&g->result) ? "void" : plain_type(j->arena, &g->result, false);
        const char *parameters = plain_parameters(j->arena, g, false);
        fprintf(o.file,
                "\nTWIN %s %s(%s);\n"
                "TWIN %s %s(%s)\n{\n    %s((%s (*)(%s))slot(%u))(%s);\n}\n",
                result, s->at[i]->symbol, parameters, result, s->at[i]->symbol, parameters,
                is_void(&g->result) ? "" : "return ", result, parameters, i, c_arguments(j->arena, g));
        /* What is no integer is 0, as of the assembly's. */
        if (!strncmp(result, "struct ", 7) || !strcmp(result, "float") || !strcmp(result, "double"))
            fprintf(o.file, "static %s stub_%u(void) { return cumu_stub_called(&cumu_facade, %u), (%s){0}; }\n", result,
                    i, i, result);
        else
            fprintf(o.file, "static intptr_t stub_%u(void) { return cumu_stub_called(&cumu_facade, %u); }\n", i, i);
    }
    fprintf(o.file, "\nextern void (*const cumu_facade_stubs[])(void);\n"
                    "void (*const cumu_facade_stubs[])(void) = {\n");
    for (unsigned i = 0; i < s->count; i++)
        fprintf(o.file, "    (void (*)(void))stub_%u,\n", i);
    fprintf(o.file, "};\n");
    output_close(&o);
}

void emit_facade(const struct job *j, const struct facade *f)
{
    struct slots s = slots_of(j, f);
    emit_trampolines(j, f, &s);
    emit_twin(j, f, &s);

    struct output o = emit_open(j, arena_print(j->arena, "%s.slots.c", f->soname), "//", "emit_facade.c",
                                "sonames.map");
    const char *table = arena_print(j->arena, "cumu_table_%s", c_name(j->arena, f->soname));
    fprintf(o.file,
            "#include \"core/symbols.h\"\n\n"
            "extern __attribute__((visibility(\"default\"))) const struct cumu_table %s;\n"
            "extern void *cumu_facade_slots[];\n"
            "extern void (*const cumu_facade_stubs[])(void);\n"
            "static uint32_t calls[%u];\n"
            "static void *targets[%u];\n"
            "extern const char cumu_facade_thunks[] __attribute__((weak));\n"
            "extern const struct cumu_facade cumu_facade;\n"
            "const struct cumu_facade cumu_facade = {&%s, cumu_facade_slots, cumu_facade_stubs, "
            "calls, targets, cumu_facade_thunks};\n",
            table, s.count, s.count, table);
    output_close(&o);

    o = emit_open(j, arena_print(j->arena, "%s.ver", f->soname), "#", "emit_facade.c", "sonames.map");
    fprintf(o.file, "%s%s{\n  global:\n", f->node ? f->node : "", f->node ? " " : "");
    for (unsigned i = 0; i < s.count; i++)
        fprintf(o.file, "    %s;\n", s.at[i]->symbol);
    fprintf(o.file, "  local:\n    *;\n};\n");
    output_close(&o);
}
