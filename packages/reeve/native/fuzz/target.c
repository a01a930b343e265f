/*
 * The readers of everything that the agent sends to the helper, which run as root, as one fuzz
 * target: JSON, requests, specs of tasks and of sessions. Beside memory errors, which the sanitizers
 * find, it checks what the rest of the helper relies on after a reader has said yes.
 */
#include "target.h"

#include "../src/arena.h"
#include "../src/fields.h"
#include "../src/json.h"
#include "../src/line.h"
#include "../src/request.h"
#include "../src/spec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) broken(#condition, __LINE__);                                            \
    } while (0)

static void broken(const char *condition, int at) {
    (void)fprintf(stderr, "target.c:%d: a reader accepted what breaks: %s\n", at, condition);
    abort();
}

/* Reads every byte, so that the sanitizers see one that is not there. */
static size_t touch(const char *text) {
    MUST(text != NULL);
    return strlen(text);
}

static size_t walk(const json *value, int depth) {
    MUST(depth <= JSON_DEPTH_MAX);
    size_t values = 1;
    size_t count = 0;
    if (value->type == JSON_TEXT) (void)touch(value->text);
    if (value->type == JSON_NUMBER)
        MUST(value->number >= -JSON_NUMBER_MAX && value->number <= JSON_NUMBER_MAX);
    for (const json *child = value->first; child != NULL; child = child->next, count++) {
        MUST(value->type == JSON_LIST || value->type == JSON_OBJECT);
        if (value->type == JSON_OBJECT) {
            (void)touch(child->key);
            MUST(json_member(value, child->key) == child);
        }
        values += walk(child, depth + 1);
    }
    MUST(count == value->count);
    MUST(value->type != JSON_OBJECT || count <= JSON_MEMBERS_MAX);
    return values;
}

/* What is said about a refusal must be JSON again, whatever the refused text was. */
static void check_refusal(const fault *why) {
    char bytes[LINE_MAX_BYTES];
    arena memory = {0};
    fault ignored;
    line out;
    MUST(memchr(why->message, '\0', sizeof why->message) != NULL && why->message[0] != '\0');
    line_open(&out, bytes, sizeof bytes);
    line_fault(&out, why);
    line_close(&out);
    const json *read = json_read(&memory, bytes, out.length, &ignored);
    MUST(read != NULL && json_member(read, "message") != NULL);
    arena_free(&memory);
}

static void check_texts(const text_list *list, bool paths) {
    for (size_t i = 0; i < list->count; i++) {
        (void)touch(list->items[i]);
        MUST(!paths || is_path(list->items[i], true));
    }
}

static void check_request(const request *what) {
    MUST(what->id >= 0);
    MUST(what->target.pid >= 0 && what->task.pid >= 0 && what->shim.pid >= 0);
    MUST(what->timeout_ms >= 0 && what->timeout_ms <= 60000);
    MUST(what->kill_cgroup == NULL || is_path(what->kill_cgroup, true));
    check_texts(&what->paths, true);
    if (what->op == OP_RUN) MUST(what->spec != NULL && is_path(what->spec, true));
    if (what->op == OP_KILL) MUST(what->signal >= 1 && what->signal <= 64);
    if (what->op != OP_WRITE && what->op != OP_MKDIR) return;
    MUST(what->place.dir != NULL && is_path(what->place.dir, true));
    MUST(what->place.path != NULL && is_path(what->place.path, false));
    MUST(what->place.mode >= 0 && what->place.mode <= 07777);
    MUST(what->op == OP_MKDIR || (what->place.from != NULL && is_path(what->place.from, true)));
}

static void check_program(const program_spec *program) {
    MUST(touch(program->command) > 0);
    MUST(program->argv[0] == program->command);
    for (char **text = program->argv; *text != NULL; text++) (void)touch(*text);
    for (char **text = program->environment; *text != NULL; text++) {
        const char *equals = strchr(*text, '=');
        MUST(equals != NULL && equals != *text);
    }
    MUST(is_path(program->cwd, true));
    MUST(program->user == NULL || touch(program->user) > 0);
    check_texts(&program->deny_users, false);
    MUST(program->group_count <= GROUPS_MAX && (program->has_groups || program->group_count == 0));
    for (size_t i = 0; i < program->group_count; i++) MUST(program->groups[i] < UINT32_MAX);
    MUST(!program->seccomp || program->no_new_privs);
    MUST(program->limit_count <= LIMITS_MAX);
    MUST(program->umask <= 0777);
}

static void check_entry(const root_entry *entry) {
    const bool has_place = entry->kind != ENTRY_PROC && entry->kind != ENTRY_DEV &&
                           entry->kind != ENTRY_SYS;
    const bool has_source = entry->kind == ENTRY_BIND || entry->kind == ENTRY_MIRROR;
    const bool has_content = entry->kind == ENTRY_FILE || entry->kind == ENTRY_LINK;
    MUST(!has_place || (entry->to != NULL && is_path(entry->to, true)));
    MUST(!has_source || (entry->from != NULL && is_path(entry->from, true)));
    MUST(!has_content || entry->content != NULL);
    if (has_content) (void)touch(entry->content);
    MUST(entry->mode >= 0 && entry->mode <= 07777 && entry->size_bytes >= 0);
}

static void check_task(const task_spec *task) {
    check_program(&task->program);
    MUST(touch(task->id) > 0 && touch(task->id) <= 200);
    (void)touch(task->name);
    MUST(is_path(task->exit_file, true) && is_path(task->handle_file, true));
    if (task->isolated) {
        MUST(is_path(task->isolate.root, true));
        MUST(task->isolate.hostname == NULL || touch(task->isolate.hostname) <= 64);
        for (size_t i = 0; i < task->isolate.entry_count; i++)
            check_entry(&task->isolate.entries[i]);
    }
    MUST(task->netns == NULL || is_path(task->netns, true));
    for (size_t i = 0; i < task->cgroup_count; i++) {
        const cgroup_spec *group = &task->cgroups[i];
        MUST(group->path != NULL && is_path(group->path, true));
        for (size_t j = 0; j < group->write_count; j++) {
            MUST(touch(group->writes[j].file) > 0 && strchr(group->writes[j].file, '/') == NULL);
            (void)touch(group->writes[j].value);
        }
    }
    check_texts(&task->shim_cgroups, true);
    if (!task->has_logs) return;
    MUST(is_path(task->stdout_prefix, true) && is_path(task->stderr_prefix, true));
    MUST(task->log_bytes_max >= 1 && task->log_files_max >= 1);
}

static void check_session(const session_spec *session) {
    check_program(&session->program);
    MUST(session->target.pid > 0);
    check_texts(&session->cgroups, true);
    MUST(session->rows >= 0 && session->rows <= 65535);
    MUST(session->columns >= 0 && session->columns <= 65535);
}

unsigned readers_accepting(const uint8_t *data, size_t size) {
    unsigned accepted = 0;
    arena memory = {0};
    fault why;
    request asked;
    task_spec task;
    session_spec session;
    /* Of exactly this size, so that one byte read too far is seen; it has no NUL at its end. */
    char *text = malloc(size == 0 ? 1 : size);
    MUST(text != NULL);
    if (size > 0) memcpy(text, data, size);
    const json *value = json_read(&memory, text, size, &why);
    if (value == NULL) check_refusal(&why);
    else {
        accepted |= READS_JSON;
        MUST(walk(value, 0) <= JSON_VALUES_MAX);
        if (read_task_spec(&memory, value, &task, &why)) {
            accepted |= READS_TASK;
            check_task(&task);
        } else check_refusal(&why);
        if (read_session_spec(&memory, value, &session, &why)) {
            accepted |= READS_SESSION;
            check_session(&session);
        } else check_refusal(&why);
    }
    if (read_request(&memory, text, size, &asked, &why)) {
        accepted |= READS_REQUEST;
        check_request(&asked);
    } else check_refusal(&why);
    free(text);
    arena_free(&memory);
    return accepted;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    (void)readers_accepting(data, size);
    return 0;
}
