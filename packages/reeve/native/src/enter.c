#include "enter.h"

#include "calls.h"
#include "cgroup.h"
#include "channel.h"
#include "program.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <termios.h>
#include <unistd.h>

#ifndef TIOCGPTPEER
#define TIOCGPTPEER _IO('T', 0x41)
#endif

/* All at once and by the process itself: no path that could name something else by now. */
#define ALL_NAMESPACES                                                                             \
    (CLONE_NEWCGROUP | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWNET | CLONE_NEWPID | CLONE_NEWNS)

typedef struct {
    int in;
    int out;
    int err;
} ends;

/* A terminal of the task's own /dev, so that its name means something there. */
static bool open_terminal(const session_spec *session, const identity *who, ends *command,
                          int writer, fault *why) {
    int locked = 0;
    struct winsize size = {.ws_row = (unsigned short)session->rows,
                           .ws_col = (unsigned short)session->columns};
    int master = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0) return fail_call(why, KIND_UNSTARTABLE, "open terminal", "/dev/ptmx");
    if (ioctl(master, TIOCSPTLCK, &locked) < 0)
        return fail_call(why, KIND_START, "ioctl TIOCSPTLCK", "");
    int slave = ioctl(master, TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (slave < 0) return fail_call(why, KIND_START, "ioctl TIOCGPTPEER", "");
    if (ioctl(master, TIOCSWINSZ, &size) < 0)
        return fail_call(why, KIND_START, "ioctl TIOCSWINSZ", "");
    if (who->changes && fchown(slave, who->uid, (gid_t)-1) < 0 && errno != EPERM)
        return fail_call(why, KIND_START, "fchown of the terminal", "");
    *command = (ends){.in = slave, .out = slave, .err = slave};
    bool sent = send_descriptor(writer, master, why);
    (void)close(master);
    return sent;
}

static bool join_task(const session_spec *session, int target, fault *why) {
    for (size_t i = 0; i < session->cgroups.count; i++)
        if (!join_cgroup(session->cgroups.items[i], why)) return false;
    if (!session->isolated || setns(target, ALL_NAMESPACES) == 0) return true;
    if (errno == ESRCH) return fail(why, KIND_GONE, "the task has ended");
    return fail_call(why, KIND_UNSTARTABLE, "setns into the task", "");
}

typedef struct {
    const session_spec *session;
    const identity *who;
    int target;
    int writer;
    ends command;
    pid_t relay;
} entry;

static bool take_terminal(const session_spec *session, fault *why) {
    if (setsid() < 0) return fail_call(why, KIND_START, "setsid", "");
    if (!session->tty || ioctl(STDIN_FILENO, TIOCSCTTY, 0) == 0) return true;
    return fail_call(why, KIND_START, "ioctl TIOCSCTTY", "");
}

static void run_command(const entry *from, fault *why) {
    say_hello(from->writer);
    if (!set_streams(from->command.in, from->command.out, from->command.err, why)) return;
    if (!keep_channel(from->writer, why)) return;
    if (!take_terminal(from->session, why)) return;
    /* Inside another pid namespace the relay cannot be seen: its number is 0 there. */
    pid_t parent = getppid() == 0 ? 0 : from->relay;
    become_program(&from->session->program, from->who, parent, why);
}

/* Goes into the task's world and makes the command there, as a child of the relay. */
static bool run_middle(entry *from, fault *why) {
    (void)prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
    if (!join_task(from->session, from->target, why)) return false;
    if (from->session->tty &&
        !open_terminal(from->session, from->who, &from->command, from->writer, why))
        return false;
    pid_t command = (pid_t)syscall(SYS_clone, CLONE_PARENT | SIGCHLD, 0, 0, 0, 0);
    if (command < 0) return fail_call(why, KIND_START, "clone", "");
    if (command > 0) _exit(0);
    run_command(from, why);
    return false;
}

_Noreturn static void be_middle(entry *from) {
    fault why;
    (void)run_middle(from, &why);
    say_fault(fcntl(from->writer, F_GETFD) < 0 ? CHANNEL : from->writer, &why);
    _exit(127);
}

static bool open_pipes(const session_spec *session, const identity *who, ends *command,
                       entered *ours, fault *why) {
    int pipes[3][2];
    if (session->tty) return true;
    for (int i = 0; i < 3; i++) {
        if (pipe2(pipes[i], O_CLOEXEC) < 0) return fail_call(why, KIND_START, "pipe2", "");
        int theirs = pipes[i][i == 0 ? 0 : 1];
        if (who->changes && fchown(theirs, who->uid, who->gid) < 0 && errno != EPERM)
            return fail_call(why, KIND_START, "fchown", "");
    }
    *command = (ends){.in = pipes[0][0], .out = pipes[1][1], .err = pipes[2][1]};
    ours->in = pipes[0][1];
    ours->out = pipes[1][0];
    ours->err = pipes[2][0];
    return true;
}

static void close_ends(const ends *command) {
    if (command->in >= 0) (void)close(command->in);
    if (command->out >= 0) (void)close(command->out);
    if (command->err >= 0) (void)close(command->err);
}

bool enter_task(const session_spec *session, entered *out, fault *why) {
    identity who;
    channel words;
    greeting heard;
    *out = (entered){.target = -1, .in = -1, .out = -1, .err = -1};
    entry from = {.session = session, .who = &who, .command = {-1, -1, -1}, .relay = getpid()};
    if (!find_identity(&session->program, &who, why)) return false;
    out->target = from.target = open_process(session->target);
    if (out->target < 0 && errno == ESRCH) return fail(why, KIND_GONE, "the task has ended");
    if (out->target < 0) return fail_call(why, KIND_START, "pidfd_open", "");
    if (!open_pipes(session, &who, &from.command, out, why) || !open_channel(&words, why))
        return false;
    from.writer = words.writer;
    pid_t middle = fork();
    if (middle == 0) {
        (void)close(words.reader);
        be_middle(&from);
    }
    if (middle < 0) return fail_call(why, KIND_START, "fork", "");
    (void)close(words.writer);
    close_ends(&from.command);
    bool runs = hear(words.reader, &heard, why);
    (void)close(words.reader);
    if (!runs) (void)kill(middle, SIGKILL);
    while (waitpid(middle, NULL, 0) < 0 && errno == EINTR) continue;
    out->command = heard.pid;
    if (session->tty) out->out = heard.descriptor;
    if (runs && heard.pid == 0) runs = fail(why, KIND_START, "the command died before it started");
    return runs;
}
