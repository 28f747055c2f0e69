/* What signal handlers ask of a thread. A library that is opened late has its thread-local variables allocated where a
 * thread first uses them, which a handler must not be, and those of the initial-exec model take of a few hundred bytes
 * that the whole process has (mapping/facts/loader.md). A key's value can be asked for anywhere, and leads there. */
#include <pthread.h>
#include <stdbool.h>

#include "host/driver/kernel.h"

static pthread_key_t key;
static bool has_key;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void make_key(void) { has_key = pthread_key_create(&key, NULL) == 0; }

struct host_self *host_self(void)
{
    static _Thread_local struct host_self own;
    (void)pthread_once(&once, make_key);
    if (has_key && pthread_getspecific(key) != &own)
        (void)pthread_setspecific(key, &own); /* without memory its faults are the program's */
    return &own;
}

struct host_self *host_self_in_handler(void) { return has_key ? pthread_getspecific(key) : NULL; }
