#include "shim.h"

#include "calls.h"
#include "cgroup.h"
#include "line.h"
#include "logs.h"
#include "record.h"
#include "start.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* How long what was killed may take to go away before we give up on it. */
#define KILL_MS_MAX 5000
#define KILL_ROUND_MS 10
/* How long an open pipe may be silent after the end, and how long it may talk at all. */
#define DRAIN_SILENCE_MS 200
#define DRAIN_MS_MAX 5000
#define OOM_ROUND_MS 50

typedef struct {
    arena memory;
    task_spec task;
    identity who;
    started run;
    handle handle;
    log_stream logs[2];
    int signals;
    int oom_event;
    int64_t oom_before;
    bool oom_seen;
    bool ended; /* the main process */
    bool has_status;
    bool killing;
    ending end;
} shim;

static bool read_spec_file(shim *self, const char *path, fault *why) {
    struct stat found;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY);
    if (fd < 0) return fail_call(why, KIND_CONFIG, "open spec", path);
    bool done = fstat(fd, &found) == 0 || fail_call(why, KIND_START, "fstat", path);
    if (done && !S_ISREG(found.st_mode))
        done = fail(why, KIND_CONFIG, "spec %s is not a regular file", path);
    if (done && ((found.st_mode & 022) != 0 || (found.st_uid != geteuid() && found.st_uid != 0)))
        done = fail(why, KIND_CONFIG, "spec %s can be written by others", path);
    if (done && found.st_size > SPEC_SIZE_MAX)
        done = fail(why, KIND_CONFIG, "spec %s is too large", path);
    char *text = done ? malloc(SPEC_SIZE_MAX + 1) : NULL;
    size_t length = 0;
    for (ssize_t got = 1; text != NULL && got > 0 && length < SPEC_SIZE_MAX;) {
        got = read(fd, text + length, SPEC_SIZE_MAX - length);
        if (got < 0 && errno == EINTR) got = 1;
        else if (got < 0) done = fail_call(why, KIND_START, "read", path);
        else length += (size_t)got;
    }
    (void)close(fd);
    if (done && text == NULL) done = fail(why, KIND_START, "out of memory");
    json *value = done ? json_read(&self->memory, text, length, why) : NULL;
    free(text);
    return value != NULL && read_task_spec(&self->memory, value, &self->task, why);
}

static bool open_streams(shim *self, streams *io, fault *why) {
    const task_spec *task = &self->task;
    io->in = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (io->in < 0) return fail_call(why, KIND_START, "open", "/dev/null");
    if (!task->has_logs) {
        io->out = io->err = open("/dev/null", O_WRONLY | O_CLOEXEC);
        return io->out >= 0 || fail_call(why, KIND_START, "open", "/dev/null");
    }
    const int64_t size = task->log_bytes_max;
    const int64_t files = task->log_files_max;
    if (!open_log(&self->logs[0], task->stdout_prefix, size, files, &io->out, why)) return false;
    if (!open_log(&self->logs[1], task->stderr_prefix, size, files, &io->err, why)) return false;
    /* So that the task may open /dev/stdout again, which is a check against the pipe's owner. */
    if (self->who.changes && (fchown(io->out, self->who.uid, self->who.gid) < 0 ||
                              fchown(io->err, self->who.uid, self->who.gid) < 0))
        return errno == EPERM || fail_call(why, KIND_START, "fchown", "");
    return true;
}

static bool begin(shim *self, fault *why) {
    streams io = {-1, -1, -1};
    for (size_t i = 0; i < self->task.shim_cgroups.count; i++)
        try_cgroup(self->task.shim_cgroups.items[i]);
    if (!find_identity(&self->task.program, &self->who, why)) return false;
    if (!open_streams(self, &io, why)) return false;
    if (!make_cgroups(&self->task, why)) return false;
    self->oom_before = read_oom_kills(self->task.oom_file);
    self->oom_event = self->task.oom_file == NULL ? -1 : watch_oom(self->task.oom_file);
    bool runs = start_task(&self->task, &self->who, &io, &self->run, why);
    (void)close(io.in);
    (void)close(io.out);
    if (io.err != io.out) (void)close(io.err);
    return runs;
}

/* Kills everything of the task once; how many were met. */
static size_t kill_round(shim *self) {
    size_t met = 0;
    if (self->run.status >= 0 && !self->ended) {
        (void)kill(self->run.main, SIGKILL);
        met = 1;
    }
    if (self->task.kill_cgroup != NULL) met += kill_cgroup(self->task.kill_cgroup);
    /* Children we still have may have left the cgroup; none means no descendants either. */
    siginfo_t any;
    if (waitid(P_ALL, 0, &any, WEXITED | WNOHANG | WNOWAIT) == 0) met += kill_descendants(getpid());
    return met;
}

static void keep_usage(shim *self, const struct rusage *usage) {
    self->end.max_rss_kb = usage->ru_maxrss;
    self->end.user_ms = (int64_t)usage->ru_utime.tv_sec * 1000 + usage->ru_utime.tv_usec / 1000;
    self->end.system_ms = (int64_t)usage->ru_stime.tv_sec * 1000 + usage->ru_stime.tv_usec / 1000;
}

/* Takes the status that the init left; without one the init's own is the best there is. */
static void take_status(shim *self, int status) {
    int inner = 0;
    self->end.status = status;
    if (self->run.status >= 0 &&
        read(self->run.status, &inner, sizeof inner) == (ssize_t)sizeof inner)
        self->end.status = inner;
    else if (self->run.status >= 0 && WIFEXITED(status)) self->end.status = SIGKILL;
    self->ended = true;
}

static void reap(shim *self) {
    int status;
    struct rusage usage;
    for (pid_t ended; (ended = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
        if (ended != self->run.main) continue;
        keep_usage(self, &usage);
        take_status(self, status);
    }
}

static void hear_signals(shim *self) {
    struct signalfd_siginfo got;
    while (read(self->signals, &got, sizeof got) == (ssize_t)sizeof got) {
        if (got.ssi_signo != SIGTERM) continue;
        self->killing = true;
        self->end.killed = true;
    }
    reap(self);
}

/* Version 1 kills one process only; half a task is worse than none. */
static void hear_oom(shim *self) {
    uint64_t count;
    (void)!read(self->oom_event, &count, sizeof count);
    self->oom_seen = true;
}

static void check_oom(shim *self) {
    if (!self->oom_seen || self->ended) return;
    if (read_oom_kills(self->task.oom_file) > self->oom_before) self->killing = true;
}

/* Waits for anything to happen and deals with it; false when nothing did. */
static bool turn(shim *self, int timeout_ms) {
    struct pollfd ready[4] = {
        {.fd = self->signals, .events = POLLIN},
        {.fd = self->oom_event, .events = POLLIN},
        {.fd = self->logs[0].pipe, .events = POLLIN},
        {.fd = self->logs[1].pipe, .events = POLLIN},
    };
    int count = poll(ready, 4, timeout_ms);
    if (count <= 0) return false;
    if (ready[1].revents != 0) hear_oom(self);
    if (ready[0].revents != 0) hear_signals(self);
    for (int i = 0; i < 2; i++)
        if (ready[2 + i].revents != 0) (void)pump_log(&self->logs[i]);
    return true;
}

static void watch_task(shim *self) {
    while (!self->ended) {
        int timeout = self->killing ? KILL_ROUND_MS : self->oom_seen ? OOM_ROUND_MS : -1;
        (void)turn(self, timeout);
        check_oom(self);
        if (self->killing && !self->ended) (void)kill_round(self);
    }
}

/* What the task left running must not go on without it. */
static void kill_rest(shim *self) {
    int64_t deadline = monotonic_ms() + KILL_MS_MAX;
    for (;;) {
        reap(self);
        size_t met = kill_round(self);
        self->end.left = (int64_t)met;
        if (met == 0 || monotonic_ms() >= deadline) return;
        (void)turn(self, 1);
    }
}

static void drain(shim *self) {
    int64_t deadline = monotonic_ms() + DRAIN_MS_MAX;
    while ((self->logs[0].pipe >= 0 || self->logs[1].pipe >= 0) && monotonic_ms() < deadline)
        if (!turn(self, DRAIN_SILENCE_MS)) return;
}

static void finish(shim *self) {
    ending *end = &self->end;
    end->oom_kills = read_oom_kills(self->task.oom_file) - self->oom_before;
    if (end->oom_kills < 0) end->oom_kills = 0;
    /* By the signal, or as a shell tells of a child that was ended so. */
    end->oom = end->oom_kills > 0 && code_of(end->status) == 128 + SIGKILL && !end->killed;
    end->log_bytes = self->logs[0].bytes + self->logs[1].bytes;
    end->log_dropped = self->logs[0].dropped + self->logs[1].dropped;
    fault why;
    /* A full disk may have room again soon; a directory that was taken away stays away. */
    for (int tries = 0; !write_ending(&self->task, end, &why) && tries < 600; tries++) {
        if (errno == ENOENT) return;
        sleep_ms(1000);
    }
}

static void answer(const shim *self, int reply, const fault *why) {
    char bytes[LINE_MAX_BYTES];
    char whole[LINE_MAX_BYTES];
    line out;
    line_open(&out, bytes, LINE_MAX_BYTES - 256);
    if (why != NULL) line_fault(&out, why);
    else {
        line_bool(&out, "ok", true);
        write_pids(&out, &self->handle);
    }
    line_close(&out);
    int length =
        snprintf(whole, sizeof whole, "%s\n%s", self->task.id == NULL ? "" : self->task.id, bytes);
    if (length > 0) (void)write_all(reply, whole, (size_t)length);
    (void)close(reply);
}

static bool publish(shim *self, fault *why) {
    self->handle = (handle){
        .main = {.pid = self->run.main, .start_time = start_time_of(self->run.main)},
        .task = {.pid = self->run.task, .start_time = start_time_of(self->run.task)},
        .shim = {.pid = getpid(), .start_time = start_time_of(getpid())},
    };
    return write_handle(&self->task, &self->who, &self->handle, why);
}

static bool become_shim(shim *self, fault *why) {
    sigset_t all;
    (void)sigfillset(&all);
    block_signals();
    (void)setsid();
    if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) < 0)
        return fail_call(why, KIND_START, "prctl PR_SET_CHILD_SUBREAPER", "");
    self->signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (self->signals < 0) return fail_call(why, KIND_START, "signalfd", "");
    return true;
}

static void give_up(shim *self, int reply, const fault *why) {
    self->ended = self->run.main == 0;
    if (!self->ended) kill_rest(self);
    fault ignored;
    for (size_t i = 0; i < self->task.cgroup_count; i++)
        (void)remove_cgroup(self->task.cgroups[i].path, &ignored);
    answer(self, reply, why);
}

void be_shim(const char *spec_path, int reply) {
    static shim self = {.signals = -1, .oom_event = -1};
    fault why;
    self.run.status = -1;
    for (int i = 0; i < 2; i++) self.logs[i].pipe = -1;
    bool ready = become_shim(&self, &why) && read_spec_file(&self, spec_path, &why);
    if (!ready) {
        answer(&self, reply, &why);
        _exit(1);
    }
    set_title(self.task.name);
    /* Nobody may look into us: not the task that shares our user, nor the one below our init. */
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (!begin(&self, &why) || !publish(&self, &why)) {
        give_up(&self, reply, &why);
        _exit(1);
    }
    answer(&self, reply, NULL);
#ifdef __GLIBC__
    /* A shim waits for days: what the start needed goes back. */
    (void)malloc_trim(0);
#endif
    watch_task(&self);
    kill_rest(&self);
    drain(&self);
    finish(&self);
    _exit(0);
}
