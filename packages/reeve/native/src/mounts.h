/* Mounting below a directory that hostile links cannot lead out of. */
#ifndef REEVE_MOUNTS_H
#define REEVE_MOUNTS_H

#include "fault.h"

#include <stdbool.h>

/* Path of an open descriptor, for calls that take paths only. */
#define FD_PATH_SIZE 32
void fd_path(int fd, char out[FD_PATH_SIZE]);

/* What is at `path` inside the root, as an O_PATH descriptor; -1 and errno. */
int open_inside(int root, const char *path);

/* The same, made when missing, with the directories above it. */
int make_directory(int root, const char *path, unsigned mode, fault *why);
int make_file(int root, const char *path, unsigned mode, fault *why);

/* The directory that holds the last part of `path` (made when missing); `name` is that part. */
int make_parent(int root, const char *path, const char **name, fault *why);

bool mount_fresh(const char *type, int target, unsigned long flags, const char *options,
                 fault *why);

/* Binds what is open at `source` over `path`; attributes are MOUNT_* of calls.h, for all below. */
bool bind_over(int source, int root, const char *path, unsigned attributes, fault *why);

#endif
