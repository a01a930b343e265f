#include "channel.h"

#include "calls.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define HEAR_MS_MAX 60000

typedef enum { SAYS_HELLO, SAYS_FAULT, HANDS_OVER } message_type;

typedef struct {
    message_type type;
    fault why;
} message;

bool open_channel(channel *out, fault *why) {
    int ends[2];
    int on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return fail_call(why, KIND_START, "socketpair", "");
    *out = (channel){.reader = ends[0], .writer = ends[1]};
    if (setsockopt(out->reader, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0) return true;
    (void)fail_call(why, KIND_START, "setsockopt SO_PASSCRED", "");
    (void)close(ends[0]);
    (void)close(ends[1]);
    return false;
}

static void say(int writer, const message *what) {
    /* Nobody listens any more: there is nobody else to tell. */
    while (send(writer, what, sizeof *what, MSG_NOSIGNAL) < 0 && errno == EINTR) continue;
}

void say_hello(int writer) { say(writer, &(message){.type = SAYS_HELLO}); }

void say_fault(int writer, const fault *why) {
    say(writer, &(message){.type = SAYS_FAULT, .why = *why});
}

typedef union {
    struct cmsghdr align;
    char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
} control;

bool send_descriptor(int writer, int fd, fault *why) {
    message what = {.type = HANDS_OVER};
    struct iovec data = {.iov_base = &what, .iov_len = sizeof what};
    control room;
    memset(&room, 0, sizeof room);
    struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
    header.msg_control = room.bytes;
    header.msg_controllen = CMSG_SPACE(sizeof fd);
    struct cmsghdr *part = CMSG_FIRSTHDR(&header);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(part), &fd, sizeof fd);
    if (sendmsg(writer, &header, MSG_NOSIGNAL) >= 0) return true;
    return fail_call(why, KIND_START, "sendmsg", "");
}

static void take_control(struct msghdr *header, message_type type, greeting *out) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(header); part != NULL;
         part = CMSG_NXTHDR(header, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_RIGHTS) memcpy(&out->descriptor, CMSG_DATA(part), sizeof(int));
        if (part->cmsg_type != SCM_CREDENTIALS || type != SAYS_HELLO) continue;
        struct ucred who;
        memcpy(&who, CMSG_DATA(part), sizeof who);
        out->pid = who.pid;
    }
}

/* A file system that does not answer must not hold a start for ever. */
static bool await_word(int reader, int64_t deadline, fault *why) {
    for (;;) {
        int64_t left = deadline - monotonic_ms();
        struct pollfd ready = {.fd = reader, .events = POLLIN};
        int count = poll(&ready, 1, left < 0 ? 0 : (int)left);
        if (count > 0) return true;
        if (count == 0)
            return fail(why, KIND_START, "it did not start within %d s", HEAR_MS_MAX / 1000);
        if (errno != EINTR) return fail_call(why, KIND_START, "poll", "");
    }
}

bool hear(int reader, greeting *out, fault *why) {
    int64_t deadline = monotonic_ms() + HEAR_MS_MAX;
    *out = (greeting){.pid = 0, .descriptor = -1};
    for (;;) {
        if (!await_word(reader, deadline, why)) return false;
        message what;
        struct iovec data = {.iov_base = &what, .iov_len = sizeof what};
        control room;
        struct msghdr header = {.msg_iov = &data, .msg_iovlen = 1};
        header.msg_control = room.bytes;
        header.msg_controllen = sizeof room.bytes;
        ssize_t got = recvmsg(reader, &header, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR) continue;
        if (got < 0) return fail_call(why, KIND_START, "recvmsg", "");
        if ((size_t)got < sizeof what) return true;
        take_control(&header, what.type, out);
        if (what.type != SAYS_FAULT) continue;
        *why = what.why;
        why->message[FAULT_MESSAGE_MAX - 1] = '\0';
        return false;
    }
}
