#include "caps.h"

#include <errno.h>
#include <linux/capability.h>
#include <stddef.h>
#include <strings.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifndef PR_CAP_AMBIENT
#define PR_CAP_AMBIENT 47
#define PR_CAP_AMBIENT_RAISE 2
#define PR_CAP_AMBIENT_CLEAR_ALL 4
#endif

static const char *const names[] = {
    "chown",
    "dac_override",
    "dac_read_search",
    "fowner",
    "fsetid",
    "kill",
    "setgid",
    "setuid",
    "setpcap",
    "linux_immutable",
    "net_bind_service",
    "net_broadcast",
    "net_admin",
    "net_raw",
    "ipc_lock",
    "ipc_owner",
    "sys_module",
    "sys_rawio",
    "sys_chroot",
    "sys_ptrace",
    "sys_pacct",
    "sys_admin",
    "sys_boot",
    "sys_nice",
    "sys_resource",
    "sys_time",
    "sys_tty_config",
    "mknod",
    "lease",
    "audit_write",
    "audit_control",
    "setfcap",
    "mac_override",
    "mac_admin",
    "syslog",
    "wake_alarm",
    "block_suspend",
    "audit_read",
    "perfmon",
    "bpf",
    "checkpoint_restore",
};
#define CAP_COUNT ((int)(sizeof names / sizeof names[0]))

int cap_number(const char *name) {
    if (strncasecmp(name, "CAP_", 4) == 0) name += 4;
    for (int number = 0; number < CAP_COUNT; number++)
        if (strcasecmp(names[number], name) == 0) return number;
    return -1;
}

bool bound_caps(uint64_t caps, fault *why) {
    /* Up to the first number this kernel does not know, which may be beyond those we know. */
    for (int number = 0; number < 64; number++) {
        int held = prctl(PR_CAPBSET_READ, number, 0, 0, 0);
        if (held < 0) break;
        if (held == 0 || (caps >> number & 1) != 0) continue;
        if (prctl(PR_CAPBSET_DROP, number, 0, 0, 0) < 0)
            return fail_call(why, KIND_START, "prctl PR_CAPBSET_DROP",
                             number < CAP_COUNT ? names[number] : "");
    }
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) < 0 && errno != EINVAL)
        return fail_call(why, KIND_START, "prctl PR_CAP_AMBIENT_CLEAR_ALL", "");
    return true;
}

bool set_caps(uint64_t caps, bool ambient, fault *why) {
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct data[2] = {{0}};
    for (int half = 0; half < 2; half++) {
        unsigned bits = (unsigned)(caps >> (32 * half) & 0xFFFFFFFFu);
        data[half].effective = bits;
        data[half].permitted = bits;
        data[half].inheritable = bits;
    }
    if (syscall(SYS_capset, &header, data) < 0)
        return fail_call(why, KIND_UNSTARTABLE, "capset: the capabilities asked for", "");
    for (int number = 0; ambient && number < CAP_COUNT; number++) {
        if ((caps >> number & 1) == 0) continue;
        if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, number, 0, 0) < 0)
            return fail_call(why, KIND_START, "prctl PR_CAP_AMBIENT_RAISE", names[number]);
    }
    return true;
}
