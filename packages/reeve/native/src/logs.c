#include "logs.h"

#include "calls.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define PIPE_BYTES (256 * 1024)
#define CHUNK 65536
/* Calls for one turn: a flood must not keep the shim from hearing that the task has ended. */
#define TURNS_MAX 32
#define NUMBER_MAX INT64_C(1000000000000)

static void file_name(const log_stream *log, int64_t number, char out[300]) {
    (void)snprintf(out, 300, "%s.%" PRId64, log->name, number);
}

/* The n of `<name>.<n>`, or -1. */
static int64_t number_of(const log_stream *log, const char *file) {
    size_t length = strlen(log->name);
    if (strncmp(file, log->name, length) != 0 || file[length] != '.') return -1;
    const char *digits = file + length + 1;
    size_t count = strlen(digits);
    if (count == 0 || count > 12 || strspn(digits, "0123456789") != count) return -1;
    if (digits[0] == '0' && count > 1) return -1;
    return strtoll(digits, NULL, 10);
}

static void remove_number(const log_stream *log, int64_t number) {
    char name[300];
    if (number < 0) return;
    file_name(log, number, name);
    (void)unlinkat(log->dir, name, 0);
}

typedef void each_number(log_stream *log, int64_t number);

static void keep_newest(log_stream *log, int64_t number) {
    if (number > log->number) log->number = number;
}

static void remove_old(log_stream *log, int64_t number) {
    if (number <= log->number - log->files_max) remove_number(log, number);
}

static bool for_each_number(log_stream *log, each_number *visit, fault *why) {
    int copy = openat(log->dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *entries = copy < 0 ? NULL : fdopendir(copy);
    if (entries == NULL) {
        (void)fail_call(why, KIND_START, "open log directory of", log->name);
        if (copy >= 0) (void)close(copy);
        return false;
    }
    for (struct dirent *entry; (entry = readdir(entries)) != NULL;) {
        int64_t number = number_of(log, entry->d_name);
        if (number >= 0) visit(log, number);
    }
    (void)closedir(entries);
    return true;
}

/* Without O_APPEND, which splice refuses: positioned at the end, where nobody else writes. */
static bool open_number(log_stream *log) {
    char name[300];
    struct stat found;
    file_name(log, log->number, name);
    log->file = openat(log->dir, name,
                       O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, 0640);
    if (log->file < 0) return false;
    off_t end = lseek(log->file, 0, SEEK_END);
    if (fstat(log->file, &found) == 0 && S_ISREG(found.st_mode) && end >= 0) {
        log->size = end;
        return true;
    }
    (void)close(log->file);
    log->file = -1;
    errno = EINVAL;
    return false;
}

/* A file that could not be opened is tried again under the same number. */
static void rotate(log_stream *log) {
    if (log->file >= 0) {
        (void)close(log->file);
        log->file = -1;
        log->size = 0;
        if (log->number < NUMBER_MAX) log->number++;
    }
    if (!open_number(log)) return;
    /* Somebody put a file there: the limit holds all the same. */
    if (log->size > 0 && ftruncate(log->file, 0) == 0 && lseek(log->file, 0, SEEK_SET) == 0)
        log->size = 0;
    remove_number(log, log->number - log->files_max);
}

static bool open_place(log_stream *log, const char *prefix, fault *why) {
    const char *base = strrchr(prefix, '/') + 1;
    char dir[4100];
    (void)snprintf(dir, sizeof dir, "%.*s", (int)(base - prefix), prefix);
    if (base[0] == '\0' || strlen(base) >= sizeof log->name)
        return fail(why, KIND_CONFIG, "%s is no prefix of log files", prefix);
    (void)snprintf(log->name, sizeof log->name, "%s", base);
    log->dir = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (log->dir < 0) return fail_call(why, KIND_START, "open log directory", dir);
    log->sink = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (log->sink < 0) return fail_call(why, KIND_START, "open", "/dev/null");
    return true;
}

bool open_log(log_stream *log, const char *prefix, int64_t size_max, int64_t files_max, int *writer,
              fault *why) {
    int ends[2];
    *log = (log_stream){.pipe = -1, .dir = -1, .file = -1, .sink = -1};
    log->size_max = size_max;
    log->files_max = files_max;
    if (!open_place(log, prefix, why) || !for_each_number(log, keep_newest, why)) return false;
    if (!open_number(log)) return fail_call(why, KIND_START, "open log file", prefix);
    if (!for_each_number(log, remove_old, why)) return false;
    if (pipe2(ends, O_CLOEXEC) < 0) return fail_call(why, KIND_START, "pipe2", "");
    /* Larger is quicker, but not needed: users have a limit on it. */
    (void)fcntl(ends[1], F_SETPIPE_SZ, PIPE_BYTES);
    log->pipe = ends[0];
    *writer = ends[1];
    if (fcntl(log->pipe, F_SETFL, O_NONBLOCK) < 0)
        return fail_call(why, KIND_START, "fcntl F_SETFL", "");
    return true;
}

/* As splice, for file systems that do not have it. */
static ssize_t copy_some(log_stream *log, size_t size) {
    char buffer[CHUNK];
    ssize_t got = read(log->pipe, buffer, size < sizeof buffer ? size : sizeof buffer);
    if (got <= 0) return got;
    ssize_t done = 0;
    while (done < got) {
        ssize_t written = write(log->file, buffer + done, (size_t)(got - done));
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) break;
        done += written;
    }
    /* The rest was taken out of the pipe and cannot go back. */
    log->dropped += got - done;
    log->bytes -= got - done;
    log->size -= got - done;
    return got;
}

static ssize_t move_some(log_stream *log, size_t size) {
    if (log->cannot_splice) return copy_some(log, size);
    ssize_t moved =
        splice(log->pipe, NULL, log->file, NULL, size, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (moved >= 0 || errno != EINVAL) return moved;
    log->cannot_splice = true;
    return copy_some(log, size);
}

/* The disk is full or the file is lost: the task must not wait for that. */
static ssize_t drop_some(log_stream *log) {
    ssize_t moved =
        splice(log->pipe, NULL, log->sink, NULL, PIPE_BYTES, SPLICE_F_MOVE | SPLICE_F_NONBLOCK);
    if (moved > 0) log->dropped += moved;
    return moved;
}

/*
 * Whether bytes wait, without taking any: a file is begun only for bytes, so that none stays empty.
 * 1: they do; 0: the pipe has ended; -1: not yet.
 */
static int await_bytes(const log_stream *log) {
    struct pollfd waiting = {.fd = log->pipe, .events = POLLIN};
    int count = poll(&waiting, 1, 0);
    if (count > 0 && (waiting.revents & POLLIN) != 0) return 1;
    if (count > 0) return 0;
    errno = EAGAIN;
    return -1;
}

static ssize_t pump_once(log_stream *log) {
    bool full = log->size >= log->size_max || log->file < 0;
    int waiting = full ? await_bytes(log) : 1;
    if (waiting <= 0) return waiting;
    if (full) rotate(log);
    if (log->file < 0) return drop_some(log);
    int64_t room = log->size_max - log->size;
    if (room <= 0) return drop_some(log);
    ssize_t moved = move_some(log, room < PIPE_BYTES ? (size_t)room : PIPE_BYTES);
    if (moved > 0) {
        log->size += moved;
        log->bytes += moved;
    }
    if (moved >= 0 || errno == EAGAIN || errno == EINTR) return moved;
    return drop_some(log);
}

bool pump_log(log_stream *log) {
    for (int turn = 0; turn < TURNS_MAX && log->pipe >= 0; turn++) {
        ssize_t moved = pump_once(log);
        if (moved > 0) continue;
        if (moved < 0 && (errno == EAGAIN || errno == EINTR)) return true;
        (void)close(log->pipe);
        log->pipe = -1;
    }
    return log->pipe >= 0;
}
