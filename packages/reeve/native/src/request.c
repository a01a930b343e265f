#include "request.h"

#include "calls.h"
#include "cgroup.h"
#include "fields.h"
#include "probe.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define TIMEOUT_MS_DEFAULT 10000
#define TIMEOUT_MS_MAX 60000
#define ROUND_MS 10
/* What the shim may need on top of its own time for killing and draining. */
#define OWN_KILL_MS 6000

static bool read_pid(const context *in, const json *value, void *out) {
    if (value->type != JSON_NUMBER || value->number < 0 || value->number > INT32_MAX)
        return refuse_field(in, "must be the number of a process");
    *(pid_t *)out = (pid_t)value->number;
    return true;
}

static bool read_any(const context *in, const json *value, void *out) {
    (void)in;
    (void)value;
    (void)out;
    return true;
}

static bool read_relative(const context *in, const json *value, void *out) {
    if (!read_text_field(in, value, out)) return false;
    return is_path(value->text, false) || refuse_field(in, "must be a relative path without ..");
}

#define COMMON                                                                                     \
    {"v", read_any, 0, true}, {"id", read_any, 0, true}, { "op", read_any, 0, true }
#define LAST {NULL, NULL, 0, false}
#define PID(name, member, required) {name, read_pid, offsetof(request, member), required}
#define NUMBER(name, member, required)                                                             \
    {name, read_number_field, offsetof(request, member), required}

static const field run_fields[] = {
    COMMON, {"spec", read_path_field, offsetof(request, spec), true}, LAST};
static const field kill_fields[] = {COMMON, PID("pid", target.pid, true),
                                    NUMBER("startTime", target.start_time, true),
                                    NUMBER("signal", signal, true), LAST};
static const field alive_fields[] = {COMMON, PID("pid", target.pid, true),
                                     NUMBER("startTime", target.start_time, true), LAST};
static const field tree_fields[] = {
    COMMON,
    PID("pid", target.pid, true),
    NUMBER("startTime", target.start_time, true),
    PID("shimPid", shim.pid, true),
    NUMBER("shimStartTime", shim.start_time, true),
    PID("taskPid", task.pid, true),
    NUMBER("taskStartTime", task.start_time, true),
    {"killCgroup", read_path_field, offsetof(request, kill_cgroup), false},
    NUMBER("timeoutMs", timeout_ms, false),
    LAST};
static const field probe_fields[] = {COMMON, LAST};
#define PLACE                                                                                      \
    {"dir", read_path_field, offsetof(request, place.dir), true},                                  \
        {"path", read_relative, offsetof(request, place.path), true},                              \
        NUMBER("mode", place.mode, true), NUMBER("uid", place.uid, false),                         \
        NUMBER("gid", place.gid, false)
static const field write_fields[] = {
    COMMON, PLACE, {"from", read_path_field, offsetof(request, place.from), true}, LAST};
static const field mkdir_fields[] = {COMMON, PLACE, LAST};
static const field paths_fields[] = {
    COMMON, {"paths", read_paths_field, offsetof(request, paths), true}, LAST};

static const struct {
    const char *name;
    request_op op;
    const field *fields;
} ops[] = {
    {"run", OP_RUN, run_fields},
    {"kill", OP_KILL, kill_fields},
    {"killTree", OP_KILL_TREE, tree_fields},
    {"alive", OP_ALIVE, alive_fields},
    {"probe", OP_PROBE, probe_fields},
    {"write", OP_WRITE, write_fields},
    {"mkdir", OP_MKDIR, mkdir_fields},
    {"removeCgroups", OP_REMOVE, paths_fields},
    {"settle", OP_SETTLE, paths_fields},
};

static bool is_owner(int64_t id) { return id >= -1 && id < UINT32_MAX; }

static bool check_request(const request *what, fault *why) {
    if (what->op == OP_KILL && (what->signal < 1 || what->signal > 64))
        return fail(why, KIND_CONFIG, "signal must be a number from 1 to 64");
    if (what->timeout_ms < 0 || what->timeout_ms > TIMEOUT_MS_MAX)
        return fail(why, KIND_CONFIG, "timeoutMs must be at most %d", TIMEOUT_MS_MAX);
    if (what->place.mode < 0 || what->place.mode > 07777)
        return fail(why, KIND_CONFIG, "mode must be a number from 0 to 4095");
    if (!is_owner(what->place.uid) || !is_owner(what->place.gid))
        return fail(why, KIND_CONFIG, "uid and gid must be numbers of users");
    return true;
}

bool read_request(arena *memory, const char *text, size_t length, request *out, fault *why) {
    context in = {.memory = memory, .why = why, .where = ""};
    *out = (request){.id = -1, .timeout_ms = TIMEOUT_MS_DEFAULT, .place = {.uid = -1, .gid = -1}};
    const json *value = json_read(memory, text, length, why);
    if (value == NULL) return false;
    const json *id = json_member(value, "id");
    const json *version = json_member(value, "v");
    const json *op = json_member(value, "op");
    if (id != NULL && id->type == JSON_NUMBER && id->number >= 0) out->id = id->number;
    if (out->id < 0) return fail(why, KIND_CONFIG, "a request needs a number as id");
    if (version == NULL || version->type != JSON_NUMBER || version->number != 1)
        return fail(why, KIND_CONFIG, "v must be 1");
    for (size_t i = 0; op != NULL && op->type == JSON_TEXT && i < sizeof ops / sizeof ops[0]; i++) {
        if (strcmp(ops[i].name, op->text) != 0) continue;
        out->op = ops[i].op;
        return read_fields(&in, value, ops[i].fields, out) && check_request(out, why);
    }
    return fail(why, KIND_CONFIG, "op is not known");
}

/* To settle is for the launcher itself, and quick when something has just moved. */
bool is_quick(request_op op) { return op == OP_KILL || op == OP_ALIVE || op == OP_SETTLE; }

/* True when the process has ended within the time. */
static bool await_end(int pidfd, int64_t deadline) {
    for (;;) {
        int64_t left = deadline - monotonic_ms();
        if (left < 0) left = 0;
        struct pollfd ready = {.fd = pidfd, .events = POLLIN};
        int count = poll(&ready, 1, (int)left);
        if (count > 0) return true;
        if (count == 0 || errno != EINTR) return false;
    }
}

/* The shim does it best: it knows its descendants and leaves the exit file. */
static bool ask_shim(const request *what, int64_t deadline) {
    int shim = open_process(what->shim);
    if (shim < 0) return false;
    bool ended = call_pidfd_send_signal(shim, SIGTERM) == 0 && await_end(shim, deadline);
    if (!ended) (void)call_pidfd_send_signal(shim, SIGKILL);
    (void)close(shim);
    return ended;
}

static size_t kill_one(process which) {
    fault ignored;
    return signal_process(which, SIGKILL, &ignored) ? 1 : 0;
}

static bool kill_tree(const request *what, fault *why) {
    int64_t deadline = monotonic_ms() + what->timeout_ms;
    if (ask_shim(what, deadline)) return true;
    deadline = monotonic_ms() + OWN_KILL_MS;
    for (;;) {
        size_t met = kill_one(what->target) + kill_one(what->task);
        if (what->kill_cgroup != NULL) met += kill_cgroup(what->kill_cgroup);
        /* Not for one that never said so: session 0 is everybody's. */
        met += kill_session(what->task);
        if (met == 0) return true;
        if (monotonic_ms() >= deadline)
            return fail(why, KIND_UNKILLABLE, "%zu processes of task process %d survive SIGKILL",
                        met, (int)what->task.pid);
        sleep_ms(ROUND_MS);
    }
}

static bool remove_groups(const text_list *paths, fault *why) {
    bool done = true;
    for (size_t i = 0; i < paths->count; i++) done = remove_cgroup(paths->items[i], why) && done;
    return done;
}

static void settle(const text_list *paths) {
    for (size_t i = 0; i < paths->count; i++) settle_in_cgroup(paths->items[i]);
}

static bool is_alive(process which) {
    int fd = open_process(which);
    if (fd >= 0) (void)close(fd);
    return fd >= 0;
}

void do_request(const request *what, line *out) {
    fault why;
    bool done = true;
    if (what->op == OP_KILL) done = signal_process(what->target, (int)what->signal, &why);
    else if (what->op == OP_KILL_TREE) done = kill_tree(what, &why);
    else if (what->op == OP_WRITE) done = place_file(&what->place, &why);
    else if (what->op == OP_MKDIR) done = place_directory(&what->place, &why);
    else if (what->op == OP_REMOVE) done = remove_groups(&what->paths, &why);
    else if (what->op == OP_SETTLE) settle(&what->paths);
    if (!done) {
        line_fault(out, &why);
        return;
    }
    line_bool(out, "ok", true);
    if (what->op == OP_ALIVE) line_bool(out, "alive", is_alive(what->target));
    if (what->op == OP_PROBE) probe_machine(out);
}
