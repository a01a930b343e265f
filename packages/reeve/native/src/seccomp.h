/* The system calls that an isolated task does not get. */
#ifndef REEVE_SECCOMP_H
#define REEVE_SECCOMP_H

#include "fault.h"

/* Needs no_new_privs; holds for everything the process becomes. */
bool install_seccomp(fault *why);

#endif
