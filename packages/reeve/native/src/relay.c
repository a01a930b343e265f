#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

static void make_ready(int fd) {
    int flags = fd < 0 ? -1 : fcntl(fd, F_GETFL);
    if (flags >= 0) (void)fcntl(fd, F_SETFL, flags | O_NONBLOCK);
}

void open_flow(flow *of, int from, int to, bool close_to) {
    of->from = from;
    of->to = to;
    of->close_to = close_to;
    of->ended = from < 0;
    of->begin = 0;
    of->length = 0;
    make_ready(from);
    make_ready(to);
}

static bool has_room(const flow *of) { return of->length < FLOW_BYTES; }

size_t flow_wants(const flow *of, struct pollfd *out) {
    size_t count = 0;
    if (of->from >= 0 && has_room(of))
        out[count++] = (struct pollfd){.fd = of->from, .events = POLLIN};
    if (of->to >= 0 && of->length > 0)
        out[count++] = (struct pollfd){.fd = of->to, .events = POLLOUT};
    return count;
}

/* Makes the free room one piece behind the bytes. */
static void settle(flow *of) {
    if (of->begin == 0) return;
    memmove(of->bytes, of->bytes + of->begin, of->length);
    of->begin = 0;
}

static bool fill(flow *of) {
    if (of->from < 0 || !has_room(of)) return false;
    settle(of);
    ssize_t got = read(of->from, of->bytes + of->length, FLOW_BYTES - of->length);
    if (got > 0) of->length += (size_t)got;
    /* EIO: the last holder of a terminal has closed it. */
    else if (got == 0 || (errno != EAGAIN && errno != EINTR)) of->from = -1;
    return got > 0;
}

static bool empty(flow *of) {
    if (of->length == 0) return false;
    if (of->to < 0) {
        of->length = 0;
        return true;
    }
    ssize_t put = write(of->to, of->bytes + of->begin, of->length);
    if (put > 0) {
        of->begin += (size_t)put;
        of->length -= (size_t)put;
    } else if (put < 0 && errno != EAGAIN && errno != EINTR) {
        /* The reader has gone; what comes is taken all the same, so that the writer goes on. */
        of->to = -1;
        of->length = 0;
    }
    return put > 0;
}

bool move_flow(flow *of) {
    bool filled = fill(of);
    bool emptied = empty(of);
    if (!of->ended && of->from < 0 && of->length == 0) {
        of->ended = true;
        if (of->close_to && of->to >= 0) {
            (void)close(of->to);
            of->to = -1;
        }
    }
    return filled || emptied;
}

bool put_byte(flow *of, char byte) {
    if (!has_room(of)) return false;
    settle(of);
    of->bytes[of->length++] = byte;
    return true;
}

void end_input(flow *of) { of->from = -1; }
