/* What went wrong, for the agent: a kind it can act on and a sentence for people. */
#ifndef REEVE_FAULT_H
#define REEVE_FAULT_H

#include <stdbool.h>

typedef enum {
    KIND_CONFIG,      /* the request or the spec is wrong */
    KIND_UNSTARTABLE, /* something it names is missing here */
    KIND_START,       /* the rest: another try may help */
    KIND_GONE,        /* the process is no more */
    KIND_UNKILLABLE,
} fault_kind;

#define FAULT_MESSAGE_MAX 900

typedef struct {
    fault_kind kind;
    char message[FAULT_MESSAGE_MAX];
} fault;

/* All of them return false, so that a caller can `return fail(...)`. */
bool fail(fault *out, fault_kind kind, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* Names the call, what it was about and the text of errno, which it leaves as it is. */
bool fail_call(fault *out, fault_kind kind, const char *call, const char *about);

const char *fault_kind_name(fault_kind kind);

#endif
