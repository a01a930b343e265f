/*
 * Who a program runs as. Read from /etc/passwd and /etc/group by ourselves: the C library would
 * load further libraries for that, which a static program cannot rely on.
 */
#ifndef REEVE_USER_H
#define REEVE_USER_H

#include "spec.h"

typedef struct {
    bool changes; /* false: stays who the launcher is */
    uid_t uid;
    gid_t gid;
    gid_t groups[GROUPS_MAX];
    size_t group_count;
} identity;

/* Fault `config` for an unknown or a denied user. */
bool find_identity(const program_spec *program, identity *out, fault *why);

#endif
