/* Reading the members of a JSON object into a struct by a table, refusing what is not in it. */
#ifndef REEVE_FIELDS_H
#define REEVE_FIELDS_H

#include "spec.h"

typedef struct {
    arena *memory;
    fault *why;
    const char *where; /* the path so far, for messages: `isolate.entries[3]` */
} context;

/* Reads the value into `out`, which is the member's place in the struct. */
typedef bool field_reader(const context *in, const json *value, void *out);

typedef struct {
    const char *name;
    field_reader *read;
    size_t offset;
    bool required;
} field;

bool read_fields(const context *in, const json *object, const field *fields, void *out);

/* As `fail` with kind config; the message begins with where it is. */
bool refuse_field(const context *in, const char *what);

/* A context one step deeper: `in.where` and the name. */
context deeper(const context *in, const char *name);
context element(const context *in, size_t index);

field_reader read_text_field;   /* const char * */
field_reader read_path_field;   /* const char *: absolute, no `..` */
field_reader read_bool_field;   /* bool */
field_reader read_number_field; /* int64_t */
field_reader read_texts_field;  /* text_list */
field_reader read_paths_field;  /* text_list */
field_reader read_id_field;     /* const char * */

/* A path without `..`, not too long; absolute or relative as asked. */
bool is_path(const char *text, bool absolute);

#endif
