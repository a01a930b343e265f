/* `reeve-task exec`: a command beside a task, with or without a terminal. */
#ifndef REEVE_SESSION_H
#define REEVE_SESSION_H

/* Speaks on descriptors 0 to 5 as PROTOCOL.md section 5 says; the exit status. */
int run_session(void);

#endif
