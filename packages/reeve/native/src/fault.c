#include "fault.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

bool fail(fault *out, fault_kind kind, const char *format, ...) {
    va_list values;
    va_start(values, format);
    out->kind = kind;
    (void)vsnprintf(out->message, sizeof out->message, format, values);
    va_end(values);
    return false;
}

bool fail_call(fault *out, fault_kind kind, const char *call, const char *about) {
    int code = errno;
    if (about == NULL || about[0] == '\0') (void)fail(out, kind, "%s: %s", call, strerror(code));
    else (void)fail(out, kind, "%s %s: %s", call, about, strerror(code));
    errno = code;
    return false;
}

const char *fault_kind_name(fault_kind kind) {
    switch (kind) {
    case KIND_CONFIG:
        return "config";
    case KIND_UNSTARTABLE:
        return "unstartable";
    case KIND_START:
        return "start";
    case KIND_GONE:
        return "gone";
    case KIND_UNKILLABLE:
        return "unkillable";
    }
    return "start";
}
