/*
 * reeve-task: starts tasks, supervises them, and opens sessions beside them. PROTOCOL.md says how
 * the agent speaks with it.
 */
#include "launcher.h"
#include "pause.h"
#include "process.h"
#include "session.h"
#include "shim.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char usage[] = "usage: reeve-task serve | run SPEC | exec | pause NETWORK | version\n";

/* The answer is on stdout, as JSON behind the task's id. */
static int run_in_foreground(const char *spec) {
    int reply = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (reply < 0 || null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0) {
        perror("reeve-task run");
        return 1;
    }
    be_shim(spec, reply);
}

int main(int argc, char **argv) {
    extern char **environ;
    /* A caller who closed them would have our files take their numbers. */
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0) (void)open("/dev/null", O_RDWR);
    title_room(argc, argv, environ);
    if (argc == 2 && strcmp(argv[1], "serve") == 0) return serve();
    if (argc == 3 && strcmp(argv[1], "run") == 0) return run_in_foreground(argv[2]);
    if (argc == 2 && strcmp(argv[1], "exec") == 0) return run_session();
    if (argc == 3 && strcmp(argv[1], "pause") == 0) return hold_network(argv[2]);
    if (argc == 2 && strcmp(argv[1], "version") == 0) {
        (void)puts("{\"v\":1,\"program\":\"reeve-task\"}");
        return 0;
    }
    (void)fputs(usage, stderr);
    return 64;
}
