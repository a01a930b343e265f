/*
 * Drives the target where the compiler brings no libFuzzer: replays a corpus, then mutates it for a
 * time. Where the compiler reports which branches were taken (-fsanitize-coverage=trace-pc), inputs
 * that reach new ones join the corpus of the run.
 *
 *   parsers --list FILE...                  prints for each file which readers accept it
 *   parsers SECONDS SEED CURRENT FILE...    replays and mutates; CURRENT holds the input under way,
 *                                           also after a crash: its length in 8 bytes, its bytes
 */
#include "target.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define INPUT_MAX ((size_t)1 << 20)
/* Longer ones are replayed, but mutants are kept short: they run faster and break as much. */
#define MUTANT_MAX ((size_t)8192)
/* The longest seed whose values are all replaced: longer ones repeat the same parts. */
#define EACH_VALUE_MAX ((size_t)2048)
#define POOL_MAX 4096
#define EDGES 65536u
#define STEPS_MAX 6

typedef struct {
    uint8_t *bytes;
    size_t size;
} input;

typedef struct {
    size_t size;
    uint8_t bytes[INPUT_MAX];
} current_input;

static input pool[POOL_MAX];
static size_t pool_count;
static current_input *current;
static uint64_t random_state;

static uint8_t seen[EDGES];
static size_t seen_count;
static bool found_edge;

/* Called by the instrumented code at every branch. */
void __sanitizer_cov_trace_pc(void);
void __sanitizer_cov_trace_pc(void) {
    static uintptr_t before;
    uintptr_t here = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&LLVMFuzzerTestOneInput;
    uintptr_t edge = (here ^ (before << 5)) % EDGES;
    before = here;
    if (seen[edge] != 0) return;
    seen[edge] = 1;
    seen_count++;
    found_edge = true;
}

static const char *const words[] = {
    "{", "}", "[", "]", ",", ":", "\"", "\\", "\\u0000", "\\ud800", "\\udc00\\ud800", "\\u00e9",
    "null", "true", "false", "0", "-1", "1", "64", "65", "4095", "4096", "65535", "2147483647",
    "2147483648", "4294967294", "4294967295", "9007199254740992", "9007199254740993", "-0", "1e9",
    "\"\"", "{}", "[]", "\"/\"", "\"/a\"", "\"/../a\"", "\"a/b\"", "\"..\"", "\"try\"", "[[[[[[[[",
    "\"v\":1", "\"id\":1", "\"op\":\"run\"", "\"op\":\"kill\"", "\"op\":\"write\"",
    "\"op\":\"mkdir\"", "\"op\":\"settle\"", "\"spec\":\"/s\"", "\"paths\":[\"/a\"]", "\"args\":[]",
    "\"env\":{\"A\":\"b\"}", "\"groups\":[0]", "\"caps\":[\"chown\"]", "\"denyUsers\":[\"root\"]",
    "\"rlimits\":{\"nofile\":[1,2]}", "\"isolate\":{\"root\":\"/r\",\"entries\":[]}",
    "\"kind\":\"bind\"", "\"kind\":\"mirror\"", "\"kind\":\"tmpfs\"", "\"kind\":\"file\"",
    "\"kind\":\"link\"", "\"kind\":\"dev\"", "\"from\":\"/f\"", "\"to\":\"/t\"", "\"path\":\"/p\"",
    "\"content\":\"\"", "\"target\":\"t\"", "\"sizeBytes\":1", "\"shmBytes\":1", "\"mode\":420",
    "\"write\":[[\"f\",\"v\"]]", "\"tty\":{\"rows\":1,\"columns\":1}", "\"logs\":null",
};
#define WORD_COUNT (sizeof words / sizeof words[0])

/* A reader must ask for the type of everything. */
static const char *const scalars[] = {"null", "true", "0", "-1", "\"\"", "[]", "{}"};
#define SCALAR_COUNT (sizeof scalars / sizeof scalars[0])

static uint64_t next_random(void) {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

static size_t below(size_t bound) { return bound == 0 ? 0 : (size_t)(next_random() % bound); }

static void stop(const char *what, const char *about) {
    (void)fprintf(stderr, "fuzz driver: %s %s\n", what, about);
    exit(2);
}

/* Puts bytes in the place of `removed` others; what would not fit is left as it was. */
static void replace(input *into, size_t at, size_t removed, const uint8_t *bytes, size_t count) {
    if (into->size - removed + count > MUTANT_MAX) return;
    memmove(into->bytes + at + count, into->bytes + at + removed, into->size - at - removed);
    memcpy(into->bytes + at, bytes, count);
    into->size = into->size - removed + count;
}

/* The end of the JSON value that begins here, as far as brackets and quotes tell. */
static size_t value_end(const input *in, size_t at) {
    int depth = 0;
    bool quoted = false;
    for (size_t i = at; i < in->size; i++) {
        uint8_t c = in->bytes[i];
        if (quoted && c == '\\') i++;
        else if (c == '"') quoted = !quoted;
        else if (!quoted && (c == '{' || c == '[')) depth++;
        else if (!quoted && (c == '}' || c == ']') && --depth < 0) return i;
        else if (!quoted && c == ',' && depth == 0) return i;
    }
    return in->size;
}

/* Behind a colon or an opening bracket is a value, behind a comma one or a member of an object. */
static size_t value_start(const input *in) {
    const char *marks = below(2) == 0 ? ":" : ":,[{";
    for (size_t i = below(in->size); i < in->size; i++)
        if (strchr(marks, in->bytes[i]) != NULL && in->bytes[i] != '\0') return i + 1;
    return 0;
}

/* Often the smaller of two: small ones run faster, and a change in them breaks less of the rest. */
static const input *choose_parent(void) {
    const input *one = &pool[below(pool_count)];
    const input *other = &pool[below(pool_count)];
    return one->size < other->size || below(2) == 0 ? one : other;
}

static void mutate(input *one) {
    static uint8_t taken[MUTANT_MAX];
    size_t at = below(one->size + 1);
    const char *word = words[below(WORD_COUNT)];
    const input *other = &pool[below(pool_count)];
    size_t start = value_start(one);
    size_t end = value_end(one, start);
    switch (below(9)) {
    case 0: /* another byte */
        if (at < one->size) one->bytes[at] = (uint8_t)next_random();
        break;
    case 1: /* a bit */
        if (at < one->size) one->bytes[at] ^= (uint8_t)(1u << below(8));
        break;
    case 2: /* less */
        replace(one, at, below(one->size - at + 1) % 32, taken, 0);
        break;
    case 3: /* cut off */
        if (below(8) == 0) one->size = at;
        break;
    case 4: /* a word somewhere */
        replace(one, at, 0, (const uint8_t *)word, strlen(word));
        break;
    case 5: /* a value of another type */
        word = scalars[below(SCALAR_COUNT)];
        replace(one, start, end - start, (const uint8_t *)word, strlen(word));
        break;
    case 6: /* a word in the place of a value */
        replace(one, start, end - start, (const uint8_t *)word, strlen(word));
        break;
    case 7: { /* a value of its own once more */
        size_t size = end - start;
        if (size > sizeof taken) break;
        memcpy(taken, one->bytes + start, size);
        replace(one, value_start(one), 0, taken, size);
        break;
    }
    default: { /* a value of another input */
        size_t from = value_start(other);
        size_t size = value_end(other, from) - from;
        if (size > sizeof taken) break;
        memcpy(taken, other->bytes + from, size);
        replace(one, start, below(2) == 0 ? 0 : end - start, taken, size);
    }
    }
}

static void run(const input *one) {
    current->size = one->size;
    if (one->size > 0) memcpy(current->bytes, one->bytes, one->size);
    (void)LLVMFuzzerTestOneInput(current->bytes, current->size);
}

/* Every value of a seed by itself, once as each type and once left out: what chance may miss. */
static size_t replace_each_value(const input *seed) {
    static uint8_t bytes[MUTANT_MAX];
    size_t runs = 0;
    if (seed->size > EACH_VALUE_MAX) return 0;
    for (size_t at = 0; at < seed->size; at++) {
        if (strchr(":,[", seed->bytes[at]) == NULL || seed->bytes[at] == '\0') continue;
        size_t end = value_end(seed, at + 1);
        for (size_t i = 0; i <= SCALAR_COUNT; i++) {
            const char *word = i < SCALAR_COUNT ? scalars[i] : "";
            input one = {.bytes = bytes, .size = seed->size};
            memcpy(bytes, seed->bytes, seed->size);
            replace(&one, at + 1, end - at - 1, (const uint8_t *)word, strlen(word));
            run(&one);
            runs++;
        }
    }
    return runs;
}

static void keep(const input *one) {
    if (pool_count >= POOL_MAX) return;
    uint8_t *copy = malloc(one->size + 1);
    if (copy == NULL) stop("out of memory", "");
    memcpy(copy, one->bytes, one->size);
    pool[pool_count++] = (input){.bytes = copy, .size = one->size};
}

static input read_input(const char *path) {
    static uint8_t bytes[INPUT_MAX];
    FILE *file = fopen(path, "rb");
    if (file == NULL) stop("cannot read", path);
    size_t size = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    return (input){.bytes = bytes, .size = size};
}

static void list(int count, char **paths) {
    for (int i = 0; i < count; i++) {
        input one = read_input(paths[i]);
        unsigned accepted = readers_accepting(one.bytes, one.size);
        (void)printf("%s%s%s%s%s\n", paths[i], accepted & READS_JSON ? " json" : "",
                     accepted & READS_REQUEST ? " request" : "",
                     accepted & READS_TASK ? " task" : "",
                     accepted & READS_SESSION ? " session" : "");
    }
}

static void share_current(const char *path) {
    int file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (file < 0 || ftruncate(file, sizeof *current) < 0) stop("cannot write", path);
    current = mmap(NULL, sizeof *current, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (current == MAP_FAILED) stop("cannot map", path);
    (void)close(file);
}

int main(int argc, char **argv) {
    static uint8_t bytes[MUTANT_MAX];
    if (argc > 2 && strcmp(argv[1], "--list") == 0) {
        list(argc - 2, argv + 2);
        return 0;
    }
    if (argc < 5) stop("usage: parsers SECONDS SEED CURRENT FILE... | --list FILE...", "");
    const time_t end = time(NULL) + atoi(argv[1]);
    random_state = strtoull(argv[2], NULL, 10) * 2 + 1;
    share_current(argv[3]);
    for (int i = 4; i < argc; i++) {
        input one = read_input(argv[i]);
        run(&one);
        if (one.size <= MUTANT_MAX) keep(&one);
    }
    size_t runs = 0;
    const size_t seed_count = pool_count;
    for (size_t i = 0; i < seed_count; i++) runs += replace_each_value(&pool[i]);
    size_t mutants = 0;
    while (pool_count > 0 && (mutants % 100 != 0 || time(NULL) < end)) {
        const input *parent = choose_parent();
        input one = {.bytes = bytes, .size = parent->size};
        memcpy(bytes, parent->bytes, parent->size);
        for (size_t steps = below(2) == 0 ? 1 : below(STEPS_MAX) + 1; steps > 0; steps--)
            mutate(&one);
        found_edge = false;
        run(&one);
        if (found_edge) keep(&one);
        mutants++;
    }
    (void)printf("{\"runs\":%zu,\"inputs\":%zu,\"edges\":%zu}\n", runs + mutants, pool_count,
                 seen_count);
    return 0;
}
