/* Writes one line of JSON into a buffer of fixed size. */
#ifndef REEVE_LINE_H
#define REEVE_LINE_H

#include "fault.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fits into one atomic write to a pipe (PIPE_BUF), which keeps answers whole. */
#define LINE_MAX_BYTES 4096

typedef struct {
    char *bytes;
    size_t size;
    size_t length;
    bool overflow;
    bool separate; /* a comma is due before the next member */
} line;

/* `{` and later `}` and a line end are written by open and close. */
void line_open(line *to, char *bytes, size_t size);
void line_close(line *to);

void line_number(line *to, const char *key, int64_t value);
void line_bool(line *to, const char *key, bool value);
void line_text(line *to, const char *key, const char *value);
void line_texts(line *to, const char *key, const char *const *values, size_t count);
/* JSON that was made elsewhere. */
void line_raw(line *to, const char *key, const char *json);
void line_fault(line *to, const fault *why);

/* Plain bytes, for what the others do not cover. */
void line_bytes(line *to, const char *text);

#endif
