#include "start.h"

#include "calls.h"
#include "cgroup.h"
#include "channel.h"
#include "program.h"
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define STATUS_FD 3

/* Becomes the task; comes back with a fault only. */
static void run_program(const task_spec *task, const identity *who, const streams *io, int writer,
                        pid_t parent, fault *why) {
    if (setsid() < 0) {
        (void)fail_call(why, KIND_START, "setsid", "");
        return;
    }
    if (!set_streams(io->in, io->out, io->err, why)) return;
    say_hello(writer);
    if (keep_channel(writer, why)) become_program(&task->program, who, parent, why);
}

/* As `fork`, with namespaces. */
static pid_t fork_into(unsigned long flags) {
    return (pid_t)syscall(SYS_clone, flags | SIGCHLD, 0, 0, 0, 0);
}

#ifndef SYS_clone3
#define SYS_clone3 435
#endif
#define CLONE_INTO_GROUP UINT64_C(0x200000000)

/* The same, born in a version 2 cgroup: to move there later makes the kernel wait for all CPUs. */
static pid_t fork_into_group(unsigned long flags, const char *group) {
    /* struct clone_args; not all headers declare its last member. */
    struct {
        uint64_t flags, pidfd, child_tid, parent_tid, exit_signal, stack, stack_size, tls, set_tid,
            set_tid_size, cgroup;
    } args = {.flags = flags | CLONE_INTO_GROUP, .exit_signal = SIGCHLD};
    int dir = open(group, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (dir < 0) return -1;
    args.cgroup = (uint64_t)dir;
    pid_t child = (pid_t)syscall(SYS_clone3, &args, sizeof args);
    int code = errno;
    if (child != 0) (void)close(dir);
    errno = code;
    return child;
}

static void reap_all(pid_t task, int status_fd) {
    int status;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) {
        if (ended != task) continue;
        (void)write_all(status_fd, (const char *)&status, sizeof status);
        /* The end of the init is the end of everything in its pid namespace. */
        _exit(0);
    }
    if (errno == ECHILD) _exit(0);
}

/* Process 1 of the task's world: reaps, and hands signals on, which a task as process 1 ignores. */
_Noreturn static void be_init(pid_t task, int status) {
    sigset_t all;
    (void)sigfillset(&all);
    (void)setsid();
    if (dup3(status, STATUS_FD, O_CLOEXEC) < 0 && status != STATUS_FD) _exit(1);
    (void)call_close_range(STATUS_FD + 1, ~0u);
    int signals = signalfd(-1, &all, SFD_CLOEXEC | SFD_NONBLOCK);
    if (signals < 0) _exit(1);
    for (;;) {
        struct pollfd ready[2] = {{.fd = signals, .events = POLLIN},
                                  {.fd = STATUS_FD, .events = 0}};
        struct signalfd_siginfo got;
        (void)poll(ready, 2, -1);
        /* Nobody reads the status: the shim is dead. */
        if ((ready[1].revents & (POLLERR | POLLNVAL)) != 0) _exit(1);
        while (read(signals, &got, sizeof got) == (ssize_t)sizeof got)
            if (got.ssi_signo != SIGCHLD) (void)kill(task, (int)got.ssi_signo);
        reap_all(task, STATUS_FD);
    }
}

bool join_network(const char *path, fault *why) {
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return fail_call(why, KIND_UNSTARTABLE, "open network namespace", path);
    bool joined = setns(fd, CLONE_NEWNET) == 0 || fail_call(why, KIND_UNSTARTABLE, "setns", path);
    (void)close(fd);
    return joined;
}

static void set_oom_score(int64_t value) {
    char text[16];
    (void)snprintf(text, sizeof text, "%d", (int)value);
    /* Without CAP_SYS_RESOURCE it may only be raised; then it stays as it is. */
    (void)write_file("/proc/self/oom_score_adj", text);
}

/* What surrounds the task, while the host's files can still be seen. */
static bool enter_world(const task_spec *task, size_t joined, fault *why) {
    for (size_t i = 0; i < task->cgroup_count; i++)
        if (i != joined && !join_cgroup(task->cgroups[i].path, why)) return false;
    if (task->has_oom_score_adj) set_oom_score(task->oom_score_adj);
    if (task->netns != NULL && !join_network(task->netns, why)) return false;
    if (!task->isolated) return true;
    /* Old kernels have no cgroup namespace; the task then sees paths it cannot use. */
    if (unshare(CLONE_NEWCGROUP) < 0 && errno != EINVAL)
        return fail_call(why, KIND_UNSTARTABLE, "unshare CLONE_NEWCGROUP", "");
    const char *name = task->isolate.hostname;
    if (name != NULL && sethostname(name, strlen(name)) < 0)
        return fail_call(why, KIND_START, "sethostname", name);
    return enter_root(&task->isolate, why);
}

typedef struct {
    const task_spec *task;
    const identity *who;
    const streams *io;
    int writer;
    int status;
    pid_t shim;
    size_t joined; /* the cgroup it was born in; the count of them: none */
} launch;

static bool run_child(const launch *from, fault *why) {
    bool has_init = from->status >= 0;
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return fail_call(why, KIND_START, "prctl PR_SET_PDEATHSIG", "");
    if (!enter_world(from->task, from->joined, why)) return false;
    if (!has_init) {
        run_program(from->task, from->who, from->io, from->writer, from->shim, why);
        return false;
    }
    pid_t task = fork_into(0);
    if (task < 0) return fail_call(why, KIND_START, "fork", "");
    if (task > 0) be_init(task, from->status);
    run_program(from->task, from->who, from->io, from->writer, 1, why);
    return false;
}

_Noreturn static void be_child(const launch *from) {
    fault why;
    (void)run_child(from, &why);
    /* `keep_channel` may have moved it, but both are open until then or one is. */
    say_fault(fcntl(from->writer, F_GETFD) < 0 ? CHANNEL : from->writer, &why);
    _exit(127);
}

static unsigned long namespaces_of(const task_spec *task) {
    if (!task->isolated) return 0;
    unsigned long flags = CLONE_NEWNS | CLONE_NEWUTS;
    if (task->isolate.pid_namespace) flags |= CLONE_NEWPID;
    if (task->isolate.ipc_namespace) flags |= CLONE_NEWIPC;
    return flags;
}

/* Starts the child in the version 2 group when there is one, else wherever we are. */
static pid_t fork_child(launch *from, unsigned long flags) {
    const task_spec *task = from->task;
    for (from->joined = 0; from->joined < task->cgroup_count; from->joined++) {
        const char *path = task->cgroups[from->joined].path;
        pid_t child = is_unified(path) ? fork_into_group(flags, path) : -1;
        if (child >= 0) return child;
    }
    return fork_into(flags);
}

static void end_child(pid_t child) {
    if (child <= 0) return;
    (void)kill(child, SIGKILL);
    while (waitpid(child, NULL, 0) < 0 && errno == EINTR) continue;
}

bool start_task(const task_spec *task, const identity *who, const streams *io, started *out,
                fault *why) {
    channel words;
    int status[2] = {-1, -1};
    greeting heard;
    unsigned long flags = namespaces_of(task);
    *out = (started){.status = -1};
    if (!open_channel(&words, why)) return false;
    if ((flags & CLONE_NEWPID) != 0 && pipe2(status, O_CLOEXEC) < 0)
        return fail_call(why, KIND_START, "pipe2", "");
    launch from = {.task = task,
                   .who = who,
                   .io = io,
                   .writer = words.writer,
                   .status = status[1],
                   .shim = getpid()};
    out->main = fork_child(&from, flags);
    if (out->main == 0) {
        (void)close(words.reader);
        if (status[0] >= 0) (void)close(status[0]);
        be_child(&from);
    }
    if (out->main < 0) {
        out->main = 0;
        return fail_call(why, errno == EPERM ? KIND_UNSTARTABLE : KIND_START, "clone", "");
    }
    (void)close(words.writer);
    if (status[1] >= 0) (void)close(status[1]);
    out->status = status[0];
    bool runs = hear(words.reader, &heard, why);
    (void)close(words.reader);
    out->task = heard.pid;
    if (runs && heard.pid == 0) runs = fail(why, KIND_START, "the task died before it started");
    if (runs) return true;
    end_child(out->main);
    if (out->status >= 0) (void)close(out->status);
    *out = (started){.status = -1};
    return false;
}
