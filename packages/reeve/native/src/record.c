#include "record.h"

#include "calls.h"

#include <stdlib.h>
#include <sys/wait.h>

/* 32 cgroup paths of 4,000 bytes each, and the rest. */
#define HANDLE_SIZE (140 * 1024)

int signal_of(int status) { return WIFSIGNALED(status) ? WTERMSIG(status) : 0; }

int code_of(int status) {
    return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

void write_pids(line *to, const handle *of) {
    line_number(to, "pid", of->main.pid);
    line_number(to, "startTime", of->main.start_time);
    line_number(to, "taskPid", of->task.pid);
    line_number(to, "taskStartTime", of->task.start_time);
    line_number(to, "shimPid", of->shim.pid);
    line_number(to, "shimStartTime", of->shim.start_time);
}

bool write_handle(const task_spec *task, const identity *who, const handle *of, fault *why) {
    char boot_id[BOOT_ID_SIZE];
    const char *paths[32];
    line out;
    if (!read_boot_id(boot_id, why)) return false;
    char *bytes = malloc(HANDLE_SIZE);
    if (bytes == NULL) return fail(why, KIND_START, "out of memory");
    for (size_t i = 0; i < task->cgroup_count; i++) paths[i] = task->cgroups[i].path;
    line_open(&out, bytes, HANDLE_SIZE);
    line_number(&out, "v", 1);
    line_text(&out, "id", task->id);
    write_pids(&out, of);
    line_text(&out, "bootId", boot_id);
    line_bool(&out, "isolated", task->isolated);
    line_number(&out, "uid", who->uid);
    line_number(&out, "gid", who->gid);
    line_texts(&out, "cgroups", paths, task->cgroup_count);
    if (task->kill_cgroup != NULL) line_text(&out, "killCgroup", task->kill_cgroup);
    line_number(&out, "startedAtMs", now_ms());
    line_close(&out);
    bool done = replace_file(task->handle_file, bytes, out.length, why);
    free(bytes);
    return done;
}

bool write_ending(const task_spec *task, const ending *of, fault *why) {
    char bytes[LINE_MAX_BYTES];
    line out;
    line_open(&out, bytes, sizeof bytes);
    line_number(&out, "v", 1);
    line_text(&out, "id", task->id);
    line_number(&out, "code", code_of(of->status));
    line_number(&out, "signal", signal_of(of->status));
    line_bool(&out, "core", WIFSIGNALED(of->status) && WCOREDUMP(of->status));
    line_bool(&out, "oom", of->oom);
    line_number(&out, "oomKills", of->oom_kills);
    line_bool(&out, "killed", of->killed);
    line_number(&out, "left", of->left);
    line_number(&out, "atMs", now_ms());
    line_number(&out, "maxRssKb", of->max_rss_kb);
    line_number(&out, "userMs", of->user_ms);
    line_number(&out, "systemMs", of->system_ms);
    line_number(&out, "logBytes", of->log_bytes);
    line_number(&out, "logDropped", of->log_dropped);
    line_close(&out);
    return replace_file(task->exit_file, bytes, out.length, why);
}
