#include "root.h"

#include "calls.h"
#include "mounts.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#define ROOT_OPTIONS "size=1m,nr_inodes=4k,mode=0755"

/* A place for the bind: a directory for a directory, an empty file for anything else. */
static bool make_place(int root, const char *path, bool directory, fault *why) {
    int there = open_inside(root, path);
    if (there < 0 && errno != ENOENT)
        return fail_call(why, KIND_UNSTARTABLE, "open in the task's root", path);
    if (there < 0)
        there =
            directory ? make_directory(root, path, 0755, why) : make_file(root, path, 0644, why);
    if (there < 0) return false;
    (void)close(there);
    return true;
}

static unsigned bind_attributes(const root_entry *entry) {
    unsigned attributes = MOUNT_NO_SUID;
    if (!entry->dev) attributes |= MOUNT_NO_DEV;
    if (entry->read_only) attributes |= MOUNT_READ_ONLY;
    if (entry->no_exec) attributes |= MOUNT_NO_EXEC;
    return attributes;
}

/* A bind that goes on seeing what the host mounts below it, or shows the host its own mounts. */
static bool add_tree(int root, const root_entry *entry, fault *why) {
    struct stat found;
    unsigned long kind = strcmp(entry->propagation, "slave") == 0 ? MS_SLAVE : MS_SHARED;
    if (fstat(entry->tree, &found) < 0) return fail_call(why, KIND_START, "fstat", entry->from);
    if (!make_place(root, entry->to, S_ISDIR(found.st_mode), why)) return false;
    if (call_mount_setattr(entry->tree, bind_attributes(entry), kind) < 0)
        return fail_call(why, KIND_UNSTARTABLE, "mount_setattr", entry->from);
    int target = open_inside(root, entry->to);
    if (target < 0) return fail_call(why, KIND_UNSTARTABLE, "open in the task's root", entry->to);
    bool done = call_move_mount(entry->tree, target) == 0 ||
                fail_call(why, KIND_UNSTARTABLE, "move_mount to", entry->to);
    (void)close(target);
    return done;
}

/* Copies keep their peers on the host, which mounts lose when all become private. */
static bool open_trees(const isolate_spec *isolate, fault *why) {
    for (size_t i = 0; i < isolate->entry_count; i++) {
        root_entry *entry = &isolate->entries[i];
        if (entry->propagation == NULL) continue;
        entry->tree = call_open_tree(entry->from);
        if (entry->tree < 0) return fail_call(why, KIND_UNSTARTABLE, "open_tree", entry->from);
    }
    return true;
}

static void close_trees(const isolate_spec *isolate) {
    for (size_t i = 0; i < isolate->entry_count; i++)
        if (isolate->entries[i].tree >= 0) (void)close(isolate->entries[i].tree);
}

static bool add_bind(int root, const root_entry *entry, fault *why) {
    struct stat found;
    if (entry->propagation != NULL) return add_tree(root, entry, why);
    int source = open(entry->from, O_PATH | O_CLOEXEC);
    if (source < 0) {
        if (entry->optional && (errno == ENOENT || errno == ENOTDIR)) return true;
        return fail_call(why, KIND_UNSTARTABLE, "bind source", entry->from);
    }
    bool done = fstat(source, &found) == 0 || fail_call(why, KIND_START, "fstat", entry->from);
    done = done && make_place(root, entry->to, S_ISDIR(found.st_mode), why) &&
           bind_over(source, root, entry->to, bind_attributes(entry), why);
    (void)close(source);
    return done;
}

static bool add_link(int root, const char *path, const char *target, fault *why) {
    const char *rest;
    char name[256];
    int parent = make_parent(root, path, &rest, why);
    if (parent < 0) return false;
    (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(rest, "/"), rest);
    bool made =
        symlinkat(target, parent, name) == 0 || fail_call(why, KIND_UNSTARTABLE, "symlink", path);
    (void)close(parent);
    return made;
}

static bool add_mirror(int root, const root_entry *entry, fault *why) {
    struct stat found;
    char target[4096];
    if (lstat(entry->from, &found) < 0)
        return errno == ENOENT || fail_call(why, KIND_UNSTARTABLE, "lstat", entry->from);
    if (S_ISLNK(found.st_mode)) {
        ssize_t length = readlink(entry->from, target, sizeof target - 1);
        if (length < 0) return fail_call(why, KIND_START, "readlink", entry->from);
        target[length] = '\0';
        return add_link(root, entry->to, target, why);
    }
    root_entry bind = *entry;
    bind.read_only = true;
    return add_bind(root, &bind, why);
}

static bool add_tmpfs(int root, const root_entry *entry, fault *why) {
    char options[80];
    unsigned long flags = MS_NOSUID | MS_NODEV;
    if (entry->no_exec) flags |= MS_NOEXEC;
    if (entry->read_only) flags |= MS_RDONLY;
    int place = make_directory(root, entry->to, 0755, why);
    if (place < 0) return false;
    (void)snprintf(options, sizeof options, "size=%" PRId64 ",mode=%o", entry->size_bytes,
                   (unsigned)entry->mode);
    bool done = mount_fresh("tmpfs", place, flags, options, why);
    (void)close(place);
    return done;
}

static bool add_file(int root, const root_entry *entry, fault *why) {
    int file = make_file(root, entry->to, (unsigned)entry->mode, why);
    if (file < 0) return false;
    bool done = write_all(file, entry->content, strlen(entry->content)) ||
                fail_call(why, KIND_START, "write in the task's root", entry->to);
    (void)close(file);
    return done;
}

static bool add_directory(int root, const root_entry *entry, fault *why) {
    int place = make_directory(root, entry->to, (unsigned)entry->mode, why);
    if (place >= 0) (void)close(place);
    return place >= 0;
}

/* Covers a path where there is one; the kernel may lack it. */
static bool cover(int root, const char *path, int source, unsigned attributes, fault *why) {
    int there = source < 0 ? open_inside(root, path) : source;
    if (source < 0 && there < 0) return true;
    if (source >= 0) {
        int probe = open_inside(root, path);
        if (probe < 0) return true;
        (void)close(probe);
    }
    bool done = bind_over(there, root, path, attributes, why);
    if (source < 0) (void)close(there);
    return done;
}

static bool add_proc(int root, fault *why) {
    static const char *const hidden[] = {"/proc/kcore",         "/proc/keys",
                                         "/proc/timer_list",    "/proc/sched_debug",
                                         "/proc/sysrq-trigger", "/proc/latency_stats"};
    static const char *const fixed[] = {"/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs"};
    static const char *const emptied[] = {"/proc/acpi", "/proc/scsi", "/proc/asound"};
    const unsigned plain = MOUNT_NO_SUID | MOUNT_NO_EXEC;
    int place = make_directory(root, "/proc", 0555, why);
    if (place < 0) return false;
    bool done = mount_fresh("proc", place, MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL, why);
    (void)close(place);
    int null = open("/dev/null", O_PATH | O_CLOEXEC);
    if (null < 0) return fail_call(why, KIND_START, "open", "/dev/null");
    for (size_t i = 0; done && i < sizeof hidden / sizeof hidden[0]; i++)
        done = cover(root, hidden[i], null, plain, why);
    (void)close(null);
    for (size_t i = 0; done && i < sizeof fixed / sizeof fixed[0]; i++)
        done = cover(root, fixed[i], -1, plain | MOUNT_NO_DEV | MOUNT_READ_ONLY, why);
    for (size_t i = 0; done && i < sizeof emptied / sizeof emptied[0]; i++) {
        int folder = open_inside(root, emptied[i]);
        if (folder < 0) continue;
        done = mount_fresh("tmpfs", folder, MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC,
                           "size=0,mode=0755", why);
        (void)close(folder);
    }
    return done;
}

static bool add_device(int root, const char *path, fault *why) {
    root_entry bind = {.kind = ENTRY_BIND,
                       .from = path,
                       .to = path,
                       .optional = true,
                       .no_exec = true,
                       .dev = true};
    return add_bind(root, &bind, why);
}

static bool add_mount(int root, const char *type, const char *path, const char *options,
                      fault *why) {
    int place = make_directory(root, path, 0755, why);
    if (place < 0) return false;
    bool done = mount_fresh(type, place,
                            MS_NOSUID | MS_NOEXEC | (strcmp(type, "devpts") == 0 ? 0 : MS_NODEV),
                            options, why);
    (void)close(place);
    return done;
}

static bool add_dev(int root, const root_entry *entry, fault *why) {
    static const char *const devices[] = {"/dev/null",   "/dev/zero",    "/dev/full",
                                          "/dev/random", "/dev/urandom", "/dev/tty"};
    static const char *const links[][2] = {{"/dev/ptmx", "pts/ptmx"},
                                           {"/dev/fd", "/proc/self/fd"},
                                           {"/dev/stdin", "/proc/self/fd/0"},
                                           {"/dev/stdout", "/proc/self/fd/1"},
                                           {"/dev/stderr", "/proc/self/fd/2"}};
    char shm[64];
    (void)snprintf(shm, sizeof shm, "mode=1777,size=%" PRId64, entry->size_bytes);
    bool done = add_mount(root, "tmpfs", "/dev", "mode=0755,size=64k,nr_inodes=256", why);
    for (size_t i = 0; done && i < sizeof devices / sizeof devices[0]; i++)
        done = add_device(root, devices[i], why);
    for (size_t i = 0; done && i < sizeof links / sizeof links[0]; i++)
        done = add_link(root, links[i][0], links[i][1], why);
    return done &&
           add_mount(root, "devpts", "/dev/pts", "newinstance,ptmxmode=0666,mode=620", why) &&
           add_mount(root, "tmpfs", "/dev/shm", shm, why);
}

static bool add_sys(int root, fault *why) {
    root_entry bind = {
        .kind = ENTRY_BIND, .from = "/sys", .to = "/sys", .read_only = true, .no_exec = true};
    return add_bind(root, &bind, why);
}

static bool add_entry(int root, const root_entry *entry, fault *why) {
    switch (entry->kind) {
    case ENTRY_BIND:
        return add_bind(root, entry, why);
    case ENTRY_MIRROR:
        return add_mirror(root, entry, why);
    case ENTRY_TMPFS:
        return add_tmpfs(root, entry, why);
    case ENTRY_FILE:
        return add_file(root, entry, why);
    case ENTRY_DIR:
        return add_directory(root, entry, why);
    case ENTRY_LINK:
        return add_link(root, entry->to, entry->content, why);
    case ENTRY_PROC:
        return add_proc(root, why);
    case ENTRY_DEV:
        return add_dev(root, entry, why);
    case ENTRY_SYS:
        return add_sys(root, why);
    }
    return fail(why, KIND_CONFIG, "unknown kind of entry");
}

static bool pivot(int root, fault *why) {
    if (fchdir(root) < 0) return fail_call(why, KIND_START, "fchdir to the task's root", "");
    if (call_pivot_root(".", ".") < 0)
        return fail_call(why, KIND_UNSTARTABLE,
                         "pivot_root (impossible where / is the initial ram disk)", "");
    if (umount2(".", MNT_DETACH) < 0)
        return fail_call(why, KIND_START, "umount2 of the old root", "");
    if (chdir("/") < 0) return fail_call(why, KIND_START, "chdir", "/");
    if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
        return fail_call(why, KIND_START, "remount read-only", "/");
    return true;
}

bool enter_root(const isolate_spec *isolate, fault *why) {
    if (!open_trees(isolate, why)) return false;
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
        return fail_call(why, KIND_UNSTARTABLE, "mount MS_PRIVATE", "/");
    (void)umask(0);
    int below = open(isolate->root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (below < 0) return fail_call(why, KIND_UNSTARTABLE, "isolate.root", isolate->root);
    bool mounted = mount_fresh("tmpfs", below, MS_NOSUID | MS_NODEV, ROOT_OPTIONS, why);
    (void)close(below);
    int root = mounted ? open(isolate->root, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
    if (root < 0) return mounted ? fail_call(why, KIND_START, "open", isolate->root) : false;
    bool made = true;
    for (size_t i = 0; made && i < isolate->entry_count; i++)
        made = add_entry(root, &isolate->entries[i], why);
    made = made && pivot(root, why);
    close_trees(isolate);
    (void)close(root);
    return made;
}
