/* Network namespaces that stand for hosts (tests/netns.sh makes them). */
#ifndef CUMU_TESTS_NETNS_H
#define CUMU_TESTS_NETNS_H

#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <unistd.h>

/* TEAM_HOSTS names some, separated by blanks: this process, which has no threads yet, goes on in number i modulo their
 * number. Without TEAM_HOSTS it stays where it is. */
static inline void enter_host(int i)
{
    const char *list = getenv("TEAM_HOSTS");
    char copy[256], *hosts[16], *rest, path[300];
    int n = 0;
    if (!list || !*list)
        return;
    snprintf(copy, sizeof copy, "%s", list);
    for (char *h = strtok_r(copy, " ", &rest); h && n < 16; h = strtok_r(NULL, " ", &rest))
        hosts[n++] = h;
    snprintf(path, sizeof path, "/run/netns/%s", hosts[i % n]);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    /* UCX looks for interfaces in /sys, which shows those of the namespace that it was mounted in. */
    if (fd < 0 || setns(fd, CLONE_NEWNET) || unshare(CLONE_NEWNS) ||
        mount("none", "/", NULL, MS_REC | MS_SLAVE, NULL) || mount("sysfs", "/sys", "sysfs", 0, NULL)) {
        perror(path);
        _exit(1);
    }
    close(fd);
}

#endif
