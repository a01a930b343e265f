/* The two files that tell the agent about a task: PROTOCOL.md section 3. */
#ifndef REEVE_RECORD_H
#define REEVE_RECORD_H

#include "line.h"
#include "process.h"
#include "spec.h"
#include "user.h"

typedef struct {
    process main;
    process task;
    process shim;
} handle;

typedef struct {
    int status; /* as wait gives it */
    bool oom;
    int64_t oom_kills;
    bool killed;
    int64_t left;
    int64_t max_rss_kb;
    int64_t user_ms;
    int64_t system_ms;
    int64_t log_bytes;
    int64_t log_dropped;
} ending;

/* The members of a handle that the answer to `run` shows too. */
void write_pids(line *to, const handle *of);

bool write_handle(const task_spec *task, const identity *who, const handle *of, fault *why);
bool write_ending(const task_spec *task, const ending *of, fault *why);

/* The exit code and the signal of a wait status. */
int code_of(int status);
int signal_of(int status);

#endif
