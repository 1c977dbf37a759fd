#include "json_fields.h"

#include <errno.h>
#include <string.h>

void bench_json_put(json_t *object, const char *key, json_t *value)
{
    (void)json_object_set_new(object, key, value);
}

void bench_json_put_count(json_t *object, const char *key, uint64_t count)
{
    bench_json_put(object, key, json_integer((json_int_t)count));
}

void bench_json_put_text(json_t *object, const char *key, const char *text)
{
    json_t *value = text != NULL ? json_string(text) : json_null();
    /* A file may be named with bytes that JSON has no way to say. */
    bench_json_put(object, key, value != NULL ? value : json_string("(not UTF-8)"));
}

void bench_json_put_spread(json_t *object, const char *key, const bench_spread *spread)
{
    bench_json_put(object, key,
                   json_pack("{s:f, s:f, s:f}", "median", spread->median, "min", spread->low, "max",
                             spread->high));
}

/* Enough digits for a nanosecond in a second. */
#define DUMP_FLAGS (JSON_INDENT(2) | JSON_REAL_PRECISION(10))

bool bench_json_write(const json_t *value, const char *path)
{
    errno = ENOMEM; /* What a NULL from jansson means. */
    if (value == NULL)
        return false;
    errno = EIO; /* Unless the call that fails says more. */
    if (strcmp(path, "-") == 0)
        return json_dumpf(value, stdout, DUMP_FLAGS) == 0 && fputc('\n', stdout) != EOF &&
               fflush(stdout) == 0;
    return json_dump_file(value, path, DUMP_FLAGS) == 0;
}
