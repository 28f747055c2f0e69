/* Runs a program with system calls refused, as containers do it: refuse NAME... [--] PROGRAM ARGUMENT...
 * NAME: docker (what its default profile refuses, clone3 as unknown), execmem (code in memory that is of no file, as
 * SELinux refuses it), or a call that is then unknown. */
#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define ARCH AUDIT_ARCH_X86_64
#else
#define ARCH AUDIT_ARCH_AARCH64
#endif

static const struct {
    const char *name;
    int number;
} calls[] = {
    {"memfd_create", SYS_memfd_create}, {"clone3", SYS_clone3},       {"mincore", SYS_mincore},
    {"userfaultfd", SYS_userfaultfd},   {"madvise", SYS_madvise},     {"sched_getaffinity", SYS_sched_getaffinity},
    {"pidfd_open", SYS_pidfd_open},     {"fallocate", SYS_fallocate}, {"membarrier", SYS_membarrier}};
/* moby's profile of version 25, without those of other machines. */
static const int docker[] = {SYS_acct,
                             SYS_add_key,
                             SYS_bpf,
                             SYS_clock_adjtime,
                             SYS_clock_settime,
                             SYS_delete_module,
                             SYS_fanotify_init,
                             SYS_finit_module,
                             SYS_fsconfig,
                             SYS_fsmount,
                             SYS_fsopen,
                             SYS_get_mempolicy,
                             SYS_init_module,
                             SYS_io_uring_enter,
                             SYS_io_uring_setup,
                             SYS_io_uring_register,
                             SYS_kcmp,
                             SYS_kexec_load,
                             SYS_keyctl,
                             SYS_lookup_dcookie,
                             SYS_mbind,
                             SYS_mount,
                             SYS_move_mount,
                             SYS_move_pages,
                             SYS_nfsservctl,
                             SYS_open_by_handle_at,
                             SYS_open_tree,
                             SYS_perf_event_open,
                             SYS_pivot_root,
                             SYS_quotactl,
                             SYS_reboot,
                             SYS_request_key,
                             SYS_set_mempolicy,
                             SYS_setns,
                             SYS_settimeofday,
                             SYS_swapoff,
                             SYS_swapon,
                             SYS_syslog,
                             SYS_umount2,
                             SYS_unshare,
                             SYS_userfaultfd,
                             SYS_vhangup};
enum { CALLS = sizeof calls / sizeof *calls, DOCKER = sizeof docker / sizeof *docker, MOST = 200 };

static struct sock_filter code[MOST];
static unsigned short used;

static void add(struct sock_filter f) { code[used++] = f; }

static void refuse(int number, int error)
{
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)error));
}

/* EACCES where the bits are set in the low half of the arguments, of which the second may be -1: any. */
static void refuse_bits(int number, int argument, unsigned bits, int other, unsigned other_bits)
{
    const unsigned low = offsetof(struct seccomp_data, args);
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, other < 0 ? 4 : 6));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low + 8 * (unsigned)argument));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, bits, 0, other < 0 ? 1 : 3));
    if (other >= 0) {
        add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, low + 8 * (unsigned)other));
        add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, other_bits, 0, 1));
    }
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EACCES));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
}

int main(int argc, char **argv)
{
    int a = 1;
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)));
    add((struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH, 1, 0));
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    add((struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)));
    for (; a < argc && strcmp(argv[a], "--"); a++) {
        int found = 0;
        for (int i = 0; !strcmp(argv[a], "docker") && i < DOCKER; i++, found = 1)
            refuse(docker[i], EPERM);
        if (found)
            refuse(SYS_clone3, ENOSYS);
        if (!strcmp(argv[a], "execmem")) {
            refuse_bits(SYS_mprotect, 2, PROT_EXEC, -1, 0);
            refuse_bits(SYS_mmap, 2, PROT_EXEC, 3, MAP_ANONYMOUS);
            found = 1;
        }
        for (int i = 0; i < CALLS; i++)
            if (!strcmp(argv[a], calls[i].name)) {
                refuse(calls[i].number, ENOSYS);
                found = 1;
            }
        if (!found)
            return fprintf(stderr, "refuse: %s?\n", argv[a]), 2;
    }
    add((struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW));
    struct sock_fprog filter = {used, code};
    if (a + 1 >= argc || prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter))
        return perror("refuse"), 77;
    execvp(argv[a + 1], argv + a + 1);
    return perror(argv[a + 1]), 127;
}
