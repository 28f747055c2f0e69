/* The logger: levels and channels, one write(2) a line, capped per call site. */
#include "core/log.h"
#include "core/append.h"
#include "core/core.h"
#include "core/history.h"
#include "core/loginit.h"

#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

enum { LINE = 1024, CHANNELS = 16, CHANNEL_NAME = 16 };

static const char *const level_names[] = {"error", "gap", "warn", "info", "debug"};

static struct {
    atomic_bool ready;
    int level; /* -1 = off */
    unsigned repeat;
    const char *file;
    unsigned nchannel;
    struct {
        char name[CHANNEL_NAME];
        bool on;
    } channel[CHANNELS];
} state = {.level = CUMU_GAP, .repeat = 10, .file = ""};

/* Set while this thread is inside the logger, so that nothing reached from here can log again. */
static _Thread_local bool inside;

/* One word of CUMU_LOG; false if it means nothing. */
static bool configure_word(const char *w, size_t n)
{
    if (*w == '+' || *w == '-') {
        if (n < 2 || n > CHANNEL_NAME || state.nchannel == CHANNELS)
            return false;
        unsigned i = state.nchannel++;
        memcpy(state.channel[i].name, w + 1, n - 1);
        state.channel[i].name[n - 1] = 0;
        state.channel[i].on = *w == '+';
        return true;
    }
    for (int i = 0; i <= CUMU_DEBUG; i++)
        if (strlen(level_names[i]) == n && memcmp(level_names[i], w, n) == 0) {
            state.level = i;
            return true;
        }
    if (n == 3 && memcmp(w, "off", 3) == 0) {
        state.level = -1;
        return true;
    }
    return false;
}

void cumu_log_configure(const char *levels, const char *file, unsigned repeat)
{
    const char *bad = NULL;
    size_t bad_length = 0;
    state.level = CUMU_GAP;
    state.nchannel = 0;
    state.repeat = repeat;
    state.file = file;
    for (const char *w = levels; *w;) {
        size_t n = strcspn(w, ",");
        if (n && !configure_word(w, n)) {
            bad = w;
            bad_length = n;
        }
        w += n + (w[n] == ',');
    }
    atomic_store_explicit(&state.ready, true, memory_order_release);
    if (bad)
        cumu_log(NULL, CUMU_ERROR, "config", "CUMU_LOG",
                 "\"%.*s\" is no level (error gap warn info debug off), +channel or -channel", (int)bad_length, bad);
}

CUMU_EXPORT bool cumu_log_on(enum cumu_level level, const char *channel)
{
    if (!atomic_load_explicit(&state.ready, memory_order_acquire))
        cumu_config_load();
    for (unsigned i = 0; i < state.nchannel; i++)
        if (strcmp(state.channel[i].name, channel) == 0)
            return state.channel[i].on;
    return (int)level <= state.level;
}

/* How many lines a site may say: a gap is the same gap every time. */
static unsigned cap(enum cumu_level level) { return level == CUMU_GAP ? 1 : state.repeat; }

/* Characters of a symbol that leave the text behind it its room: C++ names of kernels are longer than a line. */
static int symbol_room(size_t room, const char *format, va_list args)
{
    enum { LEAST = 80, AROUND = 64 }; /* what stands beside both */
    va_list again;
    va_copy(again, args);
    const int text = vsnprintf(NULL, 0, format, again);
    va_end(again);
    return text < 0 || (size_t)text + AROUND + LEAST > room ? LEAST : (int)(room - AROUND - (size_t)text);
}

/* Writes one line: built on the stack, as the logger may be called inside malloc; one write, so that lines of
 * processes do not mix; errno kept, because callers log between a failure and its report. A call from within itself
 * is dropped. */
void cumu_vlog(struct cumu_log_site *site, enum cumu_level level, const char *channel, const char *symbol,
               const char *format, va_list args)
{
    if (inside || !cumu_log_on(level, channel))
        return;
    unsigned said = site ? __atomic_fetch_add(&site->said, 1, __ATOMIC_RELAXED) : 0;
    unsigned max = site ? cap(level) : 0;
    if (max && said >= max) {
        if (said > UINT32_MAX / 2) /* keep the counter from wrapping round to a second life */
            __atomic_store_n(&site->said, UINT32_MAX / 2, __ATOMIC_RELAXED);
        return;
    }
    int saved = errno;
    inside = true;
    char line[LINE];
    size_t room = sizeof line - 1; /* the newline always fits */
    const int most = symbol_room(room, format, args);
    const bool cut = symbol && strlen(symbol) > (size_t)most;
    int n = snprintf(line, room, "cumu: %s: %s: %.*s%s%s", level_names[level], channel, most, symbol ? symbol : "",
                     cut ? "..." : "", symbol ? ": " : "");
    size_t used = n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
    n = vsnprintf(line + used, room - used, format, args);
    if (n > 0)
        used += (size_t)n < room - used ? (size_t)n : room - used - 1;
    if (max > 1 && said + 1 == max) {
        n = snprintf(line + used, room - used, " (said %u times, no more)", max);
        if (n > 0)
            used += (size_t)n < room - used ? (size_t)n : room - used - 1;
    }
    cumu_history_add(level, line, used);
    line[used++] = '\n';
    cumu_append(state.file, line, used);
    inside = false;
    errno = saved;
}

CUMU_EXPORT void cumu_log(struct cumu_log_site *site, enum cumu_level level, const char *channel, const char *symbol,
                          const char *format, ...)
{
    va_list args;
    va_start(args, format);
    cumu_vlog(site, level, channel, symbol, format, args);
    va_end(args);
}
