/* Starting a command inside the world of a running task. */
#ifndef REEVE_ENTER_H
#define REEVE_ENTER_H

#include "spec.h"

typedef struct {
    pid_t command;
    int target; /* a pidfd of the task's process */
    /* Our ends of its streams: three pipes, or the terminal as `out` alone. -1: not there. */
    int in;
    int out;
    int err;
} entered;

/* The command becomes a child of the calling process, wherever its namespaces are. */
bool enter_task(const session_spec *session, entered *out, fault *why);

#endif
