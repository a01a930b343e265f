#include "probe.h"

#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <unistd.h>

#ifndef CGROUP2_SUPER_MAGIC
#define CGROUP2_SUPER_MAGIC 0x63677270
#endif
#define MOUNTS_MAX 24
#define WHY_SIZE 200

/* Runs the trial in a child, whose words (none when it worked) come back. */
static void try_apart(void (*trial)(char why[WHY_SIZE]), char why[WHY_SIZE]) {
    int ends[2];
    why[0] = '\0';
    if (pipe2(ends, O_CLOEXEC) < 0) {
        (void)snprintf(why, WHY_SIZE, "pipe2: %s", strerror(errno));
        return;
    }
    pid_t child = fork();
    if (child == 0) {
        char words[WHY_SIZE] = "";
        trial(words);
        (void)write_all(ends[1], words, strlen(words) + 1);
        _exit(0);
    }
    (void)close(ends[1]);
    ssize_t got = child < 0 ? -1 : read(ends[0], why, WHY_SIZE - 1);
    if (got <= 0) (void)snprintf(why, WHY_SIZE, "the trial did not end well");
    why[WHY_SIZE - 1] = '\0';
    (void)close(ends[0]);
    while (child > 0 && waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

static void say(char why[WHY_SIZE], const char *call) {
    (void)snprintf(why, WHY_SIZE, "%s: %s", call, strerror(errno));
}

static void try_namespaces(char why[WHY_SIZE]) {
    if (unshare(CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS) < 0) say(why, "unshare");
}

static void try_user_namespace(char why[WHY_SIZE]) {
    if (unshare(CLONE_NEWUSER) < 0) say(why, "unshare CLONE_NEWUSER");
}

/* Everything that `isolate` needs, on a directory that every system has. */
static void try_root(char why[WHY_SIZE]) {
    if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS) < 0) say(why, "unshare");
    else if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0) say(why, "mount MS_PRIVATE");
    else if (mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k") < 0)
        say(why, "mount tmpfs");
    else if (chdir("/proc") < 0) say(why, "chdir");
    else if (call_pivot_root(".", ".") < 0) say(why, "pivot_root");
    else if (umount2(".", MNT_DETACH) < 0) say(why, "umount2");
}

static bool has_seccomp(void) {
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, NULL, 0, 0) < 0 && errno == EFAULT;
}

/* ENOSYS is the one answer that means there is no such call. */
static bool has_openat2(void) {
    int fd = call_openat2(AT_FDCWD, "proc", O_PATH, 0, RESOLVE_INSIDE_BENEATH);
    bool known = fd >= 0 || errno != ENOSYS;
    if (fd >= 0) (void)close(fd);
    return known;
}

static bool has_pidfd(void) {
    int fd = call_pidfd_open(getpid());
    if (fd < 0) return false;
    (void)close(fd);
    return true;
}

typedef struct {
    bool v1;
    bool v2_anywhere;
    bool v2_alone;
} hierarchies;

/* The controllers of a version 1 hierarchy are among its mount options. */
static void name_controllers(const char *path, bool v2, const char *options, char out[256]) {
    char file[512];
    out[0] = '\0';
    (void)snprintf(file, sizeof file, "%s/cgroup.controllers", path);
    if (v2) {
        if (read_file(file, out, 256) < 0) out[0] = '\0';
        out[strcspn(out, "\n")] = '\0';
        return;
    }
    static const char *const plain[] = {"rw",    "ro",     "relatime", "nosuid",
                                        "nodev", "noexec", "noatime",  "xattr"};
    size_t length = 0;
    for (const char *at = options; *at != '\0';) {
        size_t part = strcspn(at, ",");
        bool is_plain = false;
        for (size_t i = 0; i < sizeof plain / sizeof plain[0]; i++)
            is_plain = is_plain || (strlen(plain[i]) == part && strncmp(at, plain[i], part) == 0);
        if (!is_plain && length + part + 2 < 256)
            length += (size_t)snprintf(out + length, 256 - length, "%s%.*s", length == 0 ? "" : ",",
                                       (int)part, at);
        at += part;
        if (*at == ',') at++;
    }
}

static void add_hierarchy(line *out, const char *path, bool v2, const char *options) {
    char bytes[1024];
    char controllers[256];
    line entry;
    name_controllers(path, v2, options, controllers);
    line_open(&entry, bytes, sizeof bytes);
    line_text(&entry, "path", path);
    line_number(&entry, "version", v2 ? 2 : 1);
    line_text(&entry, "controllers", controllers);
    line_bool(&entry, "writable", access(path, W_OK) == 0);
    line_close(&entry);
    bytes[entry.length - 1] = '\0';
    line_bytes(out, bytes);
}

static hierarchies list_hierarchies(line *out) {
    hierarchies found = {0};
    struct statfs top;
    int count = 0;
    found.v2_alone =
        statfs("/sys/fs/cgroup", &top) == 0 && (long)top.f_type == (long)CGROUP2_SUPER_MAGIC;
    FILE *mounts = fopen("/proc/self/mounts", "re");
    char *text = NULL;
    size_t room = 0;
    while (mounts != NULL && getline(&text, &room, mounts) > 0 && count < MOUNTS_MAX) {
        char path[256];
        char type[32];
        char options[256];
        if (sscanf(text, "%*s %255s %31s %255s", path, type, options) != 3) continue;
        bool v2 = strcmp(type, "cgroup2") == 0;
        if (!v2 && strcmp(type, "cgroup") != 0) continue;
        if (count++ > 0) line_bytes(out, ",");
        add_hierarchy(out, path, v2, options);
        found.v2_anywhere = found.v2_anywhere || v2;
        found.v1 = found.v1 || !v2;
    }
    free(text);
    if (mounts != NULL) (void)fclose(mounts);
    return found;
}

static void add_cgroups(line *out) {
    char bytes[LINE_MAX_BYTES / 2];
    /* A list, made with the means of an object: its braces are cut off. */
    line list;
    line_open(&list, bytes, sizeof bytes);
    bytes[0] = '[';
    hierarchies found = list_hierarchies(&list);
    bytes[list.length] = ']';
    bytes[list.length + 1] = '\0';
    line_raw(out, "cgroupMounts", bytes);
    const char *kind = found.v2_alone                  ? "v2"
                       : found.v1 && found.v2_anywhere ? "hybrid"
                       : found.v1                      ? "v1"
                       : found.v2_anywhere             ? "v2"
                                                       : "none";
    line_text(out, "cgroup", kind);
}

static void add_capabilities(line *out) {
    char text[4096];
    char value[20] = "";
    const char *at =
        read_file("/proc/self/status", text, sizeof text) > 0 ? strstr(text, "CapEff:") : NULL;
    if (at != NULL) (void)sscanf(at, "CapEff: %19s", value);
    line_text(out, "capabilities", value);
}

void probe_machine(line *out) {
    struct utsname names = {0};
    char why[WHY_SIZE];
    (void)uname(&names);
    line_number(out, "uid", geteuid());
    line_text(out, "arch", names.machine);
    line_text(out, "kernel", names.release);
    try_apart(try_namespaces, why);
    line_bool(out, "namespaces", why[0] == '\0');
    try_apart(try_user_namespace, why);
    line_bool(out, "userNamespace", why[0] == '\0');
    try_apart(try_root, why);
    line_bool(out, "pivotRoot", why[0] == '\0');
    line_text(out, "isolation", why);
    line_bool(out, "seccomp", has_seccomp());
    line_bool(out, "pidfd", has_pidfd());
    line_bool(out, "openat2", has_openat2());
    line_bool(out, "mountSetattr", call_mount_setattr(-1, MOUNT_NO_SUID, 0) < 0 && errno != ENOSYS);
    add_capabilities(out);
    add_cgroups(out);
}
