#include "line.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* What `line_close` needs is kept free, so that even a cut line ends well. */
#define TAIL 3

static void put(line *to, const char *bytes, size_t length) {
    if (to->overflow || to->size - to->length < length + TAIL) {
        to->overflow = true;
        return;
    }
    memcpy(to->bytes + to->length, bytes, length);
    to->length += length;
}

void line_bytes(line *to, const char *text) { put(to, text, strlen(text)); }

void line_open(line *to, char *bytes, size_t size) {
    *to = (line){.bytes = bytes, .size = size};
    line_bytes(to, "{");
}

void line_close(line *to) {
    memcpy(to->bytes + to->length, "}\n", 3);
    to->length += 2;
}

static void put_quoted(line *to, const char *text) {
    line_bytes(to, "\"");
    for (const char *c = text; *c != '\0'; c++) {
        unsigned char byte = (unsigned char)*c;
        char escape[8];
        if (byte == '"' || byte == '\\') (void)snprintf(escape, sizeof escape, "\\%c", byte);
        else if (byte < 0x20 || byte == 0x7F)
            (void)snprintf(escape, sizeof escape, "\\u%04x", byte);
        else {
            escape[0] = *c;
            escape[1] = '\0';
        }
        line_bytes(to, escape);
    }
    line_bytes(to, "\"");
}

static void put_key(line *to, const char *key) {
    if (to->separate) line_bytes(to, ",");
    to->separate = true;
    put_quoted(to, key);
    line_bytes(to, ":");
}

/* A member that does not fit is left out whole: half of one would spoil the line. */
static void settle(line *to, size_t before, bool separate) {
    if (!to->overflow) return;
    to->length = before;
    to->separate = separate;
    to->overflow = false;
}

void line_raw(line *to, const char *key, const char *json) {
    size_t before = to->length;
    bool separate = to->separate;
    put_key(to, key);
    line_bytes(to, json);
    settle(to, before, separate);
}

void line_number(line *to, const char *key, int64_t value) {
    char digits[24];
    (void)snprintf(digits, sizeof digits, "%" PRId64, value);
    line_raw(to, key, digits);
}

void line_bool(line *to, const char *key, bool value) {
    line_raw(to, key, value ? "true" : "false");
}

void line_text(line *to, const char *key, const char *value) {
    size_t before = to->length;
    bool separate = to->separate;
    put_key(to, key);
    put_quoted(to, value);
    settle(to, before, separate);
}

void line_texts(line *to, const char *key, const char *const *values, size_t count) {
    size_t before = to->length;
    bool separate = to->separate;
    put_key(to, key);
    line_bytes(to, "[");
    for (size_t i = 0; i < count; i++) {
        if (i > 0) line_bytes(to, ",");
        put_quoted(to, values[i]);
    }
    line_bytes(to, "]");
    settle(to, before, separate);
}

void line_fault(line *to, const fault *why) {
    line_bool(to, "ok", false);
    line_text(to, "kind", fault_kind_name(why->kind));
    line_text(to, "message", why->message);
}
