/* Carries bytes between descriptors that are read and written when they are ready. */
#ifndef REEVE_RELAY_H
#define REEVE_RELAY_H

#include <poll.h>
#include <stdbool.h>
#include <stddef.h>

#define FLOW_BYTES 65536

typedef struct {
    int from;      /* -1: nothing more comes */
    int to;        /* -1: nothing more can go */
    bool close_to; /* when all has gone */
    bool ended;    /* nothing comes and nothing is left */
    size_t begin;
    size_t length;
    char bytes[FLOW_BYTES];
} flow;

void open_flow(flow *of, int from, int to, bool close_to);

/* What to wait for: at most two entries. */
size_t flow_wants(const flow *of, struct pollfd *out);

/* Does what can be done now; true when bytes moved. */
bool move_flow(flow *of);

/* Puts a byte behind what is waiting; false when there is no room. */
bool put_byte(flow *of, char byte);

/* Nothing more shall come from the source. */
void end_input(flow *of);

#endif
