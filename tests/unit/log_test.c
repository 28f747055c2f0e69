/* The logger: form, levels, channels, caps, cut lines, files, errno, many threads. */
#include "core/log.h"
#include "unit/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

static void all_levels(void)
{
    cumu_error("a", "f", "e%d", 1);
    cumu_gap("a", "f", "g");
    cumu_warn("a", NULL, "w");
    cumu_info("b", "f", "i");
    cumu_debug("b", "f", "d");
}

static void at_default(void) { all_levels(); }
static void at_info(void)
{
    (void)setenv("CUMU_LOG", "info", 1);
    all_levels();
}
static void at_off(void)
{
    (void)setenv("CUMU_LOG", "off", 1);
    all_levels();
}
static void channels(void)
{
    (void)setenv("CUMU_LOG", "warn,+b,-a", 1);
    all_levels();
}
static void last_level_wins(void)
{
    (void)setenv("CUMU_LOG", "debug,error", 1);
    all_levels();
}

static void caps(void)
{
    (void)setenv("CUMU_LOG", "warn", 1);
    (void)setenv("CUMU_LOG_REPEAT", "2", 1);
    for (int i = 0; i < 5; i++) {
        cumu_warn("a", NULL, "%d", i);
        cumu_gap("a", "f", "%d", i);
    }
}

static void uncapped(void)
{
    (void)setenv("CUMU_LOG", "warn", 1);
    (void)setenv("CUMU_LOG_REPEAT", "0", 1);
    for (int i = 0; i < 100; i++)
        cumu_warn("a", NULL, "%d", i);
}

static void long_symbol(void)
{
    char name[3000];
    memset(name, 'k', sizeof name - 1);
    name[sizeof name - 1] = '\0';
    cumu_log(NULL, CUMU_ERROR, "kernel", name, "%s it is %s", "why", "refused");
}

static void long_line(void)
{
    static char text[5000];
    memset(text, 'x', sizeof text - 1);
    cumu_error("a", "f", "%s", text);
}

static void keeps_errno(void)
{
    errno = ENOTTY;
    cumu_error("a", "f", "x");
    if (errno != ENOTTY)
        cumu_error("a", "f", "errno changed");
}

static char file[64];

static void to_file(void)
{
    char pattern[80];
    (void)snprintf(pattern, sizeof pattern, "%s.%%p.log", file);
    (void)setenv("CUMU_LOG_FILE", pattern, 1);
    cumu_error("a", "f", "parent");
    char name[128];
    (void)snprintf(name, sizeof name, "%s.%ld.log", file, (long)getpid());
    FILE *in = fopen(name, "r");
    char line[128] = "";
    if (!in || !fgets(line, sizeof line, in))
        fprintf(stderr, "no line in %s\n", name);
    else
        fputs(line, stderr);
    if (in)
        (void)fclose(in);
    (void)unlink(name);
}

static void bad_file(void)
{
    (void)setenv("CUMU_LOG_FILE", "/nonexistent/folder/x", 1);
    cumu_error("a", "f", "x");
}

static void *spam(void *arg)
{
    (void)arg;
    for (int i = 0; i < 50; i++)
        cumu_log(NULL, CUMU_ERROR, "a", "f", "%s", "0123456789012345678901234567890123456789");
    return NULL;
}

static void threads(void)
{
    pthread_t t[4];
    for (int i = 0; i < 4; i++)
        (void)pthread_create(&t[i], NULL, spam, NULL);
    for (int i = 0; i < 4; i++)
        (void)pthread_join(t[i], NULL);
}

static unsigned count(const char *text, const char *line)
{
    unsigned n = 0;
    for (const char *p = text; (p = strstr(p, line)); p += strlen(line))
        n++;
    return n;
}

int main(void)
{
    (void)unsetenv("CUMU_LOG");
    (void)unsetenv("CUMU_LOG_FILE");
    (void)unsetenv("CUMU_LOG_REPEAT");
    (void)snprintf(file, sizeof file, "/tmp/cumu-log-test.%ld", (long)getpid());

    check_text(stderr_of(at_default), "cumu: error: a: f: e1\ncumu: gap: a: f: g\n", "the default is gap");
    check_text(stderr_of(at_info), "cumu: error: a: f: e1\ncumu: gap: a: f: g\ncumu: warn: a: w\ncumu: info: b: f: i\n",
               "levels are cumulative");
    check_text(stderr_of(at_off), "", "off");
    check_text(stderr_of(channels), "cumu: info: b: f: i\ncumu: debug: b: f: d\n", "channels");
    check_text(stderr_of(last_level_wins), "cumu: error: a: f: e1\n", "the last level counts");
    check_text(stderr_of(caps), "cumu: warn: a: 0\ncumu: gap: a: f: 0\ncumu: warn: a: 1 (said 2 times, no more)\n",
               "a site is capped; a gap is said once");
    check(count(stderr_of(uncapped), "\n") == 100, "a cap of 0 is no cap");
    const char *kernel = stderr_of(long_symbol);
    check(strstr(kernel, "kkk...: why it is refused\n") && strlen(kernel) < 1030 && strlen(kernel) > 900,
          "a long symbol is cut, not what is said of it");
    const char *cut = stderr_of(long_line);
    check(strlen(cut) < 1030 && strlen(cut) > 1000 && cut[strlen(cut) - 1] == '\n', "a long line is cut");
    check_text(stderr_of(keeps_errno), "cumu: error: a: f: x\n", "errno is kept");
    check_text(stderr_of(to_file), "cumu: error: a: f: parent\n", "a file of the process");
    check_text(stderr_of(bad_file), "cumu: error: a: f: x\n", "an impossible file: stderr");
    check(count(stderr_of(threads), "cumu: error: a: f: 0123456789012345678901234567890123456789\n") == 200,
          "lines of threads do not mix");
    return check_end("unit log");
}
