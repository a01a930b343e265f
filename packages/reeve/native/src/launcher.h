/* `reeve-task serve`: forks, so that the agent, a large process, need not. */
#ifndef REEVE_LAUNCHER_H
#define REEVE_LAUNCHER_H

/* Serves requests from descriptor 0 to descriptor 1 until the input ends; the exit status. */
int serve(void);

#endif
