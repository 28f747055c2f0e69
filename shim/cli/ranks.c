/* cumu launch: starts the ranks of a distributed program, on this machine or on those that a file names, each with the
 * environment that torchrun gives. On another machine it is the remote shell that starts `cumu launch --part` there. */
#include "cli/beside.h"
#include "cli/cli.h"
#include "cli/launch.h"
#include "cli/program.h"
#include "core/config.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST_RANKS = 65536, MOST_HOSTS = 4096 };

struct host {
    char name[256];
    int slots, ranks; /* ranks: that it gets */
    bool here;
};

struct options {
    const char *ranks, *hosts, *devices, *backend, *address, *port, *grace, *shell, *part;
    long n, each, seconds; /* each: devices a rank, 0: it sees all */
    long first, world;     /* first rank here and their whole number */
    char **program;
};

struct launch { /* what all ranks share */
    const struct options *o;
    struct cumu_program program;
    struct cumu_launch plan;
    struct host *host;
    int nhosts, local; /* ranks on this machine */
    int local_first;
    char address[256], port[16];
};

static bool number(const char *s, long least, long most, long *value)
{
    char *end;
    errno = 0;
    *value = strtol(s, &end, 10);
    return *s && !*end && !errno && *value >= least && *value <= most;
}

static int parse(struct options *o, int argc, char **argv)
{
    const struct {
        const char *name, **value;
    } named[] = {{"-n", &o->ranks},          {"--hosts", &o->hosts},         {"--devices-per-rank", &o->devices},
                 {"--backend", &o->backend}, {"--master-addr", &o->address}, {"--master-port", &o->port},
                 {"--grace", &o->grace},     {"--rsh", &o->shell},           {"--part", &o->part}};
    int i = 1;
    for (; i < argc && argv[i][0] == '-'; i++) {
        if (strcmp(argv[i], "--") == 0) {
            i++;
            break;
        }
        bool known = false;
        for (unsigned k = 0; k < sizeof named / sizeof *named && !known; k++) {
            const char *option = argv[i], *v = cumu_option_value(named[k].name, argc, argv, &i);
            if (v && !*v)
                return cumu_usage(&cumu_verb_launch, "%s wants a value", option);
            known = v != NULL;
            if (v)
                *named[k].value = v;
        }
        if (!known)
            return cumu_usage(&cumu_verb_launch, "unknown option %s", argv[i]);
    }
    long port;
    if (i >= argc)
        return cumu_usage(&cumu_verb_launch, "no program given");
    if (!o->ranks && !o->hosts)
        return cumu_usage(&cumu_verb_launch, "how many ranks? -n wants a number");
    if (o->ranks && !number(o->ranks, 1, MOST_RANKS, &o->n))
        return cumu_usage(&cumu_verb_launch, "-n wants a number from 1 to %d", MOST_RANKS);
    if (o->devices && !number(o->devices, 1, 64, &o->each))
        return cumu_usage(&cumu_verb_launch, "--devices-per-rank wants a number from 1 to 64");
    if (o->backend && !cumu_launch_backend(o->backend))
        return cumu_usage(&cumu_verb_launch, "--backend wants auto, musa or host");
    if (o->port && !number(o->port, 1, 65535, &port))
        return cumu_usage(&cumu_verb_launch, "--master-port wants a number from 1 to 65535");
    if (!number(o->grace ? o->grace : "10", 0, 86400, &o->seconds))
        return cumu_usage(&cumu_verb_launch, "--grace wants a number of seconds");
    if (o->part && (sscanf(o->part, "%ld,%ld", &o->first, &o->world) != 2 || o->first < 0 || !o->ranks ||
                    o->first + o->n > o->world || o->world > MOST_RANKS))
        return cumu_usage(&cumu_verb_launch, "--part wants the first rank and the number of all");
    o->program = argv + i;
    return 0;
}

/* ---- who is where ------------------------------------------------------------------------------- */

/* A line of the file: a machine's name and slots=N, as of Open MPI's; what comes behind # is no part of it. */
static int read_hosts(struct launch *l, const char *path)
{
    char line[512], own[256] = "";
    (void)gethostname(own, sizeof own - 1);
    FILE *f = fopen(path, "re");
    if (!f)
        return cumu_fail(CUMU_EXIT_USAGE, "%s: %s", path, strerror(errno));
    int status = 0;
    l->host = calloc(MOST_HOSTS, sizeof *l->host);
    if (!l->host)
        status = cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    for (int at = 1; !status && fgets(line, sizeof line, f); at++) {
        struct host *h = &l->host[l->nhosts];
        char rest[256] = "";
        line[strcspn(line, "#\n")] = 0;
        const int words = sscanf(line, "%255s %255[^\n]", h->name, rest);
        h->slots = 1;
        rest[strcspn(rest, " \t\r")] = 0;
        if (words < 1)
            continue;
        if (h->name[0] == '-' || (*rest && (sscanf(rest, "slots=%d", &h->slots) != 1 || h->slots < 1)))
            status = cumu_fail(CUMU_EXIT_USAGE, "%s:%d: expected a machine's name, then slots=N or nothing", path, at);
        else if (++l->nhosts == MOST_HOSTS)
            status = cumu_fail(CUMU_EXIT_USAGE, "%s: more than %d machines", path, MOST_HOSTS - 1);
        h->here = strcmp(h->name, "localhost") == 0 || strcmp(h->name, "127.0.0.1") == 0 || strcmp(h->name, own) == 0;
    }
    (void)fclose(f);
    return status || l->nhosts ? status : cumu_fail(CUMU_EXIT_USAGE, "%s: names no machine", path);
}

/* Fills the machines in their order. */
static int place_ranks(struct launch *l, struct options *o)
{
    long slots = 0, left;
    for (int i = 0; i < l->nhosts; i++)
        slots += l->host[i].slots;
    if (!o->ranks)
        o->n = slots;
    if (l->nhosts && o->n > slots)
        return cumu_fail(CUMU_EXIT_USAGE, "%ld ranks, but the machines of %s have %ld slots", o->n, o->hosts, slots);
    left = o->n;
    l->local = l->nhosts ? 0 : (int)o->n;
    l->local_first = (int)o->first;
    for (int i = 0; i < l->nhosts; i++) {
        struct host *h = &l->host[i];
        h->ranks = left < h->slots ? (int)left : h->slots;
        if (h->here && l->local)
            return cumu_fail(CUMU_EXIT_USAGE, "%s: this machine is there twice", o->hosts);
        if (h->here) {
            l->local = h->ranks;
            l->local_first = (int)(o->n - left);
        }
        left -= h->ranks;
    }
    if (!o->part)
        o->world = o->n;
    return 0;
}

/* Where rank 0 listens: what the caller says, or else its machine and a port that is free here. */
static int choose_master(struct launch *l)
{
    const struct options *o = l->o;
    const char *address = o->address ? o->address : cumu_env("MASTER_ADDR");
    const char *port = o->port ? o->port : cumu_env("MASTER_PORT");
    char own[256] = "";
    (void)gethostname(own, sizeof own - 1);
    if (!address)
        address = l->nhosts < 2 ? "127.0.0.1" : l->host[0].here ? own : l->host[0].name;
    (void)snprintf(l->address, sizeof l->address, "%s", address);
    (void)snprintf(l->port, sizeof l->port, "%s", port ? port : "");
    if (port)
        return 0;
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_ANY)}};
    socklen_t n = sizeof a;
    const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd < 0 || bind(fd, (struct sockaddr *)&a, n) || getsockname(fd, (struct sockaddr *)&a, &n))
        a.sin_port = htons(29500); /* torchrun's */
    if (fd >= 0)
        (void)close(fd);
    (void)snprintf(l->port, sizeof l->port, "%u", ntohs(a.sin_port));
    return 0;
}

/* ---- one rank ------------------------------------------------------------------------------------ */

static bool set_number(const char *name, long value)
{
    char text[24];
    (void)snprintf(text, sizeof text, "%ld", value);
    return setenv(name, text, 1) == 0;
}

/* The devices of local rank `at`: so many of those that the caller sees. */
static int set_devices(const struct launch *l, long at)
{
    const long each = l->o->each;
    const char *visible = cumu_env("CUDA_VISIBLE_DEVICES");
    char list[1024] = "";
    size_t n = 0;
    for (long i = 0; visible && i < at * each; i++) {
        visible += strcspn(visible, ",");
        visible += *visible == ',';
    }
    for (long i = 0; i < each && n < sizeof list; i++) {
        const size_t length = visible ? strcspn(visible, ",") : 0;
        if (visible && !length)
            return cumu_fail(CUMU_EXIT_USAGE, "CUDA_VISIBLE_DEVICES has fewer devices than %d ranks with %ld each need",
                             l->local, each);
        if (visible)
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%.*s", i ? "," : "", (int)length, visible);
        else
            n += (size_t)snprintf(list + n, sizeof list - n, "%s%ld", i ? "," : "", at * each + i);
        visible = visible ? visible + length + (visible[length] == ',') : NULL;
    }
    if (setenv("CUDA_VISIBLE_DEVICES", list, 1) || /* numbers of them begin with 0 */
        (!visible && !cumu_env("CUMU_HOST_DEVICES") && !set_number("CUMU_HOST_DEVICES", l->local * each)))
        return cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    return 0;
}

static int become_rank(const struct cumu_beside *c)
{
    const struct launch *l = c->arg;
    const long at = c->index - l->local_first;
    int status = l->o->each ? set_devices(l, at) : 0;
    if (status)
        return status;
    if (!set_number("RANK", c->index) || !set_number("WORLD_SIZE", l->o->world) || !set_number("LOCAL_RANK", at) ||
        !set_number("LOCAL_WORLD_SIZE", l->local) || setenv("MASTER_ADDR", l->address, 1) ||
        setenv("MASTER_PORT", l->port, 1))
        return cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    return cumu_launch_exec(&l->plan, l->program.path, l->o->program);
}

/* ---- the ranks of another machine ---------------------------------------------------------------- */

static void quoted(FILE *f, const char *s)
{
    fputc('\'', f);
    for (; *s; s++)
        if (*s == '\'')
            fputs("'\\''", f);
        else
            fputc(*s, f);
    fputs("' ", f);
}

/* What a remote shell does not bring along and a program here would have. */
static bool travels(const char *variable)
{
    static const char *const names[] = {"CUMU_", "CUDA_", "NCCL_", "PATH=", "LD_LIBRARY_PATH=", "PYTHONPATH=", "OMP_"};
    for (unsigned i = 0; i < sizeof names / sizeof *names; i++)
        if (strncmp(variable, names[i], strlen(names[i])) == 0)
            return true;
    return false;
}

static int become_host(const struct cumu_beside *c)
{
    const struct launch *l = c->arg;
    const struct options *o = l->o;
    const struct host *h = &l->host[c->index];
    int first = 0;
    for (const struct host *k = l->host; k < h; k++)
        first += k->ranks;
    char *command = NULL, *shell = strdup(o->shell ? o->shell : "ssh -o BatchMode=yes"), self[PATH_MAX],
         folder[PATH_MAX];
    size_t size;
    FILE *f = open_memstream(&command, &size);
    const char *dir = cumu_lib_dir(); /* .../lib/cumu: ours is .../bin/cumu */
    if (!f || !shell || !dir || !getcwd(folder, sizeof folder))
        return cumu_fail(CUMU_EXIT_USAGE, "%s: cannot be told what to run: %s", h->name, strerror(errno));
    (void)snprintf(self, sizeof self, "%.*s/bin/cumu", (int)(strlen(dir) - strlen("/lib/cumu")), dir);
    fputs("cd ", f);
    quoted(f, folder);
    fputs("&& exec env ", f);
    for (char **v = environ; *v; v++)
        if (travels(*v))
            quoted(f, *v);
    quoted(f, self);
    fprintf(f, "launch -n %d --part %d,%ld --grace %ld ", h->ranks, first, o->world, o->seconds);
    const char *const pairs[][2] = {{"--master-addr", l->address},
                                    {"--master-port", l->port},
                                    {"--devices-per-rank", o->devices},
                                    {"--backend", o->backend}};
    for (unsigned i = 0; i < sizeof pairs / sizeof *pairs; i++)
        if (pairs[i][1]) {
            fprintf(f, "%s ", pairs[i][0]);
            quoted(f, pairs[i][1]);
        }
    fputs("-- ", f);
    for (char **a = o->program; *a; a++)
        quoted(f, *a);
    char *argv[32], *rest = NULL;
    int n = 0;
    for (char *word = strtok_r(shell, " ", &rest); word && n < 28; word = strtok_r(NULL, " ", &rest))
        argv[n++] = word;
    argv[n++] = (char *)(uintptr_t)h->name;
    if (fclose(f) || !command)
        return cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    argv[n++] = command;
    argv[n] = NULL;
    (void)execvp(argv[0], argv);
    return cumu_fail(CUMU_EXIT_NOT_FOUND, "%s: %s", argv[0], strerror(errno));
}

/* ---- all ----------------------------------------------------------------------------------------- */

static int run_all(const struct launch *l)
{
    struct cumu_beside *all = calloc((size_t)l->local + (size_t)l->nhosts, sizeof *all);
    if (!all)
        return cumu_fail(CUMU_EXIT_USAGE, "out of memory");
    int n = 0;
    for (int i = 0; i < l->local; i++, n++) {
        all[n] = (struct cumu_beside){.become = become_rank, .arg = l, .index = l->local_first + i};
        all[n].input = all[n].index == 0 && !isatty(0) && !l->o->part; /* of a terminal only the foreground may read */
        (void)snprintf(all[n].who, sizeof all[n].who, "rank %d", all[n].index);
        (void)snprintf(all[n].mark, sizeof all[n].mark, "[%d] ", all[n].index);
    }
    for (int i = 0; i < l->nhosts; i++) {
        if (l->host[i].here || !l->host[i].ranks)
            continue;
        all[n] = (struct cumu_beside){.become = become_host, .arg = l, .index = i, .remote = true};
        (void)snprintf(all[n].who, sizeof all[n].who, "the launcher on %.60s", l->host[i].name);
        n++;
    }
    const int status = cumu_beside_run(all, n, (int)l->o->seconds, l->o->part != NULL);
    free(all);
    return status;
}

static int launch(int argc, char **argv)
{
    struct options o = {0};
    struct launch l = {.o = &o};
    int status = parse(&o, argc, argv);
    if (!status && o.hosts)
        status = read_hosts(&l, o.hosts);
    if (!status)
        status = place_ranks(&l, &o);
    if (!status && l.local)
        status = cumu_program_find(&l.program, o.program[0]);
    if (!status && l.local)
        status = cumu_launch_plan(&l.plan, l.program.image, o.backend);
    if (!status)
        status = choose_master(&l);
    if (!status)
        status = run_all(&l);
    cumu_launch_free(&l.plan);
    free(l.host);
    return status;
}

const struct cumu_verb_entry cumu_verb_launch = {
    "launch", "run a CUDA program as several ranks, on one machine or many",
    "usage: cumu launch -n N [--hosts FILE] [--devices-per-rank D] [--backend auto|musa|host] [--grace SECONDS]\n"
    "                   [--master-addr ADDRESS] [--master-port PORT] [--rsh COMMAND] [--] program [arguments]\n"
    "\n"
    "  -n                  ranks (with --hosts: default all slots)\n"
    "  --hosts             file of machines, `NAME slots=N` a line, filled in this order; the program is run in the\n"
    "                      same folder there, by the cumu of the same path\n"
    "  --devices-per-rank  each rank sees so many devices of its own (default: each sees all, and takes LOCAL_RANK)\n"
    "  --backend           MUSA libraries to use, as for cumu run\n"
    "  --grace             time between SIGTERM and SIGKILL once a rank has failed (default 10)\n"
    "  --master-addr, --master-port\n"
    "                      where rank 0 listens (default: MASTER_ADDR and MASTER_PORT, or its machine and a free port)\n"
    "  --rsh               remote shell (default: ssh, which may ask for nothing)\n"
    "  --part FIRST,WORLD  for cumu launch itself: what it starts on another machine\n"
    "\n"
    "Ranks have RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and MASTER_PORT, as under torchrun; the CPU\n"
    "back end has LOCAL_WORLD_SIZE devices then. A line of output has its rank before it. Rank 0 has the standard input\n"
    "where that is no terminal, the others have none. The first rank that fails is named, ends the others, and its exit\n"
    "status is that of all, 128 + n if signal n was it. SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2 and SIGTSTP go\n"
    "on to all ranks; a second signal to end kills them. Nothing that a rank has started stays behind.\n",
    launch};
