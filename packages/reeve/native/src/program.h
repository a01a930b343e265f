/* The last steps of a process before it becomes the program it was made for. */
#ifndef REEVE_PROGRAM_H
#define REEVE_PROGRAM_H

#include "spec.h"
#include "user.h"

/* Where the process that becomes a program says what went wrong. Closes itself on success. */
#define CHANNEL 3

/* Makes `fd` the channel and closes everything above it. */
bool keep_channel(int fd, fault *why);

/*
 * Drops every right that the spec does not give and executes the command. Returns only on failure,
 * with why. `parent` is who must be alive for it to live; 0: it cannot be seen from here.
 */
void become_program(const program_spec *program, const identity *who, pid_t parent, fault *why);

/* stdin, stdout and stderr of the process; the originals are left to the caller. */
bool set_streams(int in, int out, int err, fault *why);

#endif
