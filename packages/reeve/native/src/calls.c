#include "calls.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The same on every architecture that has them (they were added after the tables were unified). */
#ifndef SYS_close_range
#define SYS_close_range 436
#endif
#ifndef SYS_openat2
#define SYS_openat2 437
#endif
#ifndef SYS_mount_setattr
#define SYS_mount_setattr 442
#endif
#ifndef SYS_pidfd_send_signal
#define SYS_pidfd_send_signal 424
#endif
#ifndef SYS_pidfd_open
#define SYS_pidfd_open 434
#endif

int call_openat2(int dir, const char *path, int flags, unsigned mode, int inside) {
    struct open_how how = {0};
    how.flags = (unsigned)flags | O_CLOEXEC;
    how.mode = mode;
    how.resolve = RESOLVE_NO_MAGICLINKS;
    how.resolve |= inside == RESOLVE_INSIDE_BENEATH ? RESOLVE_BENEATH : RESOLVE_IN_ROOT;
    /* EAGAIN: something was renamed meanwhile and the walk could not be proven safe. */
    for (int tries = 0;; tries++) {
        int fd = (int)syscall(SYS_openat2, dir, path, &how, sizeof how);
        if (fd >= 0 || (errno != EAGAIN && errno != EINTR) || tries >= 32) return fd;
    }
}

int call_close_range(unsigned first, unsigned last) {
    int result = (int)syscall(SYS_close_range, first, last, 0);
    if (result == 0 || errno != ENOSYS) return result;
    long open_max = sysconf(_SC_OPEN_MAX);
    unsigned limit = open_max > 0 && open_max < 65536 ? (unsigned)open_max : 65536;
    for (unsigned fd = first; fd <= last && fd < limit; fd++) (void)close((int)fd);
    return 0;
}

int call_pidfd_open(pid_t pid) { return (int)syscall(SYS_pidfd_open, pid, 0); }

int call_pidfd_send_signal(int pidfd, int signal) {
    return (int)syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0);
}

int call_prlimit(int resource, const struct rlimit *set, struct rlimit *get) {
    return (int)syscall(SYS_prlimit64, 0, resource, set, get);
}

int call_pivot_root(const char *new_root, const char *put_old) {
    return (int)syscall(SYS_pivot_root, new_root, put_old);
}

static const int at_recursive = 0x8000;

int call_mount_setattr(int fd, unsigned attributes, unsigned long propagation) {
    /* struct mount_attr: set, clear, propagation, user namespace. Not all headers declare it. */
    uint64_t attr[4] = {attributes, 0, propagation, 0};
    return (int)syscall(SYS_mount_setattr, fd, "", AT_EMPTY_PATH | at_recursive, attr, sizeof attr);
}

int call_open_tree(const char *path) {
    const int clone = 1; /* OPEN_TREE_CLONE */
    return (int)syscall(SYS_open_tree, AT_FDCWD, path, clone | O_CLOEXEC | at_recursive);
}

int call_move_mount(int tree, int target) {
    const unsigned empty_from = 0x4; /* MOVE_MOUNT_F_EMPTY_PATH */
    const unsigned empty_to = 0x40;  /* MOVE_MOUNT_T_EMPTY_PATH */
    return (int)syscall(SYS_move_mount, tree, "", target, "", empty_from | empty_to);
}

bool write_all(int fd, const char *bytes, size_t length) {
    while (length > 0) {
        ssize_t written = write(fd, bytes, length);
        if (written >= 0) {
            bytes += written;
            length -= (size_t)written;
            continue;
        }
        if (errno == EINTR) continue;
        if (errno != EAGAIN) return false;
        struct pollfd ready = {.fd = fd, .events = POLLOUT};
        if (poll(&ready, 1, -1) < 0 && errno != EINTR) return false;
    }
    return true;
}

bool write_file_at(int dir, const char *name, const char *value) {
    int fd = openat(dir, name, O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return false;
    /* One write: kernel files take a value whole or not at all. */
    ssize_t written = write(fd, value, strlen(value));
    int saved = errno;
    (void)close(fd);
    errno = saved;
    return written >= 0;
}

bool write_file(const char *path, const char *value) {
    return write_file_at(AT_FDCWD, path, value);
}

ssize_t read_file_at(int dir, const char *name, char *buffer, size_t size) {
    int fd = openat(dir, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) return -1;
    size_t length = 0;
    ssize_t got = 0;
    while (length < size - 1) {
        got = read(fd, buffer + length, size - 1 - length);
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) break;
        length += (size_t)got;
    }
    int saved = errno;
    (void)close(fd);
    errno = saved;
    buffer[length] = '\0';
    return got < 0 ? -1 : (ssize_t)length;
}

ssize_t read_file(const char *path, char *buffer, size_t size) {
    return read_file_at(AT_FDCWD, path, buffer, size);
}

bool replace_file(const char *path, const char *content, size_t length, fault *why) {
    char draft[4200];
    int made = snprintf(draft, sizeof draft, "%s.tmp", path);
    if (made < 0 || (size_t)made >= sizeof draft)
        return fail(why, KIND_CONFIG, "path too long: %s", path);
    int fd = open(draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0) return fail_call(why, KIND_START, "open", draft);
    bool written = write_all(fd, content, length);
    if (!written) (void)fail_call(why, KIND_START, "write", draft);
    (void)close(fd);
    if (written && rename(draft, path) == 0) return true;
    if (written) (void)fail_call(why, KIND_START, "rename to", path);
    (void)unlink(draft);
    return false;
}

static int64_t clock_ms(clockid_t clock) {
    struct timespec now = {0};
    (void)clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t now_ms(void) { return clock_ms(CLOCK_REALTIME); }

int64_t monotonic_ms(void) { return clock_ms(CLOCK_MONOTONIC); }

void sleep_ms(int ms) {
    struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = (long)(ms % 1000) * 1000000};
    (void)nanosleep(&rest, NULL);
}

void block_signals(void) {
    sigset_t all;
    (void)sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
}

void default_signals(void) {
    for (int number = 1; number < NSIG; number++) (void)signal(number, SIG_DFL);
    sigset_t none;
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}
