/* From a spec to a running process: the child of the shim. */
#ifndef REEVE_START_H
#define REEVE_START_H

#include "spec.h"
#include "user.h"

typedef struct {
    int in;
    int out;
    int err;
} streams;

typedef struct {
    pid_t main; /* our child: the init of an isolated task, else the task */
    pid_t task; /* the task, as we count */
    int status; /* the init writes the task's wait status here; -1: there is no init */
} started;

/* True when the command runs. Else nothing of it is left. */
bool start_task(const task_spec *task, const identity *who, const streams *io, started *out,
                fault *why);

/* The calling process is in the network namespace of this file afterwards. */
bool join_network(const char *path, fault *why);

#endif
