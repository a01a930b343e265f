/* A small JSON reader with hard limits (PROTOCOL.md): no text makes it crash, stall or grow. */
#ifndef REEVE_JSON_H
#define REEVE_JSON_H

#include "arena.h"
#include "fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define JSON_DEPTH_MAX 16
#define JSON_VALUES_MAX 20000
#define JSON_MEMBERS_MAX 4096
#define JSON_NUMBER_MAX INT64_C(9007199254740992)

typedef enum { JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT } json_type;

typedef struct json json;
struct json {
    json_type type;
    bool truth;
    int64_t number;
    const char *text; /* ends with NUL and holds no other */
    const char *key;  /* of a member of an object */
    uint32_t key_hash;
    size_t count; /* of a list or an object */
    json *first;  /* child */
    json *next;   /* sibling */
};

/* The whole text must be one value. Texts are copied, so `text` need not stay. */
json *json_read(arena *memory, const char *text, size_t length, fault *why);

/* The member, or NULL. */
const json *json_member(const json *object, const char *key);

#endif
