/* Starts a program in each way that the C library has: `starts HOW PATH`, with the argument -L; system and popen take a
 * command. It gives another name as argv[0] than the path's. */
#define _GNU_SOURCE
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

static int status_of(pid_t child)
{
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) ? WEXITSTATUS(status) : 99;
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "", *path = argv[argc - 1];
    char *words[] = {"another-name", "-L", NULL};
    pid_t child = 0;
    if (strcmp(how, "system") == 0)
        return WEXITSTATUS(system(path));
    if (strcmp(how, "popen") == 0) {
        FILE *f = popen(path, "r");
        for (int c; (c = getc(f)) != EOF;)
            putchar(c);
        fflush(stdout);
        return WEXITSTATUS(pclose(f));
    }
    if (strcmp(how, "posix_spawn") == 0)
        return posix_spawn(&child, path, NULL, NULL, words, environ) ? 98 : status_of(child);
    if (strcmp(how, "posix_spawnp") == 0)
        return posix_spawnp(&child, path, NULL, NULL, words, environ) ? 98 : status_of(child);
    if (strcmp(how, "vfork") == 0) {
        if ((child = vfork()) == 0) {
            execve(path, words, environ);
            _exit(97);
        }
        return status_of(child);
    }
    if (strcmp(how, "execve") == 0)
        execve(path, words, environ);
    if (strcmp(how, "execv") == 0)
        execv(path, words);
    if (strcmp(how, "execvp") == 0)
        execvp(path, words);
    if (strcmp(how, "execvpe") == 0)
        execvpe(path, words, environ);
    if (strcmp(how, "execl") == 0)
        execl(path, words[0], words[1], NULL);
    if (strcmp(how, "execlp") == 0)
        execlp(path, words[0], words[1], NULL);
    if (strcmp(how, "execle") == 0)
        execle(path, words[0], words[1], NULL, environ);
    return 97;
}
