/* Capabilities by name. */
#ifndef REEVE_CAPS_H
#define REEVE_CAPS_H

#include "fault.h"

#include <stdbool.h>
#include <stdint.h>

/* The number of `CAP_CHOWN` or `chown`; -1 when there is none of that name. */
int cap_number(const char *name);

/*
 * The process has exactly these afterwards. First the bounding set is cut; `keep` tells the kernel
 * to leave the rest to `set_caps` when the user changes.
 */
bool bound_caps(uint64_t caps, fault *why);
bool set_caps(uint64_t caps, bool ambient, fault *why);

#endif
