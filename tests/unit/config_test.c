/* The option table: defaults, good and bad values, unknown names, copies of the vendor's variables. */
#include "core/config.h"
#include "unit/unit.h"

#include <stdlib.h>

static void defaults(void)
{
    fprintf(stderr, "%d %s %ld %ld", cumu_opt_bool(CUMU_OPT_ACTIVE), cumu_opt_text(CUMU_OPT_BACKEND),
            cumu_opt_int(CUMU_OPT_COMPUTE_CAPABILITY), cumu_opt_int(CUMU_OPT_LOG_REPEAT));
}

static void values(void)
{
    (void)setenv("CUMU", "1", 1);
    (void)setenv("CUMU_BACKEND", "host", 1);
    (void)setenv("CUMU_COMPUTE_CAPABILITY", "9.0", 1);
    (void)setenv("CUMU_LOG_REPEAT", "3", 1);
    defaults();
}

static void empty(void)
{
    (void)setenv("CUMU", "", 1);
    (void)setenv("CUMU_BACKEND", "", 1);
    defaults();
}

static void bad(void)
{
    (void)setenv("CUMU_BACKEND", "hots", 1);
    fprintf(stderr, "%s\n", cumu_opt_text(CUMU_OPT_BACKEND));
    fprintf(stderr, "%s\n", cumu_opt_text(CUMU_OPT_BACKEND)); /* said once */
}

static void bad_log(void)
{
    (void)setenv("CUMU_LOG", "wrn,+", 1);
    (void)cumu_opt_bool(CUMU_OPT_ACTIVE);
}

static void unknown(void)
{
    (void)setenv("CUMU", "1", 1);
    (void)setenv("CUMU_BAKEND", "host", 1);
    (void)setenv("CUMU_TEST_SEED", "1", 1);
    (void)cumu_opt_bool(CUMU_OPT_ACTIVE);
    (void)cumu_opt_bool(CUMU_OPT_ACTIVE);
}

static void unknown_inert(void)
{
    (void)setenv("CUMU_BAKEND", "host", 1);
    (void)cumu_opt_bool(CUMU_OPT_ACTIVE);
}

static void overwritten(void)
{
    static char text[] = "CUMU_LOG_FILE=/dev/null";
    (void)putenv(text);
    const char *v = cumu_opt_text(CUMU_OPT_LOG_FILE);
    memset(text, 'x', sizeof text - 1);
    fprintf(stderr, "%s", v);
}

static void copies(void)
{
    (void)setenv("CUDA_VISIBLE_DEVICES", "1,0", 1);
    (void)setenv("NCCL_DEBUG", "INFO", 1);
    (void)setenv("NCCL_ALGO", "Ring", 1);
    (void)setenv("MCCL_ALGO", "Tree", 1);
    cumu_env_copy("CUDA_VISIBLE_DEVICES", "MUSA_VISIBLE_DEVICES");
    cumu_env_copy_prefix("NCCL_", "MCCL_");
    fprintf(stderr, "%s %s %s", getenv("MUSA_VISIBLE_DEVICES"), getenv("MCCL_DEBUG"), getenv("MCCL_ALGO"));
}

int main(void)
{
    static const char *const ours[] = {"CUMU",          "CUMU_BACKEND",    "CUMU_LOG",
                                       "CUMU_LOG_FILE", "CUMU_LOG_REPEAT", "CUMU_COMPUTE_CAPABILITY"};
    for (unsigned i = 0; i < sizeof ours / sizeof *ours; i++)
        (void)unsetenv(ours[i]);

    check_text(stderr_of(defaults), "0 auto 80 10", "defaults");
    check_text(stderr_of(values), "1 host 90 3", "values from the environment");
    check_text(stderr_of(empty), "0 auto 80 10", "an empty value is no value");
    check_text(stderr_of(bad),
               "cumu: error: config: CUMU_BACKEND: \"hots\" is not auto|musa|host; using auto\nauto\nauto\n",
               "a bad choice is named once and is the default");
    check_text(stderr_of(bad_log),
               "cumu: error: config: CUMU_LOG: \"+\" is no level (error gap warn info debug off), +channel or "
               "-channel\n",
               "a word that is no level is named");
    check_text(stderr_of(unknown), "cumu: error: config: unknown option CUMU_BAKEND (see cumu help options)\n",
               "an unknown option is named once; CUMU_TEST_ is reserved");
    check_text(stderr_of(unknown_inert), "", "a process that is not opted in hears nothing");
    check_text(stderr_of(overwritten), "/dev/null", "values survive an overwritten environment");
    check_text(stderr_of(copies), "1,0 INFO Tree", "vendor variables: copied, but never over a set one");

    check(cumu_opt_expected(CUMU_OPT_ACTIVE, "yes") != NULL, "a boolean is 0 or 1");
    check(cumu_opt_expected(CUMU_OPT_LOG_REPEAT, "-1") != NULL, "a number is not negative");
    check(cumu_opt_expected(CUMU_OPT_LOG_REPEAT, "99999999999999999999") != NULL, "nor too large");
    check(cumu_opt_expected(CUMU_OPT_LOG_REPEAT, "12x") != NULL, "nor followed by text");
    static const char *const wrong[] = {"8", "8.", ".0", "8.10", "100.0", "8.x", "-8.0"};
    for (unsigned i = 0; i < sizeof wrong / sizeof *wrong; i++)
        check(cumu_opt_expected(CUMU_OPT_COMPUTE_CAPABILITY, wrong[i]) != NULL, "%s", wrong[i]);
    check(cumu_opt_expected(CUMU_OPT_COMPUTE_CAPABILITY, "12.0") == NULL, "capability 12.0");
    check(cumu_opt_expected(CUMU_OPT_BACKEND, "auto|musa") != NULL, "a choice is one word");
    check(cumu_opt_expected(CUMU_OPT_BACKEND, "musa") == NULL, "a middle choice is good");
    check(cumu_opt_expected(CUMU_OPT_CHECK, "sync,memory") == NULL, "several words");
    check(cumu_opt_expected(CUMU_OPT_CHECK, "memory,") != NULL, "an empty word");
    check(cumu_opt_expected(CUMU_OPT_CHECK, "memory,mem") != NULL, "a word that is not whole");
    check(!cumu_opt_known("CUMU_LOGX", 9) && cumu_opt_known("CUMU_LOGX", 8), "names match whole");
    return check_end("unit config");
}
