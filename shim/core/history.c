/* A ring of the last messages, and who wants to hear of new ones. */
#include "core/history.h"

#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGES = 100, LONGEST = 256 }; /* 25600 bytes, as CUDA documents */

struct listener {
    struct listener *next;
    cumu_history_callback callback;
    void *data;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char ring[MESSAGES][LONGEST];
static unsigned count; /* messages ever */
static struct listener *listeners;

/* In the child of a fork the lock may stay taken by a thread that is not there: a message may be lost, a
 * process may not hang. */
static bool try_lock(void)
{
    for (int i = 0; i < 1000; i++) {
        if (pthread_mutex_trylock(&lock) == 0)
            return true;
        sched_yield();
    }
    return false;
}

void cumu_history_add(enum cumu_level level, const char *line, size_t length)
{
    if (level > CUMU_WARN)
        return;
    struct {
        cumu_history_callback callback;
        void *data;
    } call[8];
    unsigned calls = 0;
    char copy[LONGEST];
    size_t n = length < LONGEST - 1 ? length : LONGEST - 1;
    memcpy(copy, line, n);
    copy[n] = '\0';
    if (!try_lock())
        return;
    memcpy(ring[count++ % MESSAGES], copy, n + 1);
    for (struct listener *l = listeners; l && calls < sizeof call / sizeof *call; l = l->next) {
        call[calls].callback = l->callback;
        call[calls++].data = l->data;
    }
    pthread_mutex_unlock(&lock);
    for (unsigned i = 0; i < calls; i++)
        call[i].callback(call[i].data, level == CUMU_WARN, copy, n);
}

unsigned cumu_history_end(void)
{
    pthread_mutex_lock(&lock);
    unsigned n = count;
    pthread_mutex_unlock(&lock);
    return n;
}

void cumu_history_read(unsigned *from, void (*put)(void *to, const char *line, size_t n), void *to)
{
    static const char lost[] = "cumu: older messages are no longer kept";
    pthread_mutex_lock(&lock);
    unsigned first = count > MESSAGES ? count - MESSAGES : 0, at = from ? *from : 0;
    if (at > count)
        at = count;
    if (at < first) {
        put(to, lost, sizeof lost - 1);
        at = first;
    }
    for (; at < count; at++)
        put(to, ring[at % MESSAGES], strlen(ring[at % MESSAGES]));
    if (from)
        *from = count;
    pthread_mutex_unlock(&lock);
}

void *cumu_history_listen(cumu_history_callback callback, void *data)
{
    struct listener *l = malloc(sizeof *l);
    if (!l)
        return NULL;
    l->callback = callback;
    l->data = data;
    pthread_mutex_lock(&lock);
    l->next = listeners;
    listeners = l;
    pthread_mutex_unlock(&lock);
    return l;
}

int cumu_history_deafen(void *handle)
{
    struct listener *found = NULL;
    pthread_mutex_lock(&lock);
    for (struct listener **at = &listeners; *at; at = &(*at)->next)
        if (*at == handle) {
            found = *at;
            *at = found->next;
            break;
        }
    pthread_mutex_unlock(&lock);
    free(found);
    return found != NULL;
}
