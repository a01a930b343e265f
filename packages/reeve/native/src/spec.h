/* What shall run, and how: PROTOCOL.md sections 2, 4 and 5, checked as a whole before use. */
#ifndef REEVE_SPEC_H
#define REEVE_SPEC_H

#include "arena.h"
#include "fault.h"
#include "json.h"
#include "process.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SPEC_SIZE_MAX (1024 * 1024)
#define LIST_MAX 1024
#define PATH_LENGTH_MAX 4000
#define FILE_CONTENT_MAX (64 * 1024)

typedef struct {
    const char *const *items;
    size_t count;
} text_list;

typedef struct {
    const char *file;
    const char *value;
    bool optional;
} cgroup_write;

typedef struct {
    const char *path;
    cgroup_write *writes;
    size_t write_count;
} cgroup_spec;

typedef enum {
    ENTRY_BIND,
    ENTRY_MIRROR,
    ENTRY_TMPFS,
    ENTRY_FILE,
    ENTRY_DIR,
    ENTRY_LINK,
    ENTRY_PROC,
    ENTRY_DEV,
    ENTRY_SYS,
} entry_kind;

typedef struct {
    entry_kind kind;
    const char *from; /* bind, and mirror's path */
    const char *to;
    const char *content; /* file, and link's target */
    int64_t size_bytes;  /* tmpfs, and dev's shm */
    int64_t mode;
    bool read_only;
    bool no_exec;
    bool optional;
    bool dev;
    const char *propagation; /* bind: NULL is private, else "slave" or "shared" */
    int tree;                /* bind with propagation: its mounts, opened before all become private */
} root_entry;

typedef struct {
    const char *root;
    const char *hostname; /* may be NULL */
    bool pid_namespace;
    bool ipc_namespace;
    root_entry *entries;
    size_t entry_count;
} isolate_spec;

typedef struct {
    int resource;
    int64_t soft;
    int64_t hard;
} limit_spec;

#define LIMITS_MAX 16
#define GROUPS_MAX 1024

/* Who the program is and what it may do: the same for a task and for a session beside it. */
typedef struct {
    const char *command;
    char **argv;        /* ends with NULL */
    char **environment; /* ends with NULL */
    const char *cwd;
    const char *user; /* NULL: unchanged */
    text_list deny_users;
    gid_t *groups;
    size_t group_count;
    bool has_groups;
    uint64_t caps; /* bits */
    bool has_caps; /* false: unchanged */
    bool no_new_privs;
    bool seccomp;
    limit_spec limits[LIMITS_MAX];
    size_t limit_count;
    mode_t umask;
} program_spec;

typedef struct {
    program_spec program;
    const char *id;
    const char *name;
    const char *exit_file;
    const char *handle_file;
    bool isolated;
    isolate_spec isolate;
    const char *netns;
    cgroup_spec *cgroups;
    size_t cgroup_count;
    const char *kill_cgroup; /* may be NULL */
    const char *oom_file;    /* may be NULL */
    text_list shim_cgroups;
    int64_t oom_score_adj;
    bool has_oom_score_adj;
    bool has_logs;
    const char *stdout_prefix;
    const char *stderr_prefix;
    int64_t log_bytes_max;
    int64_t log_files_max;
} task_spec;

typedef struct {
    program_spec program;
    process target;
    bool isolated;
    text_list cgroups;
    bool tty;
    int64_t rows;
    int64_t columns;
} session_spec;

bool read_task_spec(arena *memory, const json *from, task_spec *out, fault *why);
bool read_session_spec(arena *memory, const json *from, session_spec *out, fault *why);

#endif
