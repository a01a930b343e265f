/* The supervisor of one task, which outlives agent and launcher. */
#ifndef REEVE_SHIM_H
#define REEVE_SHIM_H

/*
 * Reads the spec, starts the task, answers once on `reply` (the task's id and a line end, then the
 * members of the answer as a JSON line), stays until the task and all it left behind are gone, and
 * leaves the exit file. The calling process is the shim from here on.
 */
_Noreturn void be_shim(const char *spec_path, int reply);

#endif
