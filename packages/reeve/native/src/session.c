#include "session.h"

#include "calls.h"
#include "enter.h"
#include "line.h"
#include "record.h"
#include "relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#define CONTROL_FD 3
#define SPEC_FD 4
#define RECORD_FD 5
#define REFUSED_STATUS 125
#define CONTROL_SIZE 256
#define HANGUP_MS 2000
/* As for a task: an open stream that is silent after the end holds nobody up. */
#define DRAIN_SILENCE_MS 200
#define DRAIN_MS_MAX 5000
#define WANTS_MAX 10

typedef struct {
    arena memory;
    session_spec spec;
    entered inside;
    flow in;
    flow out;
    flow err;
    int signals;
    int control; /* -1: ended */
    char words[CONTROL_SIZE];
    size_t word_count;
    bool eof_asked; /* by a control line; what was sent as data before it goes first */
    bool eof_due;   /* the end-of-file character still has to be typed */
    bool hung_up;
    int64_t kill_at_ms; /* 0: not */
    bool target_gone;
    bool ended;
    int status;
} session;

static void record(const line *out) { (void)write_all(RECORD_FD, out->bytes, out->length); }

static void record_fault(const fault *why) {
    char bytes[LINE_MAX_BYTES];
    line out;
    line_open(&out, bytes, sizeof bytes);
    line_fault(&out, why);
    line_close(&out);
    record(&out);
}

static void record_start(pid_t command) {
    char bytes[128];
    line out;
    line_open(&out, bytes, sizeof bytes);
    line_bool(&out, "ok", true);
    line_number(&out, "pid", command);
    line_close(&out);
    record(&out);
}

static void record_end(int status) {
    char bytes[128];
    line out;
    line_open(&out, bytes, sizeof bytes);
    line_number(&out, "code", code_of(status));
    line_number(&out, "signal", signal_of(status));
    line_close(&out);
    record(&out);
}

static bool read_spec(session *self, fault *why) {
    char *text = malloc(SPEC_SIZE_MAX + 1);
    size_t length = 0;
    if (text == NULL) return fail(why, KIND_START, "out of memory");
    for (;;) {
        ssize_t got = read(SPEC_FD, text + length, SPEC_SIZE_MAX + 1 - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0 || (length += (size_t)got) > SPEC_SIZE_MAX) break;
    }
    (void)close(SPEC_FD);
    bool fits = length <= SPEC_SIZE_MAX || fail(why, KIND_CONFIG, "the spec is too large");
    json *value = fits ? json_read(&self->memory, text, length, why) : NULL;
    free(text);
    return value != NULL && read_session_spec(&self->memory, value, &self->spec, why);
}

/* To whoever is in front on the terminal, else to the command. */
static void signal_command(const session *self, int number) {
    pid_t front = 0;
    if (self->ended) return;
    if (self->spec.tty && ioctl(self->inside.out, TIOCSIG, number) == 0) return;
    if (self->spec.tty && ioctl(self->inside.out, TIOCGPGRP, &front) == 0 && front > 0 &&
        kill(-front, number) == 0)
        return;
    (void)kill(self->inside.command, number);
}

static void hang_up(session *self) {
    if (self->hung_up) return;
    self->hung_up = true;
    self->kill_at_ms = monotonic_ms() + HANGUP_MS;
    signal_command(self, SIGHUP);
    if (self->ended) return;
    /* Its own group too, which need not be in front; and a stopped one could not hear it. */
    (void)kill(-self->inside.command, SIGHUP);
    (void)kill(-self->inside.command, SIGCONT);
}

static void end_of_input(session *self) {
    end_input(&self->in);
    if (self->spec.tty) self->eof_due = true;
}

/* Behind what was typed before it. */
static void type_eof(session *self) {
    struct termios modes;
    char key = 4;
    if (!self->eof_due || self->inside.out < 0) return;
    if (tcgetattr(self->inside.out, &modes) == 0) key = (char)modes.c_cc[VEOF];
    self->in.ended = false;
    if (put_byte(&self->in, key)) self->eof_due = false;
}

static void obey(session *self, const char *words) {
    unsigned rows = 0;
    unsigned columns = 0;
    int number = 0;
    if (sscanf(words, "resize %5u %5u", &rows, &columns) == 2 && rows <= 65535 &&
        columns <= 65535) {
        struct winsize size = {.ws_row = (unsigned short)rows, .ws_col = (unsigned short)columns};
        if (self->spec.tty) (void)ioctl(self->inside.out, TIOCSWINSZ, &size);
    } else if (sscanf(words, "signal %2d", &number) == 1 && number >= 1 && number <= 64)
        signal_command(self, number);
    else if (strcmp(words, "eof") == 0) self->eof_asked = true;
    else if (strcmp(words, "hangup") == 0) hang_up(self);
}

static void hear_control(session *self) {
    ssize_t got =
        read(self->control, self->words + self->word_count, CONTROL_SIZE - 1 - self->word_count);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
    if (got <= 0) {
        self->control = -1;
        hang_up(self);
        return;
    }
    self->word_count += (size_t)got;
    for (;;) {
        char *end = memchr(self->words, '\n', self->word_count);
        if (end == NULL) break;
        *end = '\0';
        obey(self, self->words);
        size_t used = (size_t)(end - self->words) + 1;
        memmove(self->words, self->words + used, self->word_count - used);
        self->word_count -= used;
    }
    /* No line is that long. */
    if (self->word_count >= CONTROL_SIZE - 1) self->word_count = 0;
}

/*
 * Without a terminal nothing tells what the command started that its caller has left. Asked before
 * the command is waited for: until then the number of its group is nobody else's.
 */
static void end_group(const session *self) {
    siginfo_t ended = {0};
    if (!self->hung_up || self->spec.tty || self->ended) return;
    if (waitid(P_PID, (id_t)self->inside.command, &ended, WEXITED | WNOHANG | WNOWAIT) == 0 &&
        ended.si_pid != 0)
        (void)kill(-self->inside.command, SIGKILL);
}

static void reap(session *self) {
    struct signalfd_siginfo got;
    int status;
    while (read(self->signals, &got, sizeof got) == (ssize_t)sizeof got) continue;
    end_group(self);
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended != self->inside.command) continue;
        self->status = status;
        self->ended = true;
    }
}

/* Control lines overtake data: the end is the end of what has arrived. */
static bool is_input_quiet(const session *self) {
    struct pollfd waiting = {.fd = self->in.from, .events = POLLIN};
    return self->in.length < FLOW_BYTES && poll(&waiting, 1, 0) == 0;
}

static bool move_all(session *self) {
    bool had_input = self->in.from >= 0;
    bool moved = move_flow(&self->in);
    if (had_input && (self->in.from < 0 || (self->eof_asked && is_input_quiet(self)))) {
        end_of_input(self);
        moved = move_flow(&self->in) || moved;
    }
    if (self->in.length == 0) type_eof(self);
    bool out = move_flow(&self->out);
    bool err = move_flow(&self->err);
    return moved || out || err;
}

/* Waits until something can be done, and does it. True when it was about data. */
static bool turn(session *self, int timeout_ms) {
    struct pollfd ready[WANTS_MAX] = {
        {.fd = self->signals, .events = POLLIN},
        {.fd = self->control, .events = POLLIN},
        {.fd = self->target_gone ? -1 : self->inside.target, .events = POLLIN},
    };
    nfds_t count = 3;
    count += flow_wants(&self->in, ready + count);
    count += flow_wants(&self->out, ready + count);
    count += flow_wants(&self->err, ready + count);
    if (poll(ready, count, timeout_ms) < 0 && errno != EINTR) return false;
    if (ready[0].revents != 0) reap(self);
    if (ready[1].revents != 0) hear_control(self);
    if (ready[2].revents != 0) {
        self->target_gone = true;
        if (!self->ended) (void)kill(self->inside.command, SIGKILL);
    }
    return move_all(self);
}

static int timeout_of(const session *self) {
    if (self->kill_at_ms == 0) return -1;
    int64_t left = self->kill_at_ms - monotonic_ms();
    return left < 0 ? 0 : (int)left;
}

static void watch(session *self) {
    while (!self->ended) {
        (void)turn(self, timeout_of(self));
        if (self->kill_at_ms == 0 || self->ended || monotonic_ms() < self->kill_at_ms) continue;
        self->kill_at_ms = 0;
        signal_command(self, SIGKILL);
        (void)kill(self->inside.command, SIGKILL);
    }
    end_input(&self->in);
    self->in.length = 0;
    int64_t deadline = monotonic_ms() + DRAIN_MS_MAX;
    while (!(self->out.ended && self->err.ended)) {
        bool waits_for_agent = self->out.length > 0 || self->err.length > 0;
        /* What is read already is the agent's to take, however slowly, unless it has gone. */
        if (turn(self, DRAIN_SILENCE_MS) || (waits_for_agent && !self->hung_up)) continue;
        if (!waits_for_agent || monotonic_ms() >= deadline) return;
    }
}

static bool prepare(session *self, fault *why) {
    sigset_t mask;
    block_signals();
    (void)sigemptyset(&mask);
    (void)sigaddset(&mask, SIGCHLD);
    self->signals = signalfd(-1, &mask, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->signals < 0) return fail_call(why, KIND_START, "signalfd", "");
    for (int fd = CONTROL_FD; fd <= RECORD_FD; fd++)
        if (fcntl(fd, F_SETFD, FD_CLOEXEC) < 0)
            return fail(why, KIND_CONFIG, "descriptor %d is not open", fd);
    int flags = fcntl(CONTROL_FD, F_GETFL);
    (void)fcntl(CONTROL_FD, F_SETFL, flags | O_NONBLOCK);
    self->control = CONTROL_FD;
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    return read_spec(self, why);
}

int run_session(void) {
    /* Not initialised here: its buffers would be part of the program's file. */
    static session self;
    fault why;
    self.signals = -1;
    if (!prepare(&self, &why) || !enter_task(&self.spec, &self.inside, &why)) {
        record_fault(&why);
        return REFUSED_STATUS;
    }
    /* A terminal is one descriptor both ways; it stays open when the input has ended. */
    bool tty = self.spec.tty;
    open_flow(&self.in, STDIN_FILENO, tty ? self.inside.out : self.inside.in, !tty);
    open_flow(&self.out, self.inside.out, STDOUT_FILENO, false);
    open_flow(&self.err, self.inside.err, STDERR_FILENO, false);
    record_start(self.inside.command);
    watch(&self);
    record_end(self.status);
    return code_of(self.status);
}
