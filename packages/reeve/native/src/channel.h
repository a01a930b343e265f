/*
 * How a process on its way to another program reports to the one that made it: it says hello, which
 * tells its number as the receiver counts, then either a fault or, by closing, that it worked.
 */
#ifndef REEVE_CHANNEL_H
#define REEVE_CHANNEL_H

#include "fault.h"

#include <stdbool.h>
#include <sys/types.h>

typedef struct {
    int reader;
    int writer;
} channel;

bool open_channel(channel *out, fault *why);
void say_hello(int writer);
void say_fault(int writer, const fault *why);

/* Hands a descriptor over. */
bool send_descriptor(int writer, int fd, fault *why);

typedef struct {
    pid_t pid;      /* of who said hello; 0: nobody did */
    int descriptor; /* -1: none was handed over */
} greeting;

/* Waits for the end. False and why when a fault was said; true when the channel closed without. */
bool hear(int reader, greeting *out, fault *why);

#endif
