/* Which process is which, proven by its start time, and all that descends from one. */
#ifndef REEVE_PROCESS_H
#define REEVE_PROCESS_H

#include "fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct {
    pid_t pid;
    int64_t start_time; /* field 22 of /proc/<pid>/stat */
} process;

/* Field 22 of its stat; -1 when there is no such process. */
int64_t start_time_of(pid_t pid);

/* What /proc/<pid>/stat tells; false when there is no such process. */
typedef struct {
    char state;
    pid_t parent;
    pid_t session;
    int64_t start_time;
} process_stat;
bool read_process_stat(pid_t pid, process_stat *out);

/* A descriptor of exactly this process, or -1: it is gone, or the number belongs to another now. */
int open_process(process which);

/* Signals exactly this process; fault `gone` when it is no more. */
bool signal_process(process which, int signal, fault *why);

/*
 * Kills all descendants of `root` (not itself), first stopping them so that none gets away by
 * forking. Returns how many it met; 0: there are none.
 */
size_t kill_descendants(pid_t root);

/* Kills what is in the session of that leader. Returns how many it met. */
size_t kill_session(process leader);

/* 36 characters and NUL. */
#define BOOT_ID_SIZE 40
bool read_boot_id(char out[BOOT_ID_SIZE], fault *why);

/* What `ps` shows; remembers the room once at the start of the program. */
void title_room(int argc, char **argv, char **environment);
void set_title(const char *name);

#endif
