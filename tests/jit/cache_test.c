/* The cache of compiled kernels: what it gives back, what it refuses, how it shrinks; and the child that
 * runs a compiler. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "compile/cache.h"
#include "compile/child.h"
#include "compile/compile.h"
#include "compile/hot.h"
#include "compile/scratch.h"
#include "sanitize.h"
#include "unit/unit.h"

static char dir[64];

static void test_hash(void)
{
    static const struct {
        const char *text;
        uint8_t first[4];
    } known[] = {
        {"", {0xe3, 0xb0, 0xc4, 0x42}},
        {"abc", {0xba, 0x78, 0x16, 0xbf}},
        {"abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", {0x24, 0x8d, 0x6a, 0x61}},
    };
    struct cumu_hash h;
    uint8_t out[CUMU_HASH_BYTES];
    bool good = true;
    for (unsigned i = 0; i < 3; i++)
        for (size_t cut = 0; cut <= strlen(known[i].text); cut++) {
            cumu_hash_start(&h);
            cumu_hash_add(&h, known[i].text, cut);
            cumu_hash_add(&h, known[i].text + cut, strlen(known[i].text) - cut);
            cumu_hash_end(&h, out);
            good &= !memcmp(out, known[i].first, 4);
        }
    check(good, "SHA-256 of the standard's examples, in any two parts");
    cumu_hash_start(&h);
    for (unsigned i = 0; i < 1000000; i++)
        cumu_hash_add(&h, "a", 1);
    cumu_hash_end(&h, out);
    check(!memcmp(out, (uint8_t[]){0xcd, 0xc7, 0x6e, 0x5c, 0x99}, 5), "and of a million letters");
    char *letters = malloc(1000000); /* at once: the CPU's own rounds, where it has them */
    memset(letters, 'a', 1000000);
    cumu_hash_start(&h);
    cumu_hash_add(&h, letters, 999);
    cumu_hash_add(&h, letters, 999001);
    cumu_hash_end(&h, out);
    check(!memcmp(out, (uint8_t[]){0xcd, 0xc7, 0x6e, 0x5c, 0x99}, 5), "in two pieces");
    free(letters);
}

#define HEAD ".version 7.0\n.target sm_50\n.address_size 64\n"
#define FUNC(body) ".func f() {" body "}\n"
#define ENTRY(name, body) ".visible .entry " name "() {" body "}\n"

static struct cumu_key object_key(const char *text, const char *kernel, enum t1_shape shape)
{
    struct ptx_module *m = ptx_module_open(text, strlen(text), NULL);
    uint8_t digest[CUMU_HASH_BYTES];
    struct cumu_key key = {{0}};
    check(m != NULL, "a module");
    if (m) {
        cumu_module_digest(m, digest);
        cumu_object_key(&key, m, digest, kernel, shape, T1_PLAIN, 0);
        ptx_module_close(m);
    }
    return key;
}

/* What may change the emitted text changes the key; what may not leaves it, so that a program's next version finds
 * most of its kernels. */
static void test_key(void)
{
    const enum t1_shape usual = T1_SHAPE_LINEAR;
    const struct {
        const char *what, *text, *kernel;
        bool same;
        enum t1_shape shape;
    } others[] = {
        {"the same", HEAD FUNC("ret;") ENTRY("a", "ret;") ENTRY("b", "ret;"), "a", true, usual},
        {"another kernel's body", HEAD FUNC("ret;") ENTRY("a", "ret;") ENTRY("b", "exit;"), "a", true, usual},
        {"its body", HEAD FUNC("ret;") ENTRY("a", "exit;") ENTRY("b", "ret;"), "a", false, usual},
        {"a function's body", HEAD FUNC("exit;") ENTRY("a", "ret;") ENTRY("b", "ret;"), "a", false, usual},
        {"a variable", HEAD ".global .u32 v;" FUNC("ret;") ENTRY("a", "ret;") ENTRY("b", "ret;"), "a", false, usual},
        {"the other kernel", HEAD FUNC("ret;") ENTRY("a", "ret;") ENTRY("b", "ret;"), "b", false, usual},
        {"other blocks", HEAD FUNC("ret;") ENTRY("a", "ret;") ENTRY("b", "ret;"), "a", false, T1_SHAPE_ANY},
        {"kernels exchanged", HEAD FUNC("ret;") ENTRY("b", "ret;") ENTRY("a", "ret;"), "a", false, usual},
    };
    struct cumu_key key = object_key(others[0].text, "a", T1_SHAPE_LINEAR);
    for (unsigned i = 0; i < sizeof others / sizeof *others; i++) {
        struct cumu_key other = object_key(others[i].text, others[i].kernel, others[i].shape);
        check(!memcmp(&key, &other, sizeof key) == others[i].same, "%s", others[i].what);
    }
}

static struct cumu_key key_of(unsigned n)
{
    struct cumu_key key = {{0}};
    memcpy(key.hash, &n, sizeof n);
    return key;
}

static char *path_of(unsigned n)
{
    static char path[256];
    struct cumu_key key = key_of(n);
    int at = snprintf(path, sizeof path, "%s/", dir);
    for (unsigned i = 0; i < CUMU_HASH_BYTES; i++)
        at += snprintf(path + at, 3, "%02x", key.hash[i]);
    snprintf(path + at, 16, ".kernel");
    return path;
}

static void put(unsigned n, const void *data, size_t size)
{
    struct cumu_key key = key_of(n);
    struct cumu_entry e = {.isa = 1, .shape = 2, .compile_ms = 3, .kernel = "k"};
    cumu_cache_put(&key, &e, data, size);
}

static bool got(unsigned n, const char *text)
{
    struct cumu_key key = key_of(n);
    void *data = NULL;
    size_t size = 0;
    bool found = cumu_cache_get(&key, &data, &size);
    found = found && size == strlen(text) && !memcmp(data, text, size);
    free(data);
    return found;
}

static void change(unsigned n, off_t at, char byte)
{
    int fd = open(path_of(n), O_WRONLY);
    (void)!pwrite(fd, &byte, 1, at);
    close(fd);
}

static void test_tampering(void)
{
    struct stat st;
    struct cumu_key key = key_of(1);
    void *data = NULL;
    size_t size;
    check(!cumu_cache_get(&key, &data, &size), "an empty cache has nothing");
    put(1, "hello", 5);
    check(got(1, "hello"), "what was put is got");
    check(!stat(path_of(1), &st) && (st.st_mode & 0777) == 0600, "its file is the user's alone");
    check(!stat(dir, &st) && (st.st_mode & 0777) == 0700, "and so is the folder");

    chmod(path_of(1), 0644);
    check(!got(1, "hello") && access(path_of(1), F_OK), "a file open to others is not used, but removed");
    put(1, "hello", 5);
    check(got(1, "hello"), "and made again");
    change(1, 260, 'J');
    check(!got(1, "hello") && !got(1, "hJllo"), "a changed object");
    put(1, "hello", 5);
    change(1, 8, 7);
    check(!got(1, "hello"), "a changed header");
    put(1, "hello", 5);
    (void)!truncate(path_of(1), 200);
    check(!got(1, "hello"), "a file cut off in its header");
    put(1, "hello", 5);
    stat(path_of(1), &st);
    (void)!truncate(path_of(1), st.st_size - 1);
    check(!got(1, "hello"), "and in its object");
    put(1, "hello", 5);
    char from[256];
    snprintf(from, sizeof from, "%s", path_of(1));
    (void)!rename(from, path_of(2));
    check(!got(2, "hello"), "a file under another's name");
    (void)!symlink("/etc/passwd", path_of(1));
    check(!got(1, "hello"), "a link");
    (void)!mkfifo(path_of(3), 0600);
    check(!got(3, "hello"), "a pipe does not hang it");
    if (geteuid() == 0) {
        put(1, "hello", 5);
        (void)!chown(path_of(1), 1, 1);
        check(!got(1, "hello"), "another user's file");
        (void)!chown(dir, 1, 1);
        put(4, "hello", 5);
        check(!got(4, "hello"), "another user's folder");
        (void)!chown(dir, 0, 0);
    } else {
        printf("skip owners: only root can give files away\n");
    }
    chmod(dir, 0777);
    put(4, "hello", 5);
    check(!got(4, "hello") && access(path_of(4), F_OK), "a folder open to others");
    chmod(dir, 0700);
}

static bool count(void *ctx, const char *name, const struct cumu_entry *e)
{
    (void)name;
    *(unsigned *)ctx += e->good;
    return true;
}

static void test_size(void)
{
    enum { N = 48 };
    char path[128];
    unsigned left = 0;
    char *big = calloc(1, 100000);
    for (unsigned i = 0; i < N; i++) { /* 4.8 MB, a tick apart; the limit is 2 */
        put(100 + i, big, 100000);
        if (i == 4)
            check(access(path_of(100), F_OK) == 0, "below the limit nothing is dropped");
        struct timespec old[2] = {{.tv_sec = 1000 + i}, {.tv_sec = 1000 + i}};
        utimensat(AT_FDCWD, path_of(100 + i), old, 0);
    }
    cumu_cache_each(count, &left);
    check(left >= 10 && left <= 20 + 16, "a cache over its limit shrinks");
    check(access(path_of(100), F_OK) && !access(path_of(100 + N - 1), F_OK), "the oldest go first");
    free(big);

    snprintf(path, sizeof path, "%s/tmp.1.2.3", dir); /* of a process that was killed */
    mkdir(path, 0700);
    char inner[160];
    snprintf(inner, sizeof inner, "%s/k.c", path);
    close(open(inner, O_CREAT | O_WRONLY, 0600));
    struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
    utimensat(AT_FDCWD, path, old, 0);
    struct cumu_scratch fresh, live;
    check(cumu_scratch_new(&live) && !strncmp(live.path, dir, strlen(dir)), "a folder to compile in");
    check(access(path, F_OK), "the first of a process removes what killed ones left");
    mkdir(path, 0700);
    utimensat(AT_FDCWD, path, old, 0);
    utimensat(AT_FDCWD, live.path, old, 0); /* of a compiler that runs for long */
    check(cumu_scratch_new(&fresh) && !access(path, F_OK), "its later ones do not look again");
    check(cumu_cache_clear() == (long)left && access(path, F_OK) && !access(fresh.path, F_OK),
          "clear removes entries and what killed processes left");
    check(!access(live.path, F_OK), "but not what is in use, however old");
    int other = open("/dev/null", O_RDONLY);
    check(dup2(other, live.held) == live.held, "a program that takes all descriptors");
    cumu_scratch_drop(&fresh);
    cumu_scratch_drop(&live);
    check(fcntl(live.held, F_GETFD) >= 0 && access(live.path, F_OK), "keeps its own");
    close(live.held);
    close(other);
    check(access(fresh.path, F_OK) && !rmdir(dir), "nothing else is there");
}

/* ---- many processes, killed at any point ------------------------------------------------------ */

enum { KEYS = 40, FIRST = 500, CROWD = 4, KILLS = 60 };

/* The one right content of a key. */
static size_t content(unsigned n, unsigned char *to)
{
    size_t size = 20000 + n * 2500;
    for (size_t i = 0; i < size; i++)
        to[i] = (unsigned char)(n * 31 + i * 7 + i / 251);
    return size;
}

/* False: something else came than was put. Nothing at all is fine. */
static bool intact(unsigned n)
{
    static unsigned char want[200000];
    struct cumu_key key = key_of(FIRST + n);
    void *data = NULL;
    size_t size = 0;
    if (!cumu_cache_get(&key, &data, &size))
        return true;
    bool same = content(n, want) == size && !memcmp(data, want, size);
    free(data);
    return same;
}

static pid_t worker(unsigned seed)
{
    static unsigned char data[200000];
    pid_t pid = fork();
    if (pid)
        return pid;
    for (srand(seed);;) {
        unsigned n = (unsigned)rand() % KEYS;
        put(FIRST + n, data, content(n, data));
        if (!intact((unsigned)rand() % KEYS))
            _exit(9);
    }
}

static bool tally(void *ctx, const char *name, const struct cumu_entry *e)
{
    unsigned *counts = ctx;
    (void)name;
    counts[e->good]++;
    return true;
}

static void test_crowd(void)
{
    pid_t pid[CROWD];
    int status;
    unsigned counts[2] = {0};
    bool good = true;
    fflush(stdout); /* children leave by _exit, but a copy of what waits here is one too many */
    for (unsigned i = 0; i < CROWD; i++)
        pid[i] = worker(i + 1);
    for (unsigned k = 0; k < KILLS; k++) {
        usleep((useconds_t)(1000 + rand() % 12000));
        unsigned i = k % CROWD;
        kill(pid[i], SIGKILL);
        good &= waitpid(pid[i], &status, 0) == pid[i] && WIFSIGNALED(status);
        pid[i] = worker(100 + k);
    }
    for (unsigned i = 0; i < CROWD; i++) {
        kill(pid[i], SIGKILL);
        good &= waitpid(pid[i], &status, 0) == pid[i] && WIFSIGNALED(status);
    }
    check(good, "processes that share a full cache and are killed see nothing wrong");
    for (unsigned n = 0; n < KEYS; n++)
        good &= intact(n);
    cumu_cache_each(tally, counts);
    check(good && !counts[0] && counts[1] > 0, "nor does who comes after them");
    char command[256];
    snprintf(command, sizeof command, "touch -d '1 hour ago' %s/tmp.* 2>/dev/null", dir);
    (void)!system(command);
    check(cumu_cache_clear() == (long)counts[1] && !rmdir(dir), "what they left half done is swept up");
}

static volatile sig_atomic_t signalled;
static void on_child(int sig)
{
    (void)sig;
    signalled++;
}

static int run(const char *file, char *const argv[], char *const envp[], const char *output, unsigned seconds)
{
    return cumu_child_run(&(struct cumu_child){file, argv, envp, -1, output, seconds, CUMU_COMPILER_MEGABYTES, true});
}

static void test_child(void)
{
    char *env[] = {"A=1", NULL}, out[] = "/tmp/cumu-test-out", text[64] = "";
    char *hello[] = {"sh", "-c", "echo out $A; echo err >&2; exit 3", NULL};
    char *slow[] = {"sh", "-c", "sleep 300 & sleep 300", NULL}, *none[] = {"x", NULL};
    char *killed[] = {"sh", "-c", "kill -9 $$", NULL};
    struct sigaction sa = {.sa_handler = on_child};
    sigaction(SIGCHLD, &sa, NULL);
    check(run("/bin/sh", hello, env, out, 10) == 3, "a child's status");
    FILE *f = fopen(out, "r");
    (void)!fread(text, 1, sizeof text - 1, f);
    fclose(f);
    check(!strcmp(text, "out 1\nerr\n"), "its output and environment");
    check(run("/bin/sh", killed, env, out, 10) == 128 + SIGKILL, "a killed child");
    check(run("/nowhere/cc", none, env, out, 10) == 127, "a program that is not there");
    time_t start = time(NULL);
    check(run("/bin/sh", slow, env, out, 1) == 128 + SIGKILL && time(NULL) - start < 200,
          "a child beyond its time is ended");
    check(!signalled && waitpid(-1, NULL, WNOHANG) < 0 && errno == ECHILD, "the program has seen no child");
    signal(SIGCHLD, SIG_IGN);
    check(run("/bin/sh", hello, env, out, 10) == 3, "nor need it care for SIGCHLD");
    unlink(out);
}

/* What is left for the next process comes back, the hottest of too many; rubbish does not. */
static void test_hot(void)
{
    static struct cumu_hot many[CUMU_HOT_MOST + 70], back[CUMU_HOT_MOST];
    static const char *const rubbish[] = {"", "\n\n", "12 34 5", "not a key", "0123456789abcdef 7 8\n"};
    char path[128];
    bool good = true;
    for (unsigned i = 0; i < CUMU_HOT_MOST + 70; i++) {
        many[i] = (struct cumu_hot){.ns = (i * 97u + 13) % 1009 + UINT64_MAX / 2, .tries = i};
        memset(many[i].key.hash, (int)i, sizeof many[i].key.hash);
    }
    cumu_hot_write(many, CUMU_HOT_MOST + 70);
    check(cumu_hot_read(back) == CUMU_HOT_MOST && !memcmp(back, many, sizeof back), "the hottest come back");
    snprintf(path, sizeof path, "%s/%s", dir, CUMU_HOT_FILE);
    for (off_t cut = 0; cut < 300; cut++) { /* a line is 97 bytes and less */
        good &= !truncate(path, 300 - cut) && cumu_hot_read(back) <= 4;
        for (unsigned i = 0; 300 - cut > 200 && i < 2; i++)
            good &= !memcmp(&back[i], &many[i], sizeof *back);
    }
    check(good, "of a file that was cut the lines that are whole");
    for (unsigned i = 0; i < sizeof rubbish / sizeof *rubbish; i++) {
        FILE *f = fopen(path, "w");
        good &= f && fputs(rubbish[i], f) >= 0 && !fclose(f) && cumu_hot_read(back) == 0;
    }
    good &= !chmod(path, 0644);
    check(good && cumu_hot_read(back) == 0, "nothing of rubbish");
    cumu_hot_write(many, 1);
    check(cumu_hot_read(back) == 1 && !chmod(path, 0644) && cumu_hot_read(back) == 0,
          "nothing of what others may read");
    cumu_hot_write(many, 0);
    check(access(path, F_OK) != 0, "nothing to tell leaves no file");
    (void)rmdir(dir);
}

int main(void)
{
    snprintf(dir, sizeof dir, "/tmp/cumu-cache-%ld/a", (long)getpid());
    setenv("CUMU_CACHE_DIR", dir, 1);
    setenv("CUMU_CACHE_SIZE", "2", 1);
    test_hash();
    test_key();
    test_tampering();
    test_size();
    test_crowd();
    test_hot();
#if CUMU_ASAN || CUMU_TSAN
    printf("skip children: sanitizers do not know processes that share memory\n");
    (void)test_child;
#else
    test_child();
#endif
    *strrchr(dir, '/') = '\0';
    check(!rmdir(dir), "the end");
    return check_end("jit cache");
}
