/* The file system an isolated task sees. */
#ifndef REEVE_ROOT_H
#define REEVE_ROOT_H

#include "spec.h"

/*
 * Builds the root from the entries and makes it `/` of the calling process, which must be alone in
 * its mount namespace.
 */
bool enter_root(const isolate_spec *isolate, fault *why);

#endif
