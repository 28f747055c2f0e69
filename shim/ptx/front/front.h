/* What the parts of the PTX front end share while they read a module or a function. */
#ifndef CUMU_PTX_FRONT_H
#define CUMU_PTX_FRONT_H

#include "ptx/front/lex.h"

/* ---- expr.c: constant expressions and the bits of an immediate ------------------------------ */

/* Reads one constant expression; stops at the first token that cannot continue it. */
struct ptx_num ptx_const_expr(struct ptx_lex *l);
/* An expression that must be an integer, e.g. an array size or an alignment. */
uint64_t ptx_const_int(struct ptx_lex *l, const char *what, uint64_t min, uint64_t max);
/* The same between '<' and '>'. */
uint64_t ptx_const_count(struct ptx_lex *l, const char *what, uint64_t min, uint64_t max);
bool ptx_starts_expr(const struct ptx_lex *l);
/* Bits of the literal as a value of the type, as PTX converts it. false: a kind the type cannot
 * take */
bool ptx_imm_bits(const struct ptx_num *n, unsigned type, uint64_t *bits);

/* ---- types.c --------------------------------------------------------------------------------- */

unsigned ptx_type_find(const char *s, size_t len); /* "f32" without the dot; PTX_NONE if no type */
bool ptx_type_is_signed(unsigned type);
enum { PTX_KIND_BITS = 1, PTX_KIND_INTEGER = 2, PTX_KIND_HALF = 4, PTX_KIND_FLOAT = 8, PTX_KIND_ANY = 15 };
/* Which of these a register of the type is; 0: none has it, or it is a predicate. */
unsigned ptx_type_kind(unsigned type);
/* Whether a register of type `have` may hold values of the type, if it is wide enough. */
bool ptx_type_holds(unsigned have, unsigned type);
/* Whether registers of both may be elements of one vector. */
bool ptx_type_mixes(unsigned a, unsigned b);
/* Whether a register of the type may be an address, as far as its kind goes. */
bool ptx_type_is_address(unsigned type);

/* ---- decl.c: declarations, the same at module scope, in parameter lists and in bodies -------- */

struct ptx_decl { /* everything of a declaration but the names */
    uint8_t space, type, vec;
    uint32_t align; /* 0 = natural */
    bool is_extern, visible, weak, common, is_managed, is_pointer;
    uint32_t line;
};
/* Reads space, alignment, attributes, vector and type, linkage in front included. */
void ptx_read_decl(struct ptx_lex *l, struct ptx_decl *d);
/* Reads a name with its array dimensions into *v (name may be `_`). Where count is not NULL, name<n> is taken too:
 * *count is n, else 0, and the variables are those of ptx_counted_name. */
void ptx_read_var(struct ptx_lex *l, const struct ptx_decl *d, struct ptx_var *v, uint32_t *count);
/* Name of number k of name<n>. */
char *ptx_counted_name(struct ptx_ctx *c, const char *s, size_t len, uint32_t k);
/* Current token is '=': reads the initialiser into v->init and v->reloc. */
void ptx_read_init(struct ptx_lex *l, struct ptx_var *v);
/* "( params )"; offsets are laid out by natural alignment. A .reg vector is its elements. */
uint32_t ptx_read_params(struct ptx_lex *l, struct ptx_var **out, uint32_t *total, bool *in_regs);

/* ---- decode.c: opcodes ----------------------------------------------------------------------- */

/* What an operand may be. The letters are explained at the top of opinfo.def. */
struct ptx_opcode {      /* one spelling, decoded once per function */
    struct ptx_instr in; /* everything but operands, guard and line */
    const char *sig;     /* operand pattern */
    bool loose;          /* modifiers and operands are kept as they are; forms.def checks them */
    bool has_hint, has_mask;
    bool is_scaled, is_sparse, is_array; /* .block_scale; .sp; a texture's array, as a2d */
    uint8_t type[5], ntype;              /* types spelled, in their order; PTX_NONE: only matrices have it */
    uint8_t space[2], nspace;            /* state spaces spelled, in their order */
    const char *name, *operands;         /* of its form in forms.def */
};
/* Decodes "ld.global.v4.f32"; fails naming the bad part. */
void ptx_decode(struct ptx_ctx *c, const char *s, size_t len, uint32_t line, struct ptx_opcode *out);
/* The same without operands or error exit: 0, or -1 with *diag filled. For the census check. */
int ptx_decode_check(const char *opcode, struct ptx_diag *diag);

/* form.c: fails if the spelling is none of the forms that forms.def has of its name. */
void ptx_check_form(struct ptx_ctx *c, const char *s, size_t len, uint32_t line, struct ptx_opcode *oc);
/* form_operand.c: why the operand, or with NULL the end of the operands, does not fit at *at of oc->operands, which
 * goes on; NULL if it does. *space: of an address. */
const char *ptx_check_form_operand(const struct ptx_opcode *oc, const struct ptx_func *f, const struct ptx_opnd *o,
                                   const char **at, unsigned *space);

/* signature.c: whether a variable lies where an address in this state space means it; what is said of one that does
 * not. */
bool ptx_is_in_space(const struct ptx_var *v, unsigned space);
extern const char ptx_foreign_space[];

/* Special register by name ("%tid.x"), -1 if none; ptx_sreg_name gives it back. */
int ptx_sreg_find(const char *s, size_t len);
const char *ptx_sreg_name(unsigned sreg);

/* ---- operand.c, signature.c, parse.c --------------------------------------------------------- */

enum {               /* kinds in the symbol table of a function */
       PTX_K_REG,    /* id = register */
       PTX_K_RANGE,  /* %r<count>: id = type, map */
       PTX_K_VECREG, /* .reg .v4: id = first register, count = elements */
       PTX_K_VAR,    /* id = symbol id */
       PTX_K_PROTO,  /* id = func->proto index */
       PTX_K_BTAB,   /* id = func->btab index */
       PTX_K_TARGETS /* .calltargets: id = symbol id of its first function */
};

struct ptx_label { /* one name in one scope, referred to or defined there */
    const char *s;
    uint32_t len, hash, scope, line;
    int32_t instr; /* -1 = not defined in this scope */
    int32_t id;    /* final label id */
    struct ptx_label *next;
};

struct ptx_parser {
    struct ptx_lex lex;
    struct ptx_ctx *ctx;
    struct ptx_func *f;
    struct ptx_symtab names;
    bool digit_names;    /* some single register's name ends in a digit: look for exact names first */
    uint64_t reg_budget; /* registers that may still be declared */
    uint32_t instr_cap, opnd_cap, reg_cap, local_cap, btab_cap, proto_cap, label_cap, scope_cap, loc_cap;
    struct ptx_symtab opcode_names;
    struct ptx_opcode *opcode; /* by spelling */
    uint32_t nopcode, opcode_cap;
    struct ptx_label **label, **label_bucket;
    uint32_t nlabel, nbucket;
    uint32_t *scope_parent, nscope, scope; /* every {} has a number; 0 is the function's own */
};

/* Number of a label for an operand; parse.c turns it into the final id when the body has ended. */
int32_t ptx_label_ref(struct ptx_parser *p, const struct ptx_tok *name);
int32_t ptx_label_here(struct ptx_parser *p, const char *name); /* a label that no text can name */
int32_t ptx_new_reg(struct ptx_parser *p, const char *s, size_t len, unsigned type);
/* Register named by an identifier, or -1. */
int32_t ptx_find_reg(struct ptx_parser *p, const char *s, size_t len);
/* Appends operands to the function's list (vectors, arguments); index of the first. */
uint32_t ptx_add_opnds(struct ptx_parser *p, const struct ptx_opnd *o, uint32_t n);
_Noreturn void ptx_bad_operand(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in,
                               const char *why);
/* One operand of any kind; literals are converted to `type`, or to their own when it is PTX_NONE.
 */
void ptx_read_any(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, int nested, struct ptx_opnd *o);
/* Operands up to the closing bracket, which is consumed; the opening one is behind. */
void ptx_read_list(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, int nested, char close,
                   struct ptx_opnd *o);
void ptx_make_vec(struct ptx_parser *p, struct ptx_opnd *o, const struct ptx_opnd *items, uint32_t n);
/* Operands of *in by the opcode's pattern; current token is the first one. */
void ptx_read_operands(struct ptx_parser *p, const struct ptx_opcode *oc, struct ptx_instr *in);
/* check.c: fails if operands that fit on their own are more than the instruction has, as a barrier 16. */
void ptx_check_together(struct ptx_parser *p, const struct ptx_tok *t, const struct ptx_instr *in);
/* call.c */
void ptx_read_call(struct ptx_parser *p, struct ptx_instr *in);
/* expand.c: puts plain instructions in front of *in for what only its spelling holds. */
void ptx_expand(struct ptx_parser *p, struct ptx_instr *in);
/* The address *o of *in in a register of `type`, unless its own is as wide. */
void ptx_extend_address(struct ptx_parser *p, const struct ptx_instr *in, struct ptx_opnd *o, unsigned type);
/* A move in front of *in, without its guard. */
struct ptx_instr *ptx_expand_move(struct ptx_parser *p, const struct ptx_instr *in, unsigned type, struct ptx_opnd dst,
                                  struct ptx_opnd src);
/* wide.c: the same for registers of 128 bits; the two registers that stand for one, false if it stands for itself. */
void ptx_expand_wide(struct ptx_parser *p, struct ptx_instr *in);
/* Of a body that has been read: products and sums become fma (contract.c). */
void ptx_contract(struct ptx_parser *p);
bool ptx_wide_halves(struct ptx_parser *p, const struct ptx_opnd *o, struct ptx_opnd half[2]);
struct ptx_instr *ptx_push_instr(struct ptx_parser *p);

/* Name in the module of a global or constant variable that a body declares; its name stands `at` in the text. */
char *ptx_inner_name(struct ptx_ctx *c, const struct ptx_module *m, const char *s, size_t len, const char *at);
/* Module symbol by name for operands: PTX_SYM_FUNC or a variable index; -1 if none. */
int32_t ptx_module_symbol(const struct ptx_module *m, const char *s, size_t len);

/* device.c: the declaration that functions of CUDA's device runtime need; the text of one that is declared like f, or
 * NULL if it is none. */
extern const char ptx_device_call[];
char *ptx_device_function(struct ptx_ctx *c, const struct ptx_func *f);

#endif
