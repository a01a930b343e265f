#include "cgroup.h"

#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#define REMOVE_TRIES 50
#define REMOVE_WAIT_MS 10
#define FREEZE_TRIES 50
#define DEPTH_MAX 16

/* As `mkdir -p`; only below an existing hierarchy, since the kernel makes nothing else there. */
static bool make_directories(const char *path, fault *why) {
    char part[PATH_LENGTH_MAX + 1];
    size_t length = strlen(path);
    if (length >= sizeof part) return fail(why, KIND_CONFIG, "path too long: %s", path);
    if (mkdir(path, 0755) == 0 || errno == EEXIST) return true;
    if (errno != ENOENT) return fail_call(why, KIND_START, "mkdir", path);
    memcpy(part, path, length + 1);
    for (char *slash = strchr(part + 1, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
        *slash = '\0';
        if (mkdir(part, 0755) < 0 && errno != EEXIST)
            return fail_call(why, KIND_START, "mkdir", part);
        *slash = '/';
    }
    if (mkdir(path, 0755) < 0 && errno != EEXIST) return fail_call(why, KIND_START, "mkdir", path);
    return true;
}

/* A directory that is no cgroup would take our files without any effect. */
static int open_cgroup(const char *path, fault *why) {
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0) {
        (void)fail_call(why, KIND_START, "open cgroup", path);
        return -1;
    }
    if (faccessat(dir, "cgroup.procs", F_OK, 0) == 0) return dir;
    (void)fail(why, KIND_UNSTARTABLE, "%s is not a cgroup: it has no cgroup.procs", path);
    (void)close(dir);
    return -1;
}

static bool make_cgroup(const cgroup_spec *group, fault *why) {
    if (!make_directories(group->path, why)) return false;
    int dir = open_cgroup(group->path, why);
    if (dir < 0) return false;
    bool made = true;
    for (size_t i = 0; made && i < group->write_count; i++) {
        const cgroup_write *next = &group->writes[i];
        if (write_file_at(dir, next->file, next->value) || next->optional) continue;
        made = fail(why, KIND_START, "write \"%.100s\" to %.400s/%.100s: %s", next->value,
                    group->path, next->file, strerror(errno));
    }
    (void)close(dir);
    return made;
}

bool make_cgroups(const task_spec *task, fault *why) {
    for (size_t i = 0; i < task->cgroup_count; i++) {
        if (make_cgroup(&task->cgroups[i], why)) continue;
        for (size_t made = 0; made <= i; made++) (void)rmdir(task->cgroups[made].path);
        return false;
    }
    return true;
}

bool is_unified(const char *path) {
    struct statfs found;
    return statfs(path, &found) == 0 && (unsigned long)found.f_type == CGROUP2_SUPER_MAGIC;
}

bool join_cgroup(const char *path, fault *why) {
    int dir = open_cgroup(path, why);
    if (dir < 0) return false;
    /* 0 is whoever writes, in whatever pid namespace. */
    bool joined = write_file_at(dir, "cgroup.procs", "0");
    if (!joined) (void)fail_call(why, KIND_START, "join cgroup", path);
    (void)close(dir);
    return joined;
}

/* Where this process, or the one that forked it, has settled. */
#define SETTLED_MAX 8
static char *settled[SETTLED_MAX];

static bool is_settled(const char *path) {
    for (size_t i = 0; i < SETTLED_MAX && settled[i] != NULL; i++)
        if (strcmp(settled[i], path) == 0) return true;
    return false;
}

static bool make_and_join(const char *path) {
    fault ignored;
    return make_directories(path, &ignored) && join_cgroup(path, &ignored);
}

void try_cgroup(const char *path) {
    if (!is_settled(path)) (void)make_and_join(path);
}

void settle_in_cgroup(const char *path) {
    if (!make_and_join(path) || is_settled(path)) return;
    for (size_t i = 0; i < SETTLED_MAX; i++) {
        if (settled[i] != NULL) continue;
        settled[i] = strdup(path);
        return;
    }
}

bool remove_cgroup(const char *path, fault *why) {
    for (int tries = 0; rmdir(path) < 0; tries++) {
        if (errno == ENOENT) return true;
        if (errno != EBUSY || tries >= REMOVE_TRIES)
            return fail_call(why, KIND_START, "rmdir", path);
        sleep_ms(REMOVE_WAIT_MS);
    }
    return true;
}

/* Sends SIGKILL to each process that the group itself lists. */
static size_t kill_listed(int dir) {
    int fd = openat(dir, "cgroup.procs", O_RDONLY | O_CLOEXEC);
    FILE *list = fd < 0 ? NULL : fdopen(fd, "r");
    if (list == NULL) {
        if (fd >= 0) (void)close(fd);
        return 0;
    }
    size_t met = 0;
    for (int pid; fscanf(list, "%d", &pid) == 1;) {
        /* 0: a process of another pid namespace, which we cannot name. */
        if (pid > 0 && pid != getpid()) (void)kill(pid, SIGKILL);
        if (pid != getpid()) met++;
    }
    (void)fclose(list);
    return met;
}

static size_t kill_tree_of(int dir, int depth) {
    size_t met = kill_listed(dir);
    int copy = depth >= DEPTH_MAX ? -1 : openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (entries == NULL) {
        if (copy >= 0) (void)close(copy);
        return met;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        if (entry->d_type != DT_DIR || entry->d_name[0] == '.') continue;
        int child = openat(dir, entry->d_name, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (child < 0) continue;
        met += kill_tree_of(child, depth + 1);
        (void)close(child);
    }
    (void)closedir(entries);
    return met;
}

static bool has_line(const char *text, const char *wanted) { return strstr(text, wanted) != NULL; }

/* Stops the group from forking while its members are killed one by one. */
static size_t kill_frozen(int dir) {
    char state[32];
    (void)write_file_at(dir, "freezer.state", "FROZEN");
    for (int tries = 0; tries < FREEZE_TRIES; tries++) {
        if (read_file_at(dir, "freezer.state", state, sizeof state) <= 0 ||
            has_line(state, "FROZEN"))
            break;
        sleep_ms(1);
    }
    size_t met = kill_tree_of(dir, 0);
    (void)write_file_at(dir, "freezer.state", "THAWED");
    return met;
}

size_t kill_cgroup(const char *path) {
    char events[256];
    int dir = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
    if (dir < 0) return 0;
    size_t met = 0;
    bool known = read_file_at(dir, "cgroup.events", events, sizeof events) > 0;
    if (known && has_line(events, "populated 0")) met = 0;
    else if (known && write_file_at(dir, "cgroup.kill", "1")) met = 1;
    else if (faccessat(dir, "freezer.state", F_OK, 0) == 0) met = kill_frozen(dir);
    else met = kill_tree_of(dir, 0);
    (void)close(dir);
    return met;
}

int64_t read_oom_kills(const char *file) {
    char text[1024];
    if (file == NULL || read_file(file, text, sizeof text) <= 0) return 0;
    static const char key[] = "oom_kill ";
    for (const char *at = text; at != NULL; at = strchr(at, '\n')) {
        if (*at == '\n') at++;
        if (strncmp(at, key, sizeof key - 1) == 0) return strtoll(at + sizeof key - 1, NULL, 10);
    }
    return 0;
}

int watch_oom(const char *file) {
    static const char name[] = "/memory.oom_control";
    size_t length = strlen(file);
    char control[PATH_LENGTH_MAX + 32];
    char value[64];
    if (length < sizeof name || strcmp(file + length - (sizeof name - 1), name) != 0) return -1;
    (void)snprintf(control, sizeof control, "%.*s/cgroup.event_control",
                   (int)(length - (sizeof name - 1)), file);
    int source = open(file, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int event = source < 0 ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    (void)snprintf(value, sizeof value, "%d %d", event, source);
    if (event >= 0 && !write_file(control, value)) {
        (void)close(event);
        event = -1;
    }
    if (source >= 0) (void)close(source);
    return event;
}
