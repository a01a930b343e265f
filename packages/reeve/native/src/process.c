#include "process.h"

#include "calls.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

/* Enough for any stat line: the name in it has at most 64 characters. */
#define STAT_SIZE 1024
/* A tree beyond this is killed in several rounds. */
#define TREE_MAX 8192
#define STOP_ROUNDS 8

bool read_process_stat(pid_t pid, process_stat *out) {
    char path[40];
    char text[STAT_SIZE];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    if (read_file(path, text, sizeof text) <= 0) return false;
    /* The name may hold anything, also brackets: the fields begin behind the last one. */
    char *rest = strrchr(text, ')');
    if (rest == NULL || rest[1] != ' ') return false;
    char state = 0;
    int parent = 0;
    int session = 0;
    unsigned long long start = 0;
    int found = sscanf(
        rest + 2, "%c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
        &state, &parent, &session, &start);
    if (found != 4) return false;
    *out = (process_stat){
        .state = state, .parent = parent, .session = session, .start_time = (int64_t)start};
    return true;
}

int64_t start_time_of(pid_t pid) {
    process_stat stat;
    return read_process_stat(pid, &stat) ? stat.start_time : -1;
}

int open_process(process which) {
    if (which.pid <= 0) {
        errno = ESRCH;
        return -1;
    }
    int fd = call_pidfd_open(which.pid);
    if (fd < 0) return -1;
    /* Asked after the descriptor is held: from here on the number cannot change its owner unseen.
     */
    process_stat stat;
    bool same = read_process_stat(which.pid, &stat) && stat.start_time == which.start_time &&
                stat.state != 'Z' && stat.state != 'X';
    if (same) return fd;
    (void)close(fd);
    errno = ESRCH;
    return -1;
}

bool signal_process(process which, int signal, fault *why) {
    int fd = open_process(which);
    if (fd < 0 && errno == ESRCH) return fail(why, KIND_GONE, "process %d is gone", (int)which.pid);
    if (fd < 0) return fail_call(why, KIND_START, "pidfd_open", "");
    bool sent = call_pidfd_send_signal(fd, signal) == 0;
    if (!sent && errno == ESRCH) (void)fail(why, KIND_GONE, "process %d is gone", (int)which.pid);
    else if (!sent) (void)fail_call(why, KIND_START, "pidfd_send_signal", "");
    (void)close(fd);
    return sent;
}

typedef struct {
    process who;
    pid_t parent;
    pid_t session;
} relation;

typedef struct {
    process *members;
    size_t count;
} family;

/* Every process and its parent; NULL when /proc cannot be read. */
static relation *list_processes(size_t *count) {
    *count = 0;
    DIR *proc = opendir("/proc");
    if (proc == NULL) return NULL;
    size_t room = 256;
    relation *all = calloc(room, sizeof *all);
    for (struct dirent *entry; all != NULL && (entry = readdir(proc)) != NULL;) {
        if (!isdigit((unsigned char)entry->d_name[0])) continue;
        process_stat stat;
        pid_t pid = (pid_t)strtol(entry->d_name, NULL, 10);
        if (!read_process_stat(pid, &stat) || stat.state == 'Z') continue;
        if (*count == room) {
            relation *larger = realloc(all, 2 * room * sizeof *all);
            if (larger == NULL) break;
            all = larger;
            room *= 2;
        }
        all[(*count)++] = (relation){.who = {.pid = pid, .start_time = stat.start_time},
                                     .parent = stat.parent,
                                     .session = stat.session};
    }
    (void)closedir(proc);
    return all;
}

static bool has_pid(const family *known, pid_t pid) {
    for (size_t i = 0; i < known->count; i++)
        if (known->members[i].pid == pid) return true;
    return false;
}

/* Grows the family by children of its members until there are no more. */
static void find_descendants(pid_t root, family *found) {
    size_t count = 0;
    relation *all = list_processes(&count);
    if (all == NULL) return;
    found->count = 0;
    /* The members at `next` and behind it still have to be asked for their children. */
    for (size_t next = 0; next <= found->count; next++) {
        pid_t parent = next == 0 ? root : found->members[next - 1].pid;
        for (size_t i = 0; i < count; i++) {
            pid_t pid = all[i].who.pid;
            if (all[i].parent != parent || pid == root || has_pid(found, pid)) continue;
            if (found->count < TREE_MAX) found->members[found->count++] = all[i].who;
        }
    }
    free(all);
}

/* Exactly these: one that has ended meanwhile may have left its number to another. */
static void signal_family(const family *all, int signal) {
    fault ignored;
    for (size_t i = 0; i < all->count; i++) (void)signal_process(all->members[i], signal, &ignored);
}

size_t kill_descendants(pid_t root) {
    family found = {.members = calloc(TREE_MAX, sizeof(process))};
    if (found.members == NULL) return 1;
    size_t before = 0;
    for (int round = 0; round < STOP_ROUNDS; round++) {
        find_descendants(root, &found);
        if (found.count == before) break;
        before = found.count;
        signal_family(&found, SIGSTOP);
    }
    signal_family(&found, SIGKILL);
    size_t met = found.count;
    free(found.members);
    return met;
}

size_t kill_session(process leader) {
    int64_t now = leader.pid > 0 ? start_time_of(leader.pid) : -1;
    /* The number belongs to another process: the session has ended long ago. */
    if (leader.pid <= 0 || (now >= 0 && now != leader.start_time)) return 0;
    size_t count = 0;
    size_t met = 0;
    fault ignored;
    relation *all = list_processes(&count);
    if (all == NULL) return 0;
    for (size_t i = 0; i < count; i++) {
        const relation *next = &all[i];
        if (next->session != leader.pid || next->who.start_time < leader.start_time) continue;
        met++;
        (void)signal_process(next->who, SIGKILL, &ignored);
    }
    free(all);
    return met;
}

bool read_boot_id(char out[BOOT_ID_SIZE], fault *why) {
    ssize_t got = read_file("/proc/sys/kernel/random/boot_id", out, BOOT_ID_SIZE);
    if (got <= 0) return fail_call(why, KIND_START, "read", "/proc/sys/kernel/random/boot_id");
    out[strcspn(out, "\n")] = '\0';
    return true;
}

static char *title_begin;
static size_t title_size;

void title_room(int argc, char **argv, char **environment) {
    if (argc == 0 || argv[0] == NULL) return;
    char *end = argv[0];
    for (int i = 0; i < argc && argv[i] == end; i++) end += strlen(argv[i]) + 1;
    for (char **entry = environment; entry != NULL && *entry == end; entry++)
        end += strlen(*entry) + 1;
    title_begin = argv[0];
    title_size = (size_t)(end - title_begin);
}

void set_title(const char *name) {
    (void)prctl(PR_SET_NAME, "reeve-task");
    if (title_size < 2) return;
    /* Also wipes the environment the agent gave, which /proc would show. */
    memset(title_begin, 0, title_size);
    (void)snprintf(title_begin, title_size, "reeve-task: %s", name);
}
