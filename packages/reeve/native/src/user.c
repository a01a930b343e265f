#include "user.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct {
    char name[256];
    uid_t uid;
    gid_t gid;
} account;

/* All digits and below the number that means "no change". */
static bool read_number(const char *text, size_t length, unsigned *out) {
    if (length == 0 || length > 10) return false;
    unsigned long long number = 0;
    for (size_t i = 0; i < length; i++) {
        if (text[i] < '0' || text[i] > '9') return false;
        number = number * 10 + (unsigned)(text[i] - '0');
    }
    if (number >= UINT32_MAX) return false;
    *out = (unsigned)number;
    return true;
}

/* The nth part between colons; the rest of the line for the last. */
static const char *part_of(const char *text, int index, size_t *length) {
    for (; index > 0; index--) {
        text = strchr(text, ':');
        if (text == NULL) return NULL;
        text++;
    }
    *length = strcspn(text, ":\n");
    return text;
}

static bool read_account(const char *text, account *out) {
    size_t name = 0;
    size_t uid = 0;
    size_t gid = 0;
    const char *name_at = part_of(text, 0, &name);
    const char *uid_at = part_of(text, 2, &uid);
    const char *gid_at = part_of(text, 3, &gid);
    if (uid_at == NULL || gid_at == NULL || name == 0 || name >= sizeof out->name) return false;
    memcpy(out->name, name_at, name);
    out->name[name] = '\0';
    return read_number(uid_at, uid, &out->uid) && read_number(gid_at, gid, &out->gid);
}

/* By name, or by number when `name` is NULL. */
static bool find_account(const char *name, uid_t uid, account *out) {
    FILE *file = fopen("/etc/passwd", "re");
    if (file == NULL) return false;
    char *text = NULL;
    size_t room = 0;
    bool found = false;
    while (!found && getline(&text, &room, file) > 0)
        found = read_account(text, out) &&
                (name == NULL ? out->uid == uid : strcmp(out->name, name) == 0);
    free(text);
    (void)fclose(file);
    return found;
}

static bool lists_member(const char *list, const char *name) {
    size_t length = strlen(name);
    while (*list != '\0' && *list != '\n') {
        size_t part = strcspn(list, ",\n");
        if (part == length && memcmp(list, name, length) == 0) return true;
        list += part;
        if (*list == ',') list++;
    }
    return false;
}

static void find_groups(const char *name, identity *out) {
    FILE *file = fopen("/etc/group", "re");
    if (file == NULL) return;
    char *text = NULL;
    size_t room = 0;
    while (getline(&text, &room, file) > 0) {
        size_t length = 0;
        size_t list_length = 0;
        unsigned gid = 0;
        const char *number = part_of(text, 2, &length);
        const char *list = part_of(text, 3, &list_length);
        if (number == NULL || list == NULL || !read_number(number, length, &gid)) continue;
        if (!lists_member(list, name) || out->group_count >= GROUPS_MAX) continue;
        out->groups[out->group_count++] = gid;
    }
    free(text);
    (void)fclose(file);
}

/* `uid`, `uid:gid` or a name. */
static bool resolve(const char *user, identity *out, char name[256]) {
    account found;
    const char *colon = strchr(user, ':');
    size_t length = colon == NULL ? strlen(user) : (size_t)(colon - user);
    unsigned number = 0;
    bool numeric = read_number(user, length, &number);
    bool known = numeric ? find_account(NULL, number, &found) : find_account(user, 0, &found);
    if (!known && !numeric) return false;
    out->uid = known ? found.uid : number;
    out->gid = known ? found.gid : number;
    if (colon != NULL && !read_number(colon + 1, strlen(colon + 1), &out->gid)) return false;
    if (known) memcpy(name, found.name, sizeof found.name);
    if (known) find_groups(found.name, out);
    return true;
}

static bool is_denied(const program_spec *program, uid_t uid, const char *name) {
    for (size_t i = 0; i < program->deny_users.count; i++) {
        const char *denied = program->deny_users.items[i];
        unsigned number = 0;
        account found;
        if (name[0] != '\0' && strcmp(denied, name) == 0) return true;
        if (read_number(denied, strlen(denied), &number)) {
            if (number == uid) return true;
        } else if (find_account(denied, 0, &found) && found.uid == uid) return true;
    }
    return false;
}

bool find_identity(const program_spec *program, identity *out, fault *why) {
    char name[256] = "";
    *out = (identity){.uid = geteuid(), .gid = getegid()};
    if (program->user != NULL) {
        if (!resolve(program->user, out, name))
            return fail(why, KIND_CONFIG, "user \"%.200s\" is not known on this machine",
                        program->user);
        out->changes = true;
    }
    if (is_denied(program, out->uid, name))
        return fail(why, KIND_CONFIG, "user \"%.200s\" (uid %u) may not run tasks here",
                    program->user == NULL ? "" : program->user, out->uid);
    if (!program->has_groups) return true;
    out->changes = true;
    out->group_count = program->group_count;
    memcpy(out->groups, program->groups, program->group_count * sizeof(gid_t));
    return true;
}
