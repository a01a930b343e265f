#include "program.h"

#include "calls.h"
#include "caps.h"
#include "seccomp.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

bool set_streams(int in, int out, int err, fault *why) {
    const int from[3] = {in, out, err};
    int safe[3];
    /* Moved out of the way first: one of them might be 0, 1 or 2 already. */
    for (int i = 0; i < 3; i++) {
        safe[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 10);
        if (safe[i] < 0) return fail_call(why, KIND_START, "fcntl F_DUPFD", "");
    }
    for (int i = 0; i < 3; i++)
        if (dup2(safe[i], i) < 0) return fail_call(why, KIND_START, "dup2", "");
    return true;
}

static rlim_t limit_value(int64_t value) { return value < 0 ? RLIM_INFINITY : (rlim_t)value; }

static bool set_limits(const program_spec *program, fault *why) {
    for (size_t i = 0; i < program->limit_count; i++) {
        const limit_spec *wanted = &program->limits[i];
        struct rlimit limit = {.rlim_cur = limit_value(wanted->soft),
                               .rlim_max = limit_value(wanted->hard)};
        struct rlimit now;
        if (call_prlimit(wanted->resource, &limit, NULL) == 0) continue;
        if (errno != EPERM || call_prlimit(wanted->resource, NULL, &now) < 0)
            return fail_call(why, KIND_START, "setrlimit", "");
        /* Not allowed to raise the hard limit: as much as there is. */
        if (limit.rlim_max > now.rlim_max) limit.rlim_max = now.rlim_max;
        if (limit.rlim_cur > limit.rlim_max) limit.rlim_cur = limit.rlim_max;
        if (call_prlimit(wanted->resource, &limit, NULL) < 0)
            return fail_call(why, KIND_START, "setrlimit", "");
    }
    return true;
}

static bool change_user(const identity *who, fault *why) {
    if (!who->changes) return true;
    bool same = who->uid == geteuid() && who->gid == getegid() && geteuid() != 0;
    if (same) return true;
    if (setgroups(who->group_count, who->groups) < 0)
        return fail_call(why, KIND_UNSTARTABLE, "setgroups: the agent may not change the user", "");
    if (setresgid(who->gid, who->gid, who->gid) < 0)
        return fail_call(why, KIND_UNSTARTABLE, "setresgid", "");
    if (setresuid(who->uid, who->uid, who->uid) < 0)
        return fail_call(why, errno == EAGAIN ? KIND_START : KIND_UNSTARTABLE, "setresuid", "");
    return true;
}

static bool drop_rights(const program_spec *program, const identity *who, fault *why) {
    /* Without this the change of the user would take the capabilities that the task shall keep. */
    bool keeps = program->has_caps && program->caps != 0 && who->uid != 0;
    if (program->has_caps && !bound_caps(program->caps, why)) return false;
    if (keeps && prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0)
        return fail_call(why, KIND_START, "prctl PR_SET_KEEPCAPS", "");
    if (!change_user(who, why)) return false;
    if (program->has_caps && !set_caps(program->caps, keeps, why)) return false;
    if (program->no_new_privs && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
        return fail_call(why, KIND_START, "prctl PR_SET_NO_NEW_PRIVS", "");
    return true;
}

/* The kernel forgets the death signal when the user changes, so it is set after that. */
static bool die_with(pid_t parent, fault *why) {
    if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0)
        return fail_call(why, KIND_START, "prctl PR_SET_PDEATHSIG", "");
    if (parent != 0 && getppid() != parent) return fail(why, KIND_START, "the supervisor has died");
    return true;
}

static const char *path_of(char *const *environment) {
    for (; *environment != NULL; environment++)
        if (strncmp(*environment, "PATH=", 5) == 0) return *environment + 5;
    return DEFAULT_PATH;
}

/* Tells apart what execve reports with one number. */
static void explain_exec(const program_spec *program, const char *file, fault *why) {
    struct stat found;
    int code = errno;
    const char *name = program->command;
    bool there = stat(file, &found) == 0;
    if (code == ENOENT && there)
        (void)fail(why, KIND_UNSTARTABLE,
                   "command \"%.200s\" needs an interpreter or loader that is not there", name);
    else if (code == ENOENT || code == ENOTDIR)
        (void)fail(why, KIND_UNSTARTABLE, "command \"%.200s\" was not found", name);
    else if (code == EACCES && there && S_ISDIR(found.st_mode))
        (void)fail(why, KIND_UNSTARTABLE, "command \"%.200s\" is not a file", name);
    else if (code == EACCES)
        (void)fail(why, KIND_UNSTARTABLE, "command \"%.200s\" is not executable (%.200s)", name,
                   file);
    else if (code == ENOEXEC)
        (void)fail(why, KIND_UNSTARTABLE, "command \"%.200s\" is not a program (%.200s)", name,
                   file);
    else if (code == E2BIG)
        (void)fail(why, KIND_CONFIG,
                   "args and env of command \"%.200s\" are too long for the kernel", name);
    else (void)fail(why, KIND_START, "execve %.300s: %s", file, strerror(code));
}

static void execute_in_path(const program_spec *program, fault *why) {
    const char *path = path_of(program->environment);
    const char *part = path;
    char file[PATH_LENGTH_MAX + 300];
    bool refused = false;
    for (bool more = true; more;) {
        size_t length = strcspn(part, ":");
        int made = snprintf(file, sizeof file, "%.*s%s%s", (int)length, part,
                            length == 0 ? "./" : "/", program->command);
        more = part[length] == ':';
        part += length + 1;
        if (made < 0 || (size_t)made >= sizeof file) continue;
        (void)execve(file, program->argv, program->environment);
        struct stat found;
        if ((errno == ENOENT || errno == ENOTDIR) && stat(file, &found) < 0) continue;
        if (errno == EACCES) {
            explain_exec(program, file, why);
            refused = true;
            continue;
        }
        explain_exec(program, file, why);
        return;
    }
    if (!refused)
        (void)fail(why, KIND_UNSTARTABLE, "command \"%.200s\" was not found in PATH %.300s",
                   program->command, path);
}

static void execute(const program_spec *program, fault *why) {
    if (strchr(program->command, '/') == NULL) {
        execute_in_path(program, why);
        return;
    }
    (void)execve(program->command, program->argv, program->environment);
    explain_exec(program, program->command, why);
}

bool keep_channel(int fd, fault *why) {
    if (fd != CHANNEL && dup3(fd, CHANNEL, O_CLOEXEC) < 0)
        return fail_call(why, KIND_START, "dup3", "");
    if (call_close_range(CHANNEL + 1, ~0u) < 0)
        return fail_call(why, KIND_START, "close_range", "");
    return true;
}

void become_program(const program_spec *program, const identity *who, pid_t parent, fault *why) {
    (void)umask(program->umask);
    if (!set_limits(program, why) || !drop_rights(program, who, why)) return;
    if (!die_with(parent, why)) return;
    if (chdir(program->cwd) < 0) {
        (void)fail_call(why, errno == ENOMEM || errno == EIO ? KIND_START : KIND_UNSTARTABLE,
                        "working directory", program->cwd);
        return;
    }
    default_signals();
    if (program->seccomp && !install_seccomp(why)) return;
    execute(program, why);
}
