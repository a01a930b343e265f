/* The parts of a task's spec about the world around it: root, cgroups, logs. */
#include "fields.h"

#include <string.h>

#define MODE_MAX 07777
#define SIZE_MAX_BYTES (INT64_C(1) << 40)

/* Declared in spec.c, where the table of members is. */
bool read_isolate_field(const context *in, const json *value, void *out);
bool read_cgroups_field(const context *in, const json *value, void *out);
bool read_logs_field(const context *in, const json *value, void *out);

typedef struct {
    const char *kind;
    const char *path;
    const char *target;
    root_entry entry;
    int64_t shm_bytes;
} raw_entry;

/* Which members each kind has, by a letter of `members` below: upper case is required. */
static const struct {
    const char *name;
    entry_kind kind;
    const char *members;
} entry_kinds[] = {
    {"bind", ENTRY_BIND, "FTroxdg"}, {"mirror", ENTRY_MIRROR, "P"}, {"tmpfs", ENTRY_TMPFS, "Tsmxr"},
    {"file", ENTRY_FILE, "TCm"},    {"dir", ENTRY_DIR, "Tm"},      {"link", ENTRY_LINK, "TL"},
    {"proc", ENTRY_PROC, ""},       {"dev", ENTRY_DEV, "h"},       {"sys", ENTRY_SYS, ""},
};

static const struct {
    char letter;
    const char *name;
} members[] = {
    {'F', "from"},   {'T', "to"},        {'P', "path"}, {'C', "content"},
    {'L', "target"}, {'s', "sizeBytes"}, {'m', "mode"}, {'r', "readOnly"},
    {'x', "noExec"}, {'o', "optional"},  {'d', "dev"},  {'h', "shmBytes"},
    {'g', "propagation"},
};

static bool check_members(const context *in, const json *value, const char *allowed) {
    for (size_t i = 0; i < sizeof members / sizeof members[0]; i++) {
        /* A member that is null is not read, and so it is not there. */
        const json *member = json_member(value, members[i].name);
        bool given = member != NULL && member->type != JSON_NULL;
        char letter = members[i].letter;
        context below = deeper(in, members[i].name);
        if (given && strchr(allowed, letter) == NULL)
            return refuse_field(&below, "does not belong to this kind of entry");
        bool required = letter >= 'A' && letter <= 'Z' && strchr(allowed, letter) != NULL;
        if (!given && required) return refuse_field(&below, "is required");
    }
    return true;
}

static bool check_entry(const context *in, const root_entry *entry) {
    if (entry->mode < 0 || entry->mode > MODE_MAX) return refuse_field(in, "has a bad mode");
    if (entry->size_bytes < 0 || entry->size_bytes > SIZE_MAX_BYTES)
        return refuse_field(in, "has a bad size");
    if (entry->kind == ENTRY_FILE && strlen(entry->content) > FILE_CONTENT_MAX)
        return refuse_field(in, "has too much content");
    const char *propagation = entry->propagation;
    if (propagation != NULL && strcmp(propagation, "slave") != 0 &&
        strcmp(propagation, "shared") != 0)
        return refuse_field(in, "has a bad propagation");
    bool names_place = entry->to != NULL && strspn(entry->to, "/.") == strlen(entry->to);
    return !names_place || refuse_field(in, "cannot be the root itself");
}

static bool read_entry(const context *in, const json *value, root_entry *out) {
    static const field fields[] = {
        {"kind", read_text_field, offsetof(raw_entry, kind), true},
        {"from", read_path_field, offsetof(raw_entry, entry.from), false},
        {"to", read_path_field, offsetof(raw_entry, entry.to), false},
        {"path", read_path_field, offsetof(raw_entry, path), false},
        {"content", read_text_field, offsetof(raw_entry, entry.content), false},
        {"target", read_text_field, offsetof(raw_entry, target), false},
        {"sizeBytes", read_number_field, offsetof(raw_entry, entry.size_bytes), false},
        {"shmBytes", read_number_field, offsetof(raw_entry, shm_bytes), false},
        {"mode", read_number_field, offsetof(raw_entry, entry.mode), false},
        {"readOnly", read_bool_field, offsetof(raw_entry, entry.read_only), false},
        {"noExec", read_bool_field, offsetof(raw_entry, entry.no_exec), false},
        {"optional", read_bool_field, offsetof(raw_entry, entry.optional), false},
        {"dev", read_bool_field, offsetof(raw_entry, entry.dev), false},
        {"propagation", read_text_field, offsetof(raw_entry, entry.propagation), false},
        {NULL, NULL, 0, false},
    };
    raw_entry raw = {.entry = {.mode = 0755, .size_bytes = 1 << 20, .tree = -1},
                     .shm_bytes = 64 << 20};
    if (!read_fields(in, value, fields, &raw)) return false;
    for (size_t i = 0; i < sizeof entry_kinds / sizeof entry_kinds[0]; i++) {
        if (strcmp(entry_kinds[i].name, raw.kind) != 0) continue;
        if (!check_members(in, value, entry_kinds[i].members)) return false;
        raw.entry.kind = entry_kinds[i].kind;
        if (raw.entry.kind == ENTRY_MIRROR) raw.entry.from = raw.entry.to = raw.path;
        if (raw.entry.kind == ENTRY_LINK) raw.entry.content = raw.target;
        if (raw.entry.kind == ENTRY_DEV) raw.entry.size_bytes = raw.shm_bytes;
        if (raw.entry.kind == ENTRY_FILE && json_member(value, "mode") == NULL)
            raw.entry.mode = 0644;
        *out = raw.entry;
        return check_entry(in, out);
    }
    context below = deeper(in, "kind");
    return refuse_field(&below, "is not known");
}

static bool read_entries(const context *in, const json *value, void *out) {
    isolate_spec *isolate = out;
    if (value->type != JSON_LIST) return refuse_field(in, "must be a list");
    if (value->count > LIST_MAX) return refuse_field(in, "is too long a list");
    isolate->entries = arena_take(in->memory, (value->count + 1) * sizeof(root_entry));
    if (isolate->entries == NULL) return refuse_field(in, "needs more memory than there is");
    for (const json *item = value->first; item != NULL; item = item->next) {
        context below = element(in, isolate->entry_count);
        if (!read_entry(&below, item, &isolate->entries[isolate->entry_count++])) return false;
    }
    return true;
}

bool read_isolate_field(const context *in, const json *value, void *out) {
    static const field fields[] = {
        {"root", read_path_field, offsetof(isolate_spec, root), true},
        {"hostname", read_text_field, offsetof(isolate_spec, hostname), false},
        {"pidNamespace", read_bool_field, offsetof(isolate_spec, pid_namespace), false},
        {"ipcNamespace", read_bool_field, offsetof(isolate_spec, ipc_namespace), false},
        {"entries", read_entries, 0, true},
        {NULL, NULL, 0, false},
    };
    isolate_spec *isolate = out;
    isolate->pid_namespace = true;
    isolate->ipc_namespace = true;
    if (!read_fields(in, value, fields, out)) return false;
    if (isolate->hostname == NULL || strlen(isolate->hostname) <= 64) return true;
    context below = deeper(in, "hostname");
    return refuse_field(&below, "is longer than 64 bytes");
}

static bool read_write(const context *in, const json *value, cgroup_write *out) {
    text_list parts;
    if (!read_texts_field(in, value, &parts)) return false;
    bool optional = parts.count == 3 && strcmp(parts.items[2], "try") == 0;
    if (parts.count != 2 && !optional)
        return refuse_field(in, "must be [file, value] or [file, value, \"try\"]");
    if (parts.items[0][0] == '\0' || strchr(parts.items[0], '/') != NULL ||
        parts.items[0][0] == '.')
        return refuse_field(in, "must name a file of the cgroup");
    *out = (cgroup_write){.file = parts.items[0], .value = parts.items[1], .optional = optional};
    return true;
}

static bool read_writes(const context *in, const json *value, void *out) {
    cgroup_spec *group = out;
    if (value->type != JSON_LIST || value->count > LIST_MAX)
        return refuse_field(in, "must be a list");
    group->writes = arena_take(in->memory, (value->count + 1) * sizeof(cgroup_write));
    if (group->writes == NULL) return refuse_field(in, "needs more memory than there is");
    for (const json *item = value->first; item != NULL; item = item->next) {
        context below = element(in, group->write_count);
        if (!read_write(&below, item, &group->writes[group->write_count++])) return false;
    }
    return true;
}

#define CGROUPS_MAX 32

bool read_cgroups_field(const context *in, const json *value, void *out) {
    static const field fields[] = {
        {"path", read_path_field, offsetof(cgroup_spec, path), true},
        {"write", read_writes, 0, false},
        {NULL, NULL, 0, false},
    };
    task_spec *task = out;
    if (value->type != JSON_LIST || value->count > CGROUPS_MAX)
        return refuse_field(in, "must be a list of at most 32");
    task->cgroups = arena_take(in->memory, (value->count + 1) * sizeof(cgroup_spec));
    if (task->cgroups == NULL) return refuse_field(in, "needs more memory than there is");
    for (const json *item = value->first; item != NULL; item = item->next) {
        context below = element(in, task->cgroup_count);
        if (!read_fields(&below, item, fields, &task->cgroups[task->cgroup_count++])) return false;
    }
    return true;
}

bool read_logs_field(const context *in, const json *value, void *out) {
    static const field fields[] = {
        {"stdout", read_path_field, offsetof(task_spec, stdout_prefix), true},
        {"stderr", read_path_field, offsetof(task_spec, stderr_prefix), true},
        {"maxBytes", read_number_field, offsetof(task_spec, log_bytes_max), true},
        {"maxFiles", read_number_field, offsetof(task_spec, log_files_max), true},
        {NULL, NULL, 0, false},
    };
    task_spec *task = out;
    task->has_logs = true;
    if (!read_fields(in, value, fields, out)) return false;
    if (strcmp(task->stdout_prefix, task->stderr_prefix) == 0)
        return refuse_field(in, "must have different prefixes for stdout and stderr");
    if (task->log_bytes_max < 1 || task->log_bytes_max > SIZE_MAX_BYTES)
        return refuse_field(in, "must have maxBytes from 1 to 2^40");
    if (task->log_files_max < 1 || task->log_files_max > 10000)
        return refuse_field(in, "must have maxFiles from 1 to 10000");
    return true;
}
