/* One kernel's compilation: the object from the cache, or text and compiler, and what launches then use. */
#ifndef CUMU_KERNEL_JOB_H
#define CUMU_KERNEL_JOB_H

#include "compile/compile.h"
#include "kernel/jit.h"

#include <pthread.h>
#include <time.h>

struct job {
    struct job *next;
    struct cumu_func *f; /* NULL: cancelled */
    struct func_inst *inst;
    MUcontext ctx;
    enum t1_shape shape;
    bool compile;    /* now; else only looked for in the cache */
    bool absent;     /* it is not there */
    uint64_t worth;  /* ns in the interpreter, from which on it is compiled; 0: at once */
    uint64_t before; /* ns of earlier processes */
    unsigned tries;  /* of theirs */
    unsigned looks;
    bool again; /* it is known that the cache lacks it */
    struct timespec due;
    bool busy;    /* f and inst are in use: who cancels waits */
    bool lengthy; /* nobody waits for its end when the process goes; lock held */
    void *image;  /* tier 0's, bound to ctx */
    size_t image_size;
    struct cumu_key key;
    char *text;
    size_t text_size;
    char name[]; /* of the kernel; those of templates take hundreds of bytes */
};

/* What jobs share with who hands them out (jit.c). */
struct jit {
    pthread_mutex_t lock;
    pthread_cond_t idle; /* a job's kernel is no longer in use, or the job is done */
    bool leaving; /* the process exits: what is compiled now goes to the cache, nothing else is begun; lock held */
    atomic_uint compiled, cached, refused, total_ms;
    t1_take_over *take_over; /* the driver's, from the first job on; NULL: it has none */
    t1_under_way *under_way;
    t1_spent *spent;
};
extern struct jit cumu_jit;

enum jit_mode { JIT_OFF, JIT_BACKGROUND, JIT_EAGER, JIT_WAIT };
enum jit_mode cumu_jit_mode(void);

struct job *cumu_job_new(struct cumu_func *f, struct func_inst *i, enum t1_shape shape); /* NULL: there is no memory */
void cumu_job_free(struct job *j);
/* The object from the cache, or text and compiler. A job whose kernel has gone meanwhile still fills the cache, but is
 * not loaded. No lock is held. */
void cumu_job_work(struct job *j);

#endif
