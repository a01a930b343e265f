/* Writing below a directory whose content others may have prepared against us. */
#ifndef REEVE_BENEATH_H
#define REEVE_BENEATH_H

#include "fault.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    const char *dir;
    const char *path; /* relative, below dir */
    const char *from; /* the file to copy; unused for a directory */
    int64_t mode;
    int64_t uid; /* -1: ours */
    int64_t gid;
} placement;

bool place_file(const placement *what, fault *why);
bool place_directory(const placement *what, fault *why);

#endif
