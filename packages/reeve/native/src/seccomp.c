#include "seccomp.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#if defined(__x86_64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_X86_64
#define X32_BIT 0x40000000u
#elif defined(__aarch64__)
#define AUDIT_ARCH_HERE AUDIT_ARCH_AARCH64
#endif

#ifndef AUDIT_ARCH_HERE
bool install_seccomp(fault *why) {
    return fail(why, KIND_UNSTARTABLE, "there is no seccomp filter for this architecture");
}
#else

#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x00000080
#endif
#define CLONE_NEW_ANY                                                                              \
    (CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC | CLONE_NEWUSER | CLONE_NEWPID |  \
     CLONE_NEWNET | CLONE_NEWTIME)

/* Answered with EPERM. Numbers from 424 on are the same everywhere. */
static const unsigned denied[] = {
    SYS_mount,
    SYS_umount2,
    SYS_pivot_root,
    SYS_setns,
    SYS_unshare,
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_init_module,
    SYS_finit_module,
    SYS_delete_module,
    SYS_kexec_load,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_add_key,
    SYS_request_key,
    SYS_keyctl,
    SYS_userfaultfd,
    SYS_open_by_handle_at,
    SYS_reboot,
    SYS_swapon,
    SYS_swapoff,
    SYS_acct,
    SYS_settimeofday,
    SYS_clock_settime,
    SYS_clock_adjtime,
    SYS_adjtimex,
    SYS_quotactl,
    SYS_syslog,
    SYS_vhangup,
    SYS_kcmp,
    SYS_nfsservctl,
    SYS_lookup_dcookie,
    SYS_fanotify_init,
    SYS_move_pages,
#ifdef SYS_kexec_file_load
    SYS_kexec_file_load,
#endif
#ifdef __x86_64__
    SYS_iopl,
    SYS_ioperm,
    SYS_modify_ldt,
    SYS_create_module,
    SYS_get_kernel_syms,
    SYS_query_module,
    SYS__sysctl,
    SYS_uselib,
    SYS_ustat,
    SYS_sysfs,
#endif
    425,
    426,
    427, /* io_uring_setup, _enter, _register */
    428,
    429,
    430,
    431,
    432,
    433,
    442, /* open_tree … fspick, mount_setattr */
    438, /* pidfd_getfd */
    440, /* process_madvise */
    443, /* quotactl_fd */
    467, /* open_tree_attr */
};
#define DENIED_COUNT (sizeof denied / sizeof denied[0])

#define SYS_CLONE3 435u

/*
 * The address families that tasks may use. All others are answered as by a kernel that lacks them:
 * AF_VSOCK reaches the hypervisor and its other guests, AF_ALG and the rarely used families load
 * kernel modules that any user can then attack. AF_PACKET still needs its capability.
 */
static const unsigned families[] = {AF_UNIX, AF_INET, AF_INET6, AF_NETLINK, AF_PACKET};
#define FAMILY_COUNT (sizeof families / sizeof families[0])

#define DATA(member) ((unsigned)offsetof(struct seccomp_data, member))
#define LOAD(member) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, DATA(member))
/* The low half: both architectures are little-endian. */
#define LOAD_ARG(index)                                                                            \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS,                                                             \
             (unsigned)(offsetof(struct seccomp_data, args) + 8u * (index)))
#define ANSWER(value) BPF_STMT(BPF_RET | BPF_K, (value))
#define UNLESS_EQUAL(value, skip) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (value), 0, (skip))
#define UNLESS_BITS(value, skip) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, (value), 0, (skip))
#define UNLESS_AT_LEAST(value, skip) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, (value), 0, (skip))
#define REFUSE(code) ANSWER(SECCOMP_RET_ERRNO | (unsigned)(code))

#define PROGRAM_MAX (2 * DENIED_COUNT + 2 * (2 * FAMILY_COUNT + 3) + 32)

/* The rules of a call whose first argument is an address family. */
static size_t add_family_rules(struct sock_filter *out, unsigned call) {
    size_t length = 0;
    out[length++] = (struct sock_filter)UNLESS_EQUAL(call, 2 * FAMILY_COUNT + 2);
    out[length++] = (struct sock_filter)LOAD_ARG(0);
    for (size_t i = 0; i < FAMILY_COUNT; i++) {
        out[length++] = (struct sock_filter)UNLESS_EQUAL(families[i], 1);
        out[length++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
    }
    out[length++] = (struct sock_filter)REFUSE(EAFNOSUPPORT);
    return length;
}

static size_t build(struct sock_filter *out) {
    const struct sock_filter head[] = {
        LOAD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, AUDIT_ARCH_HERE, 1, 0),
        ANSWER(SECCOMP_RET_KILL_PROCESS),
        LOAD(nr),
#ifdef X32_BIT
        UNLESS_AT_LEAST(X32_BIT, 1),
        REFUSE(ENOSYS),
#endif
        /* Its flags are behind a pointer; the C library then falls back to clone. */
        UNLESS_EQUAL(SYS_CLONE3, 1),
        REFUSE(ENOSYS),
        UNLESS_EQUAL(SYS_clone, 4),
        LOAD_ARG(0),
        UNLESS_BITS((unsigned)CLONE_NEW_ANY, 1),
        REFUSE(EPERM),
        ANSWER(SECCOMP_RET_ALLOW),
        /* Typing into somebody else's terminal. */
        UNLESS_EQUAL(SYS_ioctl, 4),
        LOAD_ARG(1),
        UNLESS_EQUAL(TIOCSTI, 1),
        REFUSE(EPERM),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    size_t length = 0;
    for (size_t i = 0; i < sizeof head / sizeof head[0]; i++) out[length++] = head[i];
    length += add_family_rules(out + length, SYS_socket);
    length += add_family_rules(out + length, SYS_socketpair);
    for (size_t i = 0; i < DENIED_COUNT; i++) {
        out[length++] = (struct sock_filter)UNLESS_EQUAL(denied[i], 1);
        out[length++] = (struct sock_filter)REFUSE(EPERM);
    }
    out[length++] = (struct sock_filter)ANSWER(SECCOMP_RET_ALLOW);
    return length;
}

bool install_seccomp(fault *why) {
    struct sock_filter code[PROGRAM_MAX];
    struct sock_fprog program = {.len = (unsigned short)build(code), .filter = code};
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return true;
    return fail_call(why, KIND_UNSTARTABLE, "prctl PR_SET_SECCOMP", "");
}

#endif
