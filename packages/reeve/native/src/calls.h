/* System calls that the C library of some systems does not offer yet, and small file work. */
#ifndef REEVE_CALLS_H
#define REEVE_CALLS_H

#include "fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/resource.h>
#include <sys/types.h>

#define RESOLVE_INSIDE_BENEATH 1 /* an escape is an error */
#define RESOLVE_INSIDE_ROOT 2    /* an escape leads back to the root of the walk */

/* openat2 without magic links; -1 and errno as usual. */
int call_openat2(int dir, const char *path, int flags, unsigned mode, int inside);
int call_close_range(unsigned first, unsigned last);
int call_pidfd_open(pid_t pid);
int call_pidfd_send_signal(int pidfd, int signal);
/* For this process; the type of `resource` differs between C libraries, the number does not. */
int call_prlimit(int resource, const struct rlimit *set, struct rlimit *get);
int call_pivot_root(const char *new_root, const char *put_old);

#define MOUNT_READ_ONLY 1u
#define MOUNT_NO_SUID 2u
#define MOUNT_NO_DEV 4u
#define MOUNT_NO_EXEC 8u
/* mount_setattr on the mount under `fd` and all below it. `propagation`: an MS_ flag, 0 as it is. */
int call_mount_setattr(int fd, unsigned attributes, unsigned long propagation);
/* A copy of the mount of `path` and of all below it that is mounted nowhere. */
int call_open_tree(const char *path);
/* Mounts such a copy on what `target` is open on. */
int call_move_mount(int tree, int target);

/* Retries interrupted and short writes; waits when the other side is not ready. */
bool write_all(int fd, const char *bytes, size_t length);

/* Writes a value into a kernel file such as those of cgroups. */
bool write_file(const char *path, const char *value);
bool write_file_at(int dir, const char *name, const char *value);

/* Reads at most `size - 1` bytes and ends them with NUL; -1 and errno when that fails. */
ssize_t read_file(const char *path, char *buffer, size_t size);
ssize_t read_file_at(int dir, const char *name, char *buffer, size_t size);

/* Makes `path` with this content in one step (draft beside it, then rename). */
bool replace_file(const char *path, const char *content, size_t length, fault *why);

int64_t now_ms(void);       /* since 1970 */
int64_t monotonic_ms(void); /* for deadlines */
void sleep_ms(int ms);

/* Blocks every signal; the old dispositions are put back by `default_signals`. */
void block_signals(void);
/* For a process about to become somebody else's program. */
void default_signals(void);

#endif
