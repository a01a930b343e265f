#include "spec.h"

#include "caps.h"
#include "fields.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

bool read_isolate_field(const context *in, const json *value, void *out);
bool read_cgroups_field(const context *in, const json *value, void *out);
bool read_logs_field(const context *in, const json *value, void *out);

static bool read_version(const context *in, const json *value, void *out) {
    (void)out;
    if (value->type == JSON_NUMBER && value->number == 1) return true;
    return refuse_field(in, "must be 1");
}

/* The first place is kept for the name of the program, which is the command. */
static bool read_args(const context *in, const json *value, void *out) {
    text_list args;
    program_spec *program = out;
    if (!read_texts_field(in, value, &args)) return false;
    program->argv = arena_take(in->memory, (args.count + 2) * sizeof(char *));
    if (program->argv == NULL) return refuse_field(in, "needs more memory than there is");
    /* execve takes writable texts by its type only; nobody writes to them. */
    for (size_t i = 0; i < args.count; i++) program->argv[i + 1] = (char *)(uintptr_t)args.items[i];
    return true;
}

static bool read_environment(const context *in, const json *value, void *out) {
    char ***environment = out;
    if (value->type != JSON_OBJECT) return refuse_field(in, "must be an object");
    char **entries = arena_take(in->memory, (value->count + 1) * sizeof(char *));
    if (entries == NULL) return refuse_field(in, "needs more memory than there is");
    size_t count = 0;
    for (const json *member = value->first; member != NULL; member = member->next) {
        context below = deeper(in, member->key);
        if (member->type != JSON_TEXT) return refuse_field(&below, "must be a text");
        if (member->key[0] == '\0' || strchr(member->key, '=') != NULL)
            return refuse_field(&below, "is no name of a variable");
        size_t size = strlen(member->key) + strlen(member->text) + 2;
        entries[count] = arena_take(in->memory, size);
        if (entries[count] == NULL) return refuse_field(in, "needs more memory than there is");
        (void)snprintf(entries[count++], size, "%s=%s", member->key, member->text);
    }
    *environment = entries;
    return true;
}

static bool read_groups(const context *in, const json *value, void *out) {
    program_spec *program = out;
    if (value->type != JSON_LIST) return refuse_field(in, "must be a list of numbers");
    if (value->count > GROUPS_MAX) return refuse_field(in, "is too long a list");
    program->groups = arena_take(in->memory, (value->count + 1) * sizeof(gid_t));
    if (program->groups == NULL) return refuse_field(in, "needs more memory than there is");
    for (const json *item = value->first; item != NULL; item = item->next) {
        if (item->type != JSON_NUMBER || item->number < 0 || item->number >= UINT32_MAX)
            return refuse_field(in, "must be a list of group numbers");
        program->groups[program->group_count++] = (gid_t)item->number;
    }
    program->has_groups = true;
    return true;
}

static bool read_caps(const context *in, const json *value, void *out) {
    program_spec *program = out;
    text_list caps;
    if (!read_texts_field(in, value, &caps)) return false;
    for (size_t i = 0; i < caps.count; i++) {
        int number = cap_number(caps.items[i]);
        if (number < 0)
            return fail(in->why, KIND_CONFIG, "%s: there is no capability \"%.100s\"", in->where,
                        caps.items[i]);
        program->caps |= UINT64_C(1) << number;
    }
    program->has_caps = true;
    return true;
}

static const struct {
    const char *name;
    int resource;
} limit_names[] = {
    {"core", RLIMIT_CORE},         {"cpu", RLIMIT_CPU},
    {"data", RLIMIT_DATA},         {"fsize", RLIMIT_FSIZE},
    {"memlock", RLIMIT_MEMLOCK},   {"nofile", RLIMIT_NOFILE},
    {"nproc", RLIMIT_NPROC},       {"rss", RLIMIT_RSS},
    {"stack", RLIMIT_STACK},       {"as", RLIMIT_AS},
    {"msgqueue", RLIMIT_MSGQUEUE}, {"nice", RLIMIT_NICE},
    {"rtprio", RLIMIT_RTPRIO},     {"sigpending", RLIMIT_SIGPENDING},
};

static bool read_limit(const context *in, const json *value, limit_spec *out) {
    const json *soft = value->type == JSON_LIST && value->count == 2 ? value->first : NULL;
    if (soft == NULL || soft->type != JSON_NUMBER || soft->next->type != JSON_NUMBER)
        return refuse_field(in, "must be [soft, hard]");
    out->soft = soft->number;
    out->hard = soft->next->number;
    bool ordered = out->hard == -1 || (out->soft != -1 && out->soft <= out->hard);
    if (out->soft < -1 || out->hard < -1 || !ordered)
        return refuse_field(in, "must be [soft, hard], soft at most hard, -1 for none");
    return true;
}

static bool read_limits(const context *in, const json *value, void *out) {
    program_spec *program = out;
    if (value->type != JSON_OBJECT) return refuse_field(in, "must be an object");
    for (const json *member = value->first; member != NULL; member = member->next) {
        context below = deeper(in, member->key);
        limit_spec *limit = NULL;
        for (size_t i = 0; i < sizeof limit_names / sizeof limit_names[0]; i++) {
            if (strcmp(limit_names[i].name, member->key) != 0) continue;
            limit = &program->limits[program->limit_count++];
            limit->resource = limit_names[i].resource;
        }
        if (limit == NULL) return refuse_field(&below, "is not known");
        if (!read_limit(&below, member, limit)) return false;
    }
    return true;
}

static bool read_umask(const context *in, const json *value, void *out) {
    if (value->type != JSON_NUMBER || value->number < 0 || value->number > 0777)
        return refuse_field(in, "must be a number from 0 to 511");
    *(mode_t *)out = (mode_t)value->number;
    return true;
}

static bool read_oom_score(const context *in, const json *value, void *out) {
    task_spec *task = out;
    if (value->type != JSON_NUMBER || value->number < -1000 || value->number > 1000)
        return refuse_field(in, "must be a number from -1000 to 1000");
    task->oom_score_adj = value->number;
    task->has_oom_score_adj = true;
    return true;
}

static bool read_isolate(const context *in, const json *value, void *out) {
    task_spec *task = out;
    task->isolated = true;
    return read_isolate_field(in, value, &task->isolate);
}

/* The members of `program` that a task and a session share. */
#define PROGRAM_FIELDS(type)                                                                       \
    {"v", read_version, 0, true},                                                                  \
        {"command", read_text_field, offsetof(type, program.command), true},                       \
        {"args", read_args, offsetof(type, program), false},                                       \
        {"env", read_environment, offsetof(type, program.environment), false},                     \
        {"cwd", read_path_field, offsetof(type, program.cwd), false},                              \
        {"user", read_text_field, offsetof(type, program.user), false},                            \
        {"groups", read_groups, offsetof(type, program), false},                                   \
        {"denyUsers", read_texts_field, offsetof(type, program.deny_users), false},                \
        {"caps", read_caps, offsetof(type, program), false},                                       \
        {"noNewPrivs", read_bool_field, offsetof(type, program.no_new_privs), false},              \
        {"seccomp", read_bool_field, offsetof(type, program.seccomp), false},                      \
        {"rlimits", read_limits, offsetof(type, program), false}, {                                \
        "umask", read_umask, offsetof(type, program.umask), false                                  \
    }

static const field task_fields[] = {
    PROGRAM_FIELDS(task_spec),
    {"id", read_id_field, offsetof(task_spec, id), true},
    {"name", read_text_field, offsetof(task_spec, name), false},
    {"exitFile", read_path_field, offsetof(task_spec, exit_file), true},
    {"handleFile", read_path_field, offsetof(task_spec, handle_file), true},
    {"isolate", read_isolate, 0, false},
    {"netns", read_path_field, offsetof(task_spec, netns), false},
    {"cgroups", read_cgroups_field, 0, false},
    {"killCgroup", read_path_field, offsetof(task_spec, kill_cgroup), false},
    {"oomFile", read_path_field, offsetof(task_spec, oom_file), false},
    {"shimCgroups", read_paths_field, offsetof(task_spec, shim_cgroups), false},
    {"oomScoreAdj", read_oom_score, 0, false},
    {"logs", read_logs_field, 0, false},
    {NULL, NULL, 0, false},
};

static bool read_pid(const context *in, const json *value, void *out) {
    if (value->type != JSON_NUMBER || value->number <= 0 || value->number > INT32_MAX)
        return refuse_field(in, "must be the number of a process");
    *(pid_t *)out = (pid_t)value->number;
    return true;
}

static bool read_tty(const context *in, const json *value, void *out) {
    static const field fields[] = {
        {"rows", read_number_field, offsetof(session_spec, rows), true},
        {"columns", read_number_field, offsetof(session_spec, columns), true},
        {NULL, NULL, 0, false},
    };
    session_spec *session = out;
    session->tty = true;
    if (!read_fields(in, value, fields, out)) return false;
    bool fits = session->rows >= 0 && session->rows <= 65535 && session->columns >= 0 &&
                session->columns <= 65535;
    return fits || refuse_field(in, "must have rows and columns from 0 to 65535");
}

static const field session_fields[] = {
    PROGRAM_FIELDS(session_spec),
    {"pid", read_pid, offsetof(session_spec, target.pid), true},
    {"startTime", read_number_field, offsetof(session_spec, target.start_time), true},
    {"isolated", read_bool_field, offsetof(session_spec, isolated), false},
    {"cgroups", read_paths_field, offsetof(session_spec, cgroups), false},
    {"tty", read_tty, 0, false},
    {NULL, NULL, 0, false},
};

static bool truth_of(const json *from, const char *key) {
    const json *member = json_member(from, key);
    return member != NULL && member->type == JSON_BOOL && member->truth;
}

/* Everything that isolation switches on unless the spec says otherwise. */
static void begin_program(program_spec *program, bool isolated) {
    program->cwd = "/";
    program->umask = 022;
    program->no_new_privs = isolated;
    program->seccomp = isolated;
    program->has_caps = isolated;
}

static bool finish_program(const context *in, program_spec *program) {
    static char *nothing[] = {NULL};
    if (program->command[0] == '\0') return fail(in->why, KIND_CONFIG, "command is empty");
    if (program->seccomp && !program->no_new_privs)
        return fail(in->why, KIND_CONFIG, "seccomp needs noNewPrivs");
    if (program->environment == NULL) program->environment = nothing;
    if (program->argv == NULL) program->argv = arena_take(in->memory, 2 * sizeof(char *));
    if (program->argv == NULL) return fail(in->why, KIND_START, "out of memory");
    program->argv[0] = (char *)(uintptr_t)program->command;
    if (program->user != NULL && program->user[0] == '\0') program->user = NULL;
    return true;
}

bool read_task_spec(arena *memory, const json *from, task_spec *out, fault *why) {
    context in = {.memory = memory, .why = why, .where = ""};
    const json *isolate = json_member(from, "isolate");
    *out = (task_spec){0};
    begin_program(&out->program, isolate != NULL && isolate->type != JSON_NULL);
    if (!read_fields(&in, from, task_fields, out)) return false;
    if (out->name == NULL) out->name = out->id;
    return finish_program(&in, &out->program);
}

bool read_session_spec(arena *memory, const json *from, session_spec *out, fault *why) {
    context in = {.memory = memory, .why = why, .where = ""};
    *out = (session_spec){0};
    begin_program(&out->program, truth_of(from, "isolated"));
    if (!read_fields(&in, from, session_fields, out)) return false;
    return finish_program(&in, &out->program);
}
