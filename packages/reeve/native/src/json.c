#include "json.h"

#include <string.h>

typedef struct {
    arena *memory;
    const char *at;
    const char *end;
    const char *begin;
    size_t values;
    fault *why;
} reader;

static json *read_value(reader *in, int depth);

static json *refuse(reader *in, const char *what) {
    (void)fail(in->why, KIND_CONFIG, "not the JSON that is spoken here: %s at byte %zu", what,
               (size_t)(in->at - in->begin));
    return NULL;
}

static void skip_space(reader *in) {
    while (in->at < in->end &&
           (*in->at == ' ' || *in->at == '\t' || *in->at == '\n' || *in->at == '\r'))
        in->at++;
}

static bool take(reader *in, char wanted) {
    if (in->at >= in->end || *in->at != wanted) return false;
    in->at++;
    return true;
}

static bool take_word(reader *in, const char *word) {
    size_t length = strlen(word);
    if ((size_t)(in->end - in->at) < length || memcmp(in->at, word, length) != 0) return false;
    in->at += length;
    return true;
}

static json *new_value(reader *in, json_type type) {
    if (++in->values > JSON_VALUES_MAX) return refuse(in, "too many values");
    json *value = arena_take(in->memory, sizeof *value);
    if (value == NULL) return refuse(in, "out of memory");
    value->type = type;
    return value;
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* Four digits; -1 when they are not there. */
static int32_t read_hex(reader *in) {
    if (in->end - in->at < 4) return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(in->at[i]);
        if (digit < 0) return -1;
        value = value * 16 + digit;
    }
    in->at += 4;
    return value;
}

static size_t put_utf8(char *out, uint32_t code) {
    if (code < 0x80) {
        out[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        out[0] = (char)(0xC0 | (code >> 6));
        out[1] = (char)(0x80 | (code & 0x3F));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | (code >> 12));
        out[1] = (char)(0x80 | ((code >> 6) & 0x3F));
        out[2] = (char)(0x80 | (code & 0x3F));
        return 3;
    }
    out[0] = (char)(0xF0 | (code >> 18));
    out[1] = (char)(0x80 | ((code >> 12) & 0x3F));
    out[2] = (char)(0x80 | ((code >> 6) & 0x3F));
    out[3] = (char)(0x80 | (code & 0x3F));
    return 4;
}

/* Behind `\u`. Half of a pair becomes the replacement character, as in other readers. */
static bool read_code_point(reader *in, uint32_t *code) {
    int32_t first = read_hex(in);
    if (first < 0) return false;
    *code = (uint32_t)first;
    if (first < 0xD800 || first > 0xDFFF) return true;
    const char *back = in->at;
    if (first < 0xDC00 && take_word(in, "\\u")) {
        int32_t second = read_hex(in);
        if (second >= 0xDC00 && second <= 0xDFFF) {
            *code = 0x10000 + (((uint32_t)first - 0xD800) << 10) + ((uint32_t)second - 0xDC00);
            return true;
        }
    }
    in->at = back;
    *code = 0xFFFD;
    return true;
}

/* Behind a backslash; 0 when it is none of ours. */
static size_t read_escape(reader *in, char *out) {
    static const char names[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (in->at >= in->end) return 0;
    char name = *in->at++;
    if (name == 'u') {
        uint32_t code = 0;
        if (!read_code_point(in, &code) || code == 0) return 0;
        return put_utf8(out, code);
    }
    const char *found = memchr(names, name, sizeof names - 1);
    if (found == NULL) return 0;
    out[0] = values[found - names];
    return 1;
}

/* Decoded text is never longer than the encoded one, so the length up to the quote is enough. */
static const char *read_text(reader *in) {
    const char *from = in->at;
    const char *close = from;
    while (close < in->end && *close != '"') close += *close == '\\' && in->end - close > 1 ? 2 : 1;
    if (close >= in->end) {
        (void)refuse(in, "a text without end");
        return NULL;
    }
    char *out = arena_take(in->memory, (size_t)(close - from) + 1);
    if (out == NULL) {
        (void)refuse(in, "out of memory");
        return NULL;
    }
    size_t length = 0;
    while (in->at < close) {
        unsigned char c = (unsigned char)*in->at;
        if (c < 0x20) {
            (void)refuse(in, "a control character in a text");
            return NULL;
        }
        in->at++;
        if (c != '\\') {
            out[length++] = (char)c;
            continue;
        }
        size_t added = read_escape(in, out + length);
        if (added == 0) {
            (void)refuse(in, "a bad escape (or a NUL) in a text");
            return NULL;
        }
        length += added;
    }
    in->at = close + 1;
    return out;
}

static json *read_number(reader *in) {
    json *value = new_value(in, JSON_NUMBER);
    if (value == NULL) return NULL;
    bool negative = take(in, '-');
    const char *digits = in->at;
    int64_t number = 0;
    while (in->at < in->end && *in->at >= '0' && *in->at <= '9') {
        number = number * 10 + (*in->at - '0');
        if (number > JSON_NUMBER_MAX) return refuse(in, "too large a number");
        in->at++;
    }
    if (in->at == digits) return refuse(in, "no value");
    if (*digits == '0' && in->at - digits > 1) return refuse(in, "a number with a leading zero");
    if (in->at < in->end && (*in->at == '.' || *in->at == 'e' || *in->at == 'E'))
        return refuse(in, "a number that is not written as an integer");
    value->number = negative ? -number : number;
    return value;
}

static uint32_t hash_of(const char *text) {
    uint32_t hash = 2166136261u;
    for (const char *c = text; *c != '\0'; c++) hash = (hash ^ (unsigned char)*c) * 16777619u;
    return hash;
}

static bool has_key(const json *object, const json *member) {
    for (const json *other = object->first; other != NULL; other = other->next)
        if (other->key_hash == member->key_hash && strcmp(other->key, member->key) == 0)
            return true;
    return false;
}

/* `"key": value` with the key already named in an error. */
static json *read_member(reader *in, int depth) {
    skip_space(in);
    if (!take(in, '"')) return refuse(in, "a member without a name");
    const char *key = read_text(in);
    if (key == NULL) return NULL;
    skip_space(in);
    if (!take(in, ':')) return refuse(in, "a member without a value");
    json *value = read_value(in, depth);
    if (value == NULL) return NULL;
    value->key = key;
    value->key_hash = hash_of(key);
    return value;
}

/* The opening bracket has been taken. */
static json *read_children(reader *in, json_type type, int depth) {
    char close = type == JSON_LIST ? ']' : '}';
    json *all = new_value(in, type);
    if (all == NULL) return NULL;
    if (depth >= JSON_DEPTH_MAX) return refuse(in, "too deep");
    skip_space(in);
    if (take(in, close)) return all;
    json *last = NULL;
    for (;;) {
        json *child = type == JSON_LIST ? read_value(in, depth + 1) : read_member(in, depth + 1);
        if (child == NULL) return NULL;
        if (type == JSON_OBJECT && has_key(all, child)) return refuse(in, "a name given twice");
        if (last == NULL) all->first = child;
        else last->next = child;
        last = child;
        if (++all->count > JSON_MEMBERS_MAX && type == JSON_OBJECT)
            return refuse(in, "too many members");
        skip_space(in);
        if (take(in, close)) return all;
        if (!take(in, ',')) return refuse(in, "a missing comma or end");
    }
}

static json *read_value(reader *in, int depth) {
    skip_space(in);
    if (take(in, '{')) return read_children(in, JSON_OBJECT, depth);
    if (take(in, '[')) return read_children(in, JSON_LIST, depth);
    if (take(in, '"')) {
        json *value = new_value(in, JSON_TEXT);
        if (value == NULL || (value->text = read_text(in)) == NULL) return NULL;
        return value;
    }
    if (take_word(in, "null")) return new_value(in, JSON_NULL);
    bool truth = take_word(in, "true");
    if (truth || take_word(in, "false")) {
        json *value = new_value(in, JSON_BOOL);
        if (value != NULL) value->truth = truth;
        return value;
    }
    return read_number(in);
}

json *json_read(arena *memory, const char *text, size_t length, fault *why) {
    reader in = {.memory = memory, .at = text, .begin = text, .end = text + length, .why = why};
    json *value = read_value(&in, 0);
    if (value == NULL) return NULL;
    skip_space(&in);
    if (in.at != in.end) return refuse(&in, "more than one value");
    return value;
}

const json *json_member(const json *object, const char *key) {
    if (object == NULL || object->type != JSON_OBJECT) return NULL;
    for (const json *member = object->first; member != NULL; member = member->next)
        if (strcmp(member->key, key) == 0) return member;
    return NULL;
}
