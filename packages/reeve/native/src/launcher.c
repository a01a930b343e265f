#include "launcher.h"

#include "calls.h"
#include "request.h"
#include "shim.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE_IN_MAX 65536
#define PENDING_MAX 256
#define TASK_ID_SIZE 208

/* A process we made: first it owes an answer, later (a shim) only its end is of interest. */
typedef struct {
    pid_t pid;
    int reply; /* -1: has answered */
    int64_t request;
    char task[TASK_ID_SIZE]; /* empty: no task */
} child;

typedef struct {
    char input[LINE_IN_MAX + 1];
    size_t length;
    bool input_ended;
    bool too_long; /* the rest of an overlong line is thrown away */
    int signals;
    child *children;
    size_t count;
    size_t room;
    size_t pending;
} launcher;

/* The agent is gone when nobody takes our words. */
static void say(const char *bytes, size_t length) {
    if (!write_all(STDOUT_FILENO, bytes, length)) _exit(0);
}

static void say_line(const line *out) { say(out->bytes, out->length); }

static void refuse(int64_t id, const fault *why) {
    char bytes[LINE_MAX_BYTES];
    line out;
    line_open(&out, bytes, sizeof bytes);
    if (id >= 0) line_number(&out, "id", id);
    else line_raw(&out, "id", "null");
    line_fault(&out, why);
    line_close(&out);
    say_line(&out);
}

/* What a process has that the launcher made: no way to the agent but its reply. */
static int leave_launcher(int reply) {
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || dup2(null, 0) < 0 || dup2(null, 1) < 0 || dup2(null, 2) < 0) _exit(1);
    if (reply != 3 && dup3(reply, 3, O_CLOEXEC) < 0) _exit(1);
    if (call_close_range(4, ~0u) < 0) _exit(1);
    return 3;
}

/* A worker for what takes longer than a moment; answers as a shim does, without a task. */
_Noreturn static void be_worker(const request *what, int reply) {
    char bytes[LINE_MAX_BYTES];
    line out;
    line_open(&out, bytes + 1, sizeof bytes - 1);
    bytes[0] = '\n';
    do_request(what, &out);
    line_close(&out);
    (void)write_all(reply, bytes, out.length + 1);
    _exit(0);
}

static bool make_room(launcher *self, fault *why) {
    if (self->count < self->room) return true;
    size_t room = self->room == 0 ? 64 : 2 * self->room;
    child *larger = realloc(self->children, room * sizeof *larger);
    if (larger == NULL) return fail(why, KIND_START, "out of memory");
    self->children = larger;
    self->room = room;
    return true;
}

static bool fork_for(launcher *self, const request *what, fault *why) {
    int ends[2];
    if (!make_room(self, why)) return false;
    if (pipe2(ends, O_CLOEXEC) < 0) return fail_call(why, KIND_START, "pipe2", "");
    pid_t pid = fork();
    if (pid == 0) {
        int reply = leave_launcher(ends[1]);
        if (what->op == OP_RUN) be_shim(what->spec, reply);
        be_worker(what, reply);
    }
    (void)close(ends[1]);
    if (pid < 0) {
        (void)close(ends[0]);
        return fail_call(why, KIND_START, "fork", "");
    }
    self->children[self->count++] = (child){.pid = pid, .reply = ends[0], .request = what->id};
    self->pending++;
    return true;
}

static void answer_quickly(const request *what) {
    char bytes[LINE_MAX_BYTES];
    line out;
    line_open(&out, bytes, sizeof bytes);
    line_number(&out, "id", what->id);
    do_request(what, &out);
    line_close(&out);
    say_line(&out);
}

static void take_request(launcher *self, const char *text, size_t length) {
    arena memory = {0};
    request what;
    fault why;
    bool fine = read_request(&memory, text, length, &what, &why);
    if (fine && is_quick(what.op)) answer_quickly(&what);
    else if (fine) fine = fork_for(self, &what, &why);
    if (!fine) refuse(what.id, &why);
    arena_free(&memory);
}

/* The lines that are there, as long as there is room for answers. */
static void take_lines(launcher *self) {
    size_t at = 0;
    while (self->pending < PENDING_MAX) {
        char *end = memchr(self->input + at, '\n', self->length - at);
        if (end == NULL) break;
        size_t length = (size_t)(end - self->input) - at;
        if (!self->too_long && length > 0) take_request(self, self->input + at, length);
        self->too_long = false;
        at += length + 1;
    }
    memmove(self->input, self->input + at, self->length - at);
    self->length -= at;
    bool full = self->length == LINE_IN_MAX && memchr(self->input, '\n', self->length) == NULL;
    if (!full) return;
    fault why;
    (void)fail(&why, KIND_CONFIG, "a request line is longer than %d bytes", LINE_IN_MAX);
    if (!self->too_long) refuse(-1, &why);
    self->too_long = true;
    self->length = 0;
}

static void read_input(launcher *self) {
    ssize_t got = read(STDIN_FILENO, self->input + self->length, LINE_IN_MAX - self->length);
    if (got > 0) self->length += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR)) self->input_ended = true;
}

/* Passes a reply on: the task's id, a line end, and the answer without the id of the request. */
static void take_reply(launcher *self, child *from) {
    char bytes[LINE_MAX_BYTES + 1];
    char head[48];
    ssize_t got;
    do got = read(from->reply, bytes, LINE_MAX_BYTES);
    while (got < 0 && errno == EINTR);
    (void)close(from->reply);
    from->reply = -1;
    self->pending--;
    fault why;
    (void)fail(&why, KIND_START, "the process that should start the task died");
    bytes[got < 0 ? 0 : got] = '\0';
    char *body = strchr(bytes, '\n');
    if (body == NULL || body[1] != '{') {
        refuse(from->request, &why);
        return;
    }
    *body = '\0';
    body += 2;
    bool runs = strncmp(body, "\"ok\":true", 9) == 0 && strlen(bytes) < sizeof from->task;
    if (runs) memcpy(from->task, bytes, strlen(bytes) + 1);
    int length = snprintf(head, sizeof head, "{\"id\":%" PRId64 ",", from->request);
    say(head, (size_t)length);
    say(body, strlen(body));
}

static void say_ended(const child *from) {
    char bytes[512];
    line out;
    line_open(&out, bytes, sizeof bytes);
    line_text(&out, "event", "ended");
    line_text(&out, "task", from->task);
    line_number(&out, "shimPid", from->pid);
    line_close(&out);
    say_line(&out);
}

static void reap(launcher *self) {
    struct signalfd_siginfo got;
    while (read(self->signals, &got, sizeof got) == (ssize_t)sizeof got) continue;
    for (pid_t ended; (ended = waitpid(-1, NULL, WNOHANG)) > 0;) {
        for (size_t i = 0; i < self->count; i++) {
            child *from = &self->children[i];
            if (from->pid != ended) continue;
            if (from->reply >= 0) take_reply(self, from);
            if (from->task[0] != '\0') say_ended(from);
            self->children[i] = self->children[--self->count];
            break;
        }
    }
}

static bool turn(launcher *self) {
    struct pollfd ready[PENDING_MAX + 2];
    size_t owners[PENDING_MAX + 2];
    nfds_t count = 2;
    bool reads = !self->input_ended && self->pending < PENDING_MAX && self->length < LINE_IN_MAX;
    ready[0] = (struct pollfd){.fd = self->signals, .events = POLLIN};
    ready[1] = (struct pollfd){.fd = reads ? STDIN_FILENO : -1, .events = POLLIN};
    for (size_t i = 0; i < self->count && count < PENDING_MAX + 2; i++) {
        if (self->children[i].reply < 0) continue;
        owners[count] = i;
        ready[count++] = (struct pollfd){.fd = self->children[i].reply, .events = POLLIN};
    }
    if (poll(ready, count, -1) < 0) return errno == EINTR;
    for (nfds_t i = 2; i < count; i++)
        if (ready[i].revents != 0) take_reply(self, &self->children[owners[i]]);
    if (ready[0].revents != 0) reap(self);
    if (ready[1].revents != 0) read_input(self);
    take_lines(self);
    return !self->input_ended || self->pending > 0;
}

int serve(void) {
    static launcher self;
    sigset_t mask;
    char hello[80];
    /* The agent's group may be told to stop; the launcher goes when its input ends. */
    block_signals();
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    self.signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self.signals < 0 || prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0) {
        perror("reeve-task serve");
        return 1;
    }
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    int length =
        snprintf(hello, sizeof hello, "{\"v\":1,\"event\":\"ready\",\"pid\":%d}\n", (int)getpid());
    say(hello, (size_t)length);
    while (turn(&self)) continue;
    return 0;
}
