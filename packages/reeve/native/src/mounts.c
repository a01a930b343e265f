#include "mounts.h"

#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4200

void fd_path(int fd, char out[FD_PATH_SIZE]) {
    (void)snprintf(out, FD_PATH_SIZE, "/proc/self/fd/%d", fd);
}

int open_inside(int root, const char *path) {
    return call_openat2(root, path, O_PATH, 0, RESOLVE_INSIDE_ROOT);
}

/* Opens the directory `prefix` below the root; makes its last part when it is missing. */
static int step_into(int root, const char *prefix, int parent, const char *name, fault *why) {
    for (int tries = 0; tries < 2; tries++) {
        int next = call_openat2(root, prefix, O_PATH | O_DIRECTORY, 0, RESOLVE_INSIDE_ROOT);
        if (next >= 0) return next;
        if (errno != ENOENT || tries > 0) break;
        if (mkdirat(parent, name, 0755) < 0 && errno != EEXIST) break;
    }
    (void)fail_call(why, KIND_UNSTARTABLE, "make directory in the task's root", prefix);
    return -1;
}

int make_parent(int root, const char *path, const char **name, fault *why) {
    char prefix[PATH_SIZE];
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/') length--;
    if (length >= sizeof prefix) {
        (void)fail(why, KIND_CONFIG, "path too long");
        return -1;
    }
    int dir = fcntl(root, F_DUPFD_CLOEXEC, 3);
    if (dir < 0) (void)fail_call(why, KIND_START, "fcntl F_DUPFD", "");
    size_t at = 0;
    while (dir >= 0) {
        while (path[at] == '/') at++;
        size_t part = strcspn(path + at, "/");
        if (at + part >= length) {
            *name = path + at;
            return dir;
        }
        char step[256];
        (void)snprintf(step, sizeof step, "%.*s", (int)part, path + at);
        (void)snprintf(prefix, sizeof prefix, "%.*s", (int)(at + part), path);
        int next = step_into(root, prefix, dir, step, why);
        (void)close(dir);
        dir = next;
        at += part;
    }
    return -1;
}

/* The name may have a slash behind it in the path it was cut from. */
static void copy_name(const char *name, char out[256]) {
    (void)snprintf(out, 256, "%.*s", (int)strcspn(name, "/"), name);
}

int make_directory(int root, const char *path, unsigned mode, fault *why) {
    int there = open_inside(root, path);
    if (there >= 0 || errno != ENOENT) {
        if (there < 0) (void)fail_call(why, KIND_UNSTARTABLE, "open in the task's root", path);
        return there;
    }
    const char *rest;
    char name[256];
    int parent = make_parent(root, path, &rest, why);
    if (parent < 0) return -1;
    copy_name(rest, name);
    bool made = mkdirat(parent, name, 0700) == 0 || errno == EEXIST;
    if (made) made = fchmodat(parent, name, mode, 0) == 0;
    if (!made) (void)fail_call(why, KIND_UNSTARTABLE, "make directory in the task's root", path);
    (void)close(parent);
    if (!made) return -1;
    there = open_inside(root, path);
    if (there < 0) (void)fail_call(why, KIND_UNSTARTABLE, "open in the task's root", path);
    return there;
}

int make_file(int root, const char *path, unsigned mode, fault *why) {
    const char *rest;
    char name[256];
    int parent = make_parent(root, path, &rest, why);
    if (parent < 0) return -1;
    copy_name(rest, name);
    int file = openat(parent, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (file < 0 || fchmod(file, mode) < 0) {
        (void)fail_call(why, KIND_UNSTARTABLE, "make file in the task's root", path);
        if (file >= 0) (void)close(file);
        file = -1;
    }
    (void)close(parent);
    return file;
}

bool mount_fresh(const char *type, int target, unsigned long flags, const char *options,
                 fault *why) {
    char place[FD_PATH_SIZE];
    fd_path(target, place);
    if (mount(type, place, type, flags, options) == 0) return true;
    return fail_call(why, KIND_UNSTARTABLE, "mount", type);
}

static unsigned long classic_flags(unsigned attributes) {
    unsigned long flags = MS_BIND | MS_REMOUNT;
    if ((attributes & MOUNT_READ_ONLY) != 0) flags |= MS_RDONLY;
    if ((attributes & MOUNT_NO_SUID) != 0) flags |= MS_NOSUID;
    if ((attributes & MOUNT_NO_DEV) != 0) flags |= MS_NODEV;
    if ((attributes & MOUNT_NO_EXEC) != 0) flags |= MS_NOEXEC;
    return flags;
}

/* The fresh mount is on top now: what was open before is below it. */
static bool set_attributes(int root, const char *path, unsigned attributes, bool recursive,
                           fault *why) {
    int top = open_inside(root, path);
    if (top < 0) return fail_call(why, KIND_START, "open", path);
    char place[FD_PATH_SIZE];
    fd_path(top, place);
    bool done = recursive ? call_mount_setattr(top, attributes, 0) == 0
                          : mount(NULL, place, NULL, classic_flags(attributes), NULL) == 0;
    int code = errno;
    (void)close(top);
    errno = code;
    return done || fail_call(why, KIND_UNSTARTABLE, "mount_setattr", path);
}

static bool bind_once(int source, int target, unsigned long flags, const char *path, fault *why) {
    char from[FD_PATH_SIZE];
    char to[FD_PATH_SIZE];
    fd_path(source, from);
    fd_path(target, to);
    if (mount(from, to, NULL, flags, NULL) == 0) return true;
    return fail_call(why, KIND_UNSTARTABLE, "bind to", path);
}

bool bind_over(int source, int root, const char *path, unsigned attributes, fault *why) {
    int target = open_inside(root, path);
    if (target < 0) return fail_call(why, KIND_UNSTARTABLE, "open in the task's root", path);
    bool bound = bind_once(source, target, MS_BIND | MS_REC, path, why);
    if (bound && !set_attributes(root, path, attributes, true, why)) {
        bound = false;
        /* Before Linux 5.12: without what is mounted below, which could not be protected. */
        if (errno == ENOSYS) {
            int top = open_inside(root, path);
            char place[FD_PATH_SIZE];
            fd_path(top, place);
            bound = top >= 0 && umount2(place, MNT_DETACH) == 0 &&
                    bind_once(source, target, MS_BIND, path, why) &&
                    set_attributes(root, path, attributes, false, why);
            if (top >= 0) (void)close(top);
        }
    }
    (void)close(target);
    return bound;
}
