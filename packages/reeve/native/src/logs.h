/* Moves what a task writes from a pipe into numbered files, without looking at it. */
#ifndef REEVE_LOGS_H
#define REEVE_LOGS_H

#include "fault.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    int pipe; /* the reading end; -1 when it has ended */
    int dir;
    int file; /* -1: could not be opened, bytes are dropped */
    int sink; /* /dev/null */
    char name[256];
    int64_t number;
    int64_t size;
    int64_t size_max;
    int64_t files_max;
    int64_t bytes;
    int64_t dropped;
    bool cannot_splice;
} log_stream;

/* Opens the newest file of the prefix; gives the writing end of the pipe. */
bool open_log(log_stream *log, const char *prefix, int64_t size_max, int64_t files_max, int *writer,
              fault *why);

/* Moves what is there, within limits so that others get their turn. False when it has ended. */
bool pump_log(log_stream *log);

#endif
