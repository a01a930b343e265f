#include "pause.h"

#include "caps.h"
#include "fault.h"
#include "start.h"

#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>

/* PROTOCOL.md: the agent tells from it that the engine mounted no namespace. */
#define STATUS_NOT_JOINED 3

/* As the first process of its namespace it gets no signal that it does not wait for. */
static int await_end(void) {
    sigset_t ends;
    int number = 0;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGINT);
    (void)sigaddset(&ends, SIGQUIT);
    (void)sigaddset(&ends, SIGTERM);
    if (sigprocmask(SIG_BLOCK, &ends, NULL) != 0) return 1;
    return sigwait(&ends, &number) == 0 ? 0 : 1;
}

int hold_network(const char *path) {
    fault why;
    if (!join_network(path, &why)) {
        (void)fprintf(stderr, "reeve-task pause: %s\n", why.message);
        return STATUS_NOT_JOINED;
    }
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || !set_caps(0, false, &why)) return 1;
    return await_end();
}
