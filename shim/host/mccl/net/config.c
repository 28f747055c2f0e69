/* What the environment says about communicators of several hosts, read once. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "host/mccl/net/door.h"

static struct mccl_settings settings;

static int number(const char *name, int least, int most, int otherwise)
{
    const char *text = secure_getenv(name);
    char *end;
    long n = text ? strtol(text, &end, 10) : 0;
    return text && *text && !*end && n >= least && n <= most ? (int)n : otherwise;
}

static void copy(char *to, size_t size, const char *name)
{
    const char *text = secure_getenv(name);
    snprintf(to, size, "%s", text ? text : "");
}

static void read_all(void)
{
    char family[32];
    copy(settings.interfaces, sizeof settings.interfaces, "NCCL_SOCKET_IFNAME");
    copy(settings.id, sizeof settings.id, "NCCL_COMM_ID");
    copy(family, sizeof family, "NCCL_SOCKET_FAMILY");
    settings.family = strcmp(family, "AF_INET6") == 0 ? AF_INET6 : strcmp(family, "AF_INET") == 0 ? AF_INET : 0;
    settings.transports = secure_getenv("UCX_TLS") != NULL;
    settings.rendezvous = secure_getenv("UCX_RNDV_THRESH") != NULL;
    settings.segments = secure_getenv("UCX_TCP_RX_SEG_SIZE") != NULL;
    settings.part = number("CUMU_NCCL_HOST_RANKS", 1, MCCL_MAX_RANKS, 0);
    settings.join_ms = 1000 * number("CUMU_NCCL_JOIN_SECONDS", 1, 1000000, 600);
    settings.silence_ms = number("CUMU_NCCL_SILENCE_MS", 100, 86400000, 800);
}

const struct mccl_settings *mccl_settings(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, read_all);
    return &settings;
}
