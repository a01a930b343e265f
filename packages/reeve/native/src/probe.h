/* What this machine lets us do, found by trying it. */
#ifndef REEVE_PROBE_H
#define REEVE_PROBE_H

#include "line.h"

/* Adds the members of PROTOCOL.md section 6. The process is used up: it must end afterwards. */
void probe_machine(line *out);

#endif
