/* Logger of the shim: one line per event on stderr (or CUMU_LOG_FILE), `cumu: gap: cudart: cudaFoo: text`.
 *
 * Never allocates, never recurses, keeps errno, and may be called from any thread at any time, also
 * before start-up and in a fork child. Lines longer than 1 KiB are cut. Each call site says at most
 * CUMU_LOG_REPEAT lines (default 10, a `gap` once), then a closing note.
 *
 * Levels are cumulative: CUMU_LOG=info shows error, gap, warn and info. Channels are the word before
 * the symbol: CUMU_LOG=info,+stream,-cublas shows all of stream and nothing of cublas. */
#ifndef CUMU_CORE_LOG_H
#define CUMU_CORE_LOG_H

#include <stdarg.h>
#include <stdbool.h>

enum cumu_level { CUMU_ERROR, CUMU_GAP, CUMU_WARN, CUMU_INFO, CUMU_DEBUG };

/* One per call site, static, zero-initialised: counts what the site has said. */
struct cumu_log_site {
    unsigned said;
};

/* Would a line of this level and channel be shown? For callers whose arguments are costly. */
bool cumu_log_on(enum cumu_level level, const char *channel);

/* site may be NULL (no cap). symbol may be NULL (`cumu: warn: channel: text`). */
void cumu_log(struct cumu_log_site *site, enum cumu_level level, const char *channel, const char *symbol,
              const char *format, ...) __attribute__((format(printf, 5, 6)));
void cumu_vlog(struct cumu_log_site *site, enum cumu_level level, const char *channel, const char *symbol,
               const char *format, va_list args);

/* The forms code uses: a site of their own, and nothing evaluated when the level is off. */
#define CUMU_LOG_AT(level, channel, symbol, ...) \
    do { \
        static struct cumu_log_site site_; \
        if (cumu_log_on(level, channel)) \
            cumu_log(&site_, level, channel, symbol, __VA_ARGS__); \
    } while (0)
#define cumu_error(channel, symbol, ...) CUMU_LOG_AT(CUMU_ERROR, channel, symbol, __VA_ARGS__)
#define cumu_gap(channel, symbol, ...) CUMU_LOG_AT(CUMU_GAP, channel, symbol, __VA_ARGS__)
#define cumu_warn(channel, symbol, ...) CUMU_LOG_AT(CUMU_WARN, channel, symbol, __VA_ARGS__)
#define cumu_info(channel, symbol, ...) CUMU_LOG_AT(CUMU_INFO, channel, symbol, __VA_ARGS__)
#define cumu_debug(channel, symbol, ...) CUMU_LOG_AT(CUMU_DEBUG, channel, symbol, __VA_ARGS__)

#endif
