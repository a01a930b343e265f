/* cgroups of version 1 and 2. The agent chose paths and values; here they are made and used. */
#ifndef REEVE_CGROUP_H
#define REEVE_CGROUP_H

#include "spec.h"

/* Makes all of them and writes their files; leaves none behind when it fails. */
bool make_cgroups(const task_spec *task, fault *why);

/* Whether the group is in a version 2 hierarchy. */
bool is_unified(const char *path);

/* The calling process joins. */
bool join_cgroup(const char *path, fault *why);

/* Makes the group when it is missing and joins it, unless it was born there; for the shim, which
 * can do without. */
void try_cgroup(const char *path);

/*
 * The same for the launcher, which remembers it: what it forks is born there. To move costs
 * milliseconds when nothing has moved for a while (the kernel waits until all processors have
 * looked up), and what moves next has it for nothing: so this is worth repeating before a start.
 */
void settle_in_cgroup(const char *path);

/* Removes a group, waiting for the kernel to let go of it. */
bool remove_cgroup(const char *path, fault *why);

/*
 * Kills everything in the group and below it, once. Returns how many processes were met (at least
 * 1 when only known to be populated); 0: it is empty or gone.
 */
size_t kill_cgroup(const char *path);

/* The `oom_kill` counter; 0 where the file does not tell. */
int64_t read_oom_kills(const char *file);

/* An eventfd that becomes readable when a version 1 group runs out of memory; -1: no such thing. */
int watch_oom(const char *file);

#endif
