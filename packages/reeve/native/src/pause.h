/* The only process of a container that other containers share their network with. */
#ifndef REEVE_PAUSE_H
#define REEVE_PAUSE_H

/* Joins the network namespace, gives every right up, and waits to be ended. The exit status. */
int hold_network(const char *path);

#endif
