/* Objects from emitted text: out of the cache, or by the system's compiler, or mcc of a MUSA toolkit. */
#ifndef CUMU_COMPILE_COMPILE_H
#define CUMU_COMPILE_COMPILE_H

#include <stdbool.h>
#include <stddef.h>

#include "compile/cache.h"
#include "compile/hash.h"
#include "ptx/ir.h"
#include "ptx/musa/musa.h"
#include "ptx/tier1/tier1.h"

enum cumu_made { CUMU_MADE_CACHED, CUMU_MADE_COMPILED, CUMU_MADE_ABSENT, CUMU_MADE_FAILED };

/* The compiler to be used (CUMU_CC, or the first of cc, gcc, clang on PATH); NULL with *why set. */
const char *cumu_compiler(const char **why);
const char *cumu_compiler_identity(void); /* changes with the compiler; "" if there is none */

/* The compiler of MUSA C++: mcc (CUMU_MCC, or that of MUSA_HOME, MUSA_PATH, MUSA_INSTALL_PATH, /usr/local/musa, or
 * on PATH), or the library MTRTC of the same places, as CUMU_MUSA_COMPILER says. Its file; NULL with *why set. */
const char *cumu_musa_compiler(const char **why);
const char *cumu_musa_identity(void); /* changes with it */

/* Of CUMU_MADE_FAILED, as far as the compiler lets it be known: the text; the flags, one of which it does not have; or
 * the compiler itself, which crashed, did not end, or gave up in its back end. */
enum cumu_fault { CUMU_FAULT_TEXT, CUMU_FAULT_FLAGS, CUMU_FAULT_TOOL };

struct cumu_compiled {
    void *data; /* malloc'ed */
    size_t size;
    unsigned ms;   /* what the compilation took, 0 if cached */
    char why[440]; /* of CUMU_MADE_FAILED: the tool, its first error, the command; else a warning, or "" */
    enum cumu_fault fault;
    bool timed_out; /* of CUMU_FAULT_TOOL */
};
/* Of everything in the module but the bodies of its kernels. */
void cumu_module_digest(const struct ptx_module *m, uint8_t out[CUMU_HASH_BYTES]);
/* Whatever decides the object that cumu_object_make makes of t1_emit's text. digest: the module's. */
void cumu_object_key(struct cumu_key *key, const struct ptx_module *m, const uint8_t digest[CUMU_HASH_BYTES],
                     const char *kernel, enum t1_shape shape, enum t1_isa isa, unsigned options);
/* Of objects that are made and looked for: this machine's, or a narrower one that CUMU_ISA names. */
enum t1_isa cumu_object_isa(void);
/* CUMU_JIT_DEBUG: objects have line tables and are loaded from the cache's files. */
bool cumu_object_debugged(void);
const char *cumu_object_flags(enum t1_isa isa); /* of the compiler, part of the key */
/* With those that the size of the text adds; until the thread's next call. */
const char *cumu_object_flags_for(enum t1_isa isa, size_t text);
/* These may be called by many threads. Only looks in the cache: CUMU_MADE_ABSENT if it is not there. */
enum cumu_made cumu_object_find(struct cumu_compiled *o, const struct cumu_key *key);
/* idle: nobody waits for it. */
enum cumu_made cumu_object_make(struct cumu_compiled *o, const struct cumu_key *key, const char *kernel,
                                const char *text, size_t size, enum t1_shape shape, enum t1_isa isa, bool idle);
/* The same of MUSA C++ (ptx/musa/musa.h), for the architecture mp_<arch>: an ELF or a fat binary that
 * muModuleLoadData takes. CARRIED: and kept so that a machine without a compiler finds it, too. */
enum cumu_want { CUMU_WANT_CACHED, CUMU_WANT_COMPILED, CUMU_WANT_CARRIED };
/* flat: the same kernel with its control flow flattened, malloc'ed, asked for where the compiler breaks down on the
 * text; NULL: there is no such form. */
struct cumu_musa_source {
    const char *kernel, *text;
    size_t size;
    bool (*flat)(void *ctx, char **text, size_t *size);
    void *ctx;
    const struct mu_info *info; /* of the text, which mu_emit wrote; NULL: it is compiled by itself */
    const uint32_t *native;     /* set of forms of the toolkit's own (compile/native.h); NULL: those that are wanted */
};
enum cumu_made cumu_mubin_make(struct cumu_compiled *o, const struct cumu_musa_source *s, unsigned arch,
                               enum cumu_want want);
enum { CUMU_MUBIN_JOINED = 8 }; /* most kernels of a run of the compiler */
/* Of several, with o and made of each: those that fit together by one run of the compiler, which then reads the
 * toolkit's header once; where that fails, half of them, and in the end each by itself, as above. As many threads as
 * like may do so. */
void cumu_mubin_make_many(struct cumu_compiled *o, enum cumu_made *made, const struct cumu_musa_source *s, unsigned n,
                          unsigned arch, enum cumu_want want);
/* A mubin in clang's offload bundle, as mcc writes it, to be freed; NULL: no memory. */
void *cumu_mubin_bundle(const void *mubin, size_t size, unsigned arch);
bool cumu_arch_known(unsigned arch); /* 21, 22, 31 and above */

#endif
