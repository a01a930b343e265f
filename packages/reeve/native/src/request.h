/* What the agent may ask the launcher: PROTOCOL.md section 1. */
#ifndef REEVE_REQUEST_H
#define REEVE_REQUEST_H

#include "beneath.h"
#include "line.h"
#include "spec.h"

typedef enum {
    OP_RUN,
    OP_KILL,
    OP_KILL_TREE,
    OP_ALIVE,
    OP_PROBE,
    OP_WRITE,
    OP_MKDIR,
    OP_REMOVE,
    OP_SETTLE
} request_op;

typedef struct {
    int64_t id; /* -1: could not be read */
    request_op op;
    const char *spec;
    process target;
    process task;
    process shim;
    int64_t signal;
    const char *kill_cgroup;
    int64_t timeout_ms;
    placement place;
    text_list paths;
} request;

/* The id is set, when it can be read, even if the rest is refused. */
bool read_request(arena *memory, const char *text, size_t length, request *out, fault *why);

/* Whether it takes a moment only, so that the launcher may do it itself. */
bool is_quick(request_op op);

/* Does all but `run` and writes the members of the answer. */
void do_request(const request *what, line *out);

#endif
