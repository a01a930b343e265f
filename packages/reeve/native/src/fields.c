#include "fields.h"

#include <stdio.h>
#include <string.h>

#define ID_LENGTH_MAX 200

bool refuse_field(const context *in, const char *what) {
    return fail(in->why, KIND_CONFIG, "%s %s", in->where[0] == '\0' ? "the spec" : in->where, what);
}

context deeper(const context *in, const char *name) {
    char where[256];
    (void)snprintf(where, sizeof where, "%s%s%.100s", in->where, in->where[0] == '\0' ? "" : ".",
                   name);
    char *kept = arena_text(in->memory, where, strlen(where));
    return (context){
        .memory = in->memory, .why = in->why, .where = kept == NULL ? in->where : kept};
}

context element(const context *in, size_t index) {
    char where[256];
    (void)snprintf(where, sizeof where, "%.200s[%zu]", in->where, index);
    char *kept = arena_text(in->memory, where, strlen(where));
    return (context){
        .memory = in->memory, .why = in->why, .where = kept == NULL ? in->where : kept};
}

static const field *find_field(const field *fields, const char *name) {
    for (const field *known = fields; known->name != NULL; known++)
        if (strcmp(known->name, name) == 0) return known;
    return NULL;
}

bool read_fields(const context *in, const json *object, const field *fields, void *out) {
    if (object->type != JSON_OBJECT) return refuse_field(in, "must be an object");
    for (const json *member = object->first; member != NULL; member = member->next) {
        const field *known = find_field(fields, member->key);
        context below = deeper(in, member->key);
        if (known == NULL) return refuse_field(&below, "is not known");
        if (member->type == JSON_NULL && !known->required) continue;
        if (!known->read(&below, member, (char *)out + known->offset)) return false;
    }
    for (const field *known = fields; known->name != NULL; known++) {
        if (!known->required || json_member(object, known->name) != NULL) continue;
        context below = deeper(in, known->name);
        return refuse_field(&below, "is required");
    }
    return true;
}

bool read_text_field(const context *in, const json *value, void *out) {
    if (value->type != JSON_TEXT) return refuse_field(in, "must be a text");
    *(const char **)out = value->text;
    return true;
}

bool is_path(const char *text, bool absolute) {
    if (text[0] == '\0' || strlen(text) > PATH_LENGTH_MAX || (text[0] == '/') != absolute)
        return false;
    for (const char *part = text; part != NULL; part = strchr(part, '/')) {
        if (*part == '/') part++;
        size_t length = strcspn(part, "/");
        if (length == 2 && part[0] == '.' && part[1] == '.') return false;
        if (length > 255) return false;
    }
    return true;
}

bool read_path_field(const context *in, const json *value, void *out) {
    if (!read_text_field(in, value, out)) return false;
    if (is_path(value->text, true)) return true;
    return refuse_field(in, "must be an absolute path without ..");
}

bool read_id_field(const context *in, const json *value, void *out) {
    static const char allowed[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-";
    if (!read_text_field(in, value, out)) return false;
    size_t length = strlen(value->text);
    if (length > 0 && length <= ID_LENGTH_MAX && strspn(value->text, allowed) == length)
        return true;
    return refuse_field(in, "must be 1 to 200 of the characters A-Z a-z 0-9 . _ -");
}

bool read_bool_field(const context *in, const json *value, void *out) {
    if (value->type != JSON_BOOL) return refuse_field(in, "must be true or false");
    *(bool *)out = value->truth;
    return true;
}

bool read_number_field(const context *in, const json *value, void *out) {
    if (value->type != JSON_NUMBER) return refuse_field(in, "must be a number");
    *(int64_t *)out = value->number;
    return true;
}

static bool read_each(const context *in, const json *value, text_list *out, field_reader *read) {
    if (value->type != JSON_LIST) return refuse_field(in, "must be a list");
    if (value->count > LIST_MAX * 4) return refuse_field(in, "is too long a list");
    const char **items = arena_take(in->memory, (value->count + 1) * sizeof *items);
    if (items == NULL) return refuse_field(in, "needs more memory than there is");
    size_t count = 0;
    for (const json *item = value->first; item != NULL; item = item->next) {
        context below = element(in, count);
        if (!read(&below, item, &items[count])) return false;
        count++;
    }
    *out = (text_list){.items = items, .count = count};
    return true;
}

bool read_texts_field(const context *in, const json *value, void *out) {
    return read_each(in, value, out, read_text_field);
}

bool read_paths_field(const context *in, const json *value, void *out) {
    return read_each(in, value, out, read_path_field);
}
