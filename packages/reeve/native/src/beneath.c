#include "beneath.h"

#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#define PATH_SIZE 4200

/* EXDEV and ELOOP are how the kernel says that the walk would have left the directory. */
static bool fail_walk(fault *why, const placement *what) {
    bool leaves = errno == EXDEV || errno == ELOOP;
    if (leaves)
        return fail(why, KIND_CONFIG, "path %.300s leads out of %.300s", what->path, what->dir);
    return fail_call(why, errno == ENOTDIR ? KIND_CONFIG : KIND_START, "open below the directory",
                     what->path);
}

static bool give_to(int fd, const placement *what, fault *why) {
    uid_t uid = what->uid < 0 ? (uid_t)-1 : (uid_t)what->uid;
    gid_t gid = what->gid < 0 ? (gid_t)-1 : (gid_t)what->gid;
    if (fchown(fd, uid, gid) < 0) return fail_call(why, KIND_START, "fchown", what->path);
    return true;
}

static bool give(int fd, const placement *what, fault *why) {
    if (!give_to(fd, what, why)) return false;
    return fchmod(fd, (mode_t)what->mode) == 0 || fail_call(why, KIND_START, "fchmod", what->path);
}

/* Opens `prefix`, made when missing (in `parent`, as `name`, for the same owner). */
static int step_into(int dir, int parent, const placement *what, const char *prefix,
                     const char *name, fault *why) {
    int flags = O_RDONLY | O_DIRECTORY | O_NONBLOCK;
    int next = call_openat2(dir, prefix, flags, 0, RESOLVE_INSIDE_BENEATH);
    if (next >= 0) return next;
    if (errno != ENOENT || (mkdirat(parent, name, 0755) < 0 && errno != EEXIST)) {
        (void)fail_walk(why, what);
        return -1;
    }
    next = call_openat2(dir, prefix, flags, 0, RESOLVE_INSIDE_BENEATH);
    if (next < 0) (void)fail_walk(why, what);
    else if (!give_to(next, what, why)) {
        (void)close(next);
        next = -1;
    }
    return next;
}

/* Walks to the directory of the last part, which is copied to `name`. */
static int walk(int dir, const placement *what, char name[256], fault *why) {
    char prefix[PATH_SIZE];
    size_t at = 0;
    int parent = fcntl(dir, F_DUPFD_CLOEXEC, 3);
    if (parent < 0) (void)fail_call(why, KIND_START, "fcntl F_DUPFD", "");
    while (parent >= 0) {
        at += strspn(what->path + at, "/");
        size_t part = strcspn(what->path + at, "/");
        (void)snprintf(name, 256, "%.*s", (int)part, what->path + at);
        at += part;
        if (what->path[at + strspn(what->path + at, "/")] == '\0') return parent;
        (void)snprintf(prefix, sizeof prefix, "%.*s", (int)at, what->path);
        int next = step_into(dir, parent, what, prefix, name, why);
        (void)close(parent);
        parent = next;
    }
    return -1;
}

static int open_base(const placement *what, fault *why) {
    int dir = open(what->dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) (void)fail_call(why, KIND_UNSTARTABLE, "open", what->dir);
    return dir;
}

static bool copy_content(int from, int to, const placement *what, fault *why) {
    for (;;) {
        ssize_t moved = sendfile(to, from, NULL, 1 << 20);
        if (moved == 0) return true;
        if (moved < 0 && errno != EINTR) return fail_call(why, KIND_START, "copy to", what->path);
    }
}

static int open_source(const placement *what, fault *why) {
    struct stat found;
    int from = open(what->from, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (from < 0) (void)fail_call(why, KIND_UNSTARTABLE, "open", what->from);
    else if (fstat(from, &found) < 0 || !S_ISREG(found.st_mode)) {
        (void)fail(why, KIND_CONFIG, "%s is not a regular file", what->from);
        (void)close(from);
        from = -1;
    }
    return from;
}

/* A draft beside the place, then rename: a reader sees the old or the new, and no link is followed.
 */
static bool place_in(int parent, const char *name, int from, const placement *what, fault *why) {
    char draft[64];
    (void)snprintf(draft, sizeof draft, ".reeve-draft-%d", (int)getpid());
    (void)unlinkat(parent, draft, 0);
    int to = openat(parent, draft, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (to < 0) return fail_call(why, KIND_START, "create a file beside", what->path);
    bool done = copy_content(from, to, what, why) && give(to, what, why);
    (void)close(to);
    if (done && renameat(parent, draft, parent, name) < 0)
        done = fail_call(why, errno == EISDIR ? KIND_CONFIG : KIND_START, "rename to", what->path);
    if (!done) (void)unlinkat(parent, draft, 0);
    return done;
}

bool place_file(const placement *what, fault *why) {
    char name[256];
    int from = open_source(what, why);
    int dir = from < 0 ? -1 : open_base(what, why);
    int parent = dir < 0 ? -1 : walk(dir, what, name, why);
    bool done = parent >= 0 && place_in(parent, name, from, what, why);
    if (parent >= 0) (void)close(parent);
    if (dir >= 0) (void)close(dir);
    if (from >= 0) (void)close(from);
    return done;
}

bool place_directory(const placement *what, fault *why) {
    char name[256];
    int dir = open_base(what, why);
    int parent = dir < 0 ? -1 : walk(dir, what, name, why);
    int made = parent < 0 ? -1 : step_into(dir, parent, what, what->path, name, why);
    bool done = made >= 0 && give(made, what, why);
    if (made >= 0) (void)close(made);
    if (parent >= 0) (void)close(parent);
    if (dir >= 0) (void)close(dir);
    return done;
}
