/* What the JSON of all commands is made with. */
#ifndef GP_BENCH_JSON_FIELDS_H
#define GP_BENCH_JSON_FIELDS_H

#include "result.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* Set a member; takes the value over. */
void bench_json_put(json_t *object, const char *key, json_t *value);
void bench_json_put_count(json_t *object, const char *key, uint64_t count);
void bench_json_put_text(json_t *object, const char *key, const char *text); /* NULL: null */
void bench_json_put_spread(json_t *object, const char *key, const bench_spread *spread);

/* The object of one result of `replay` or `hit`. */
json_t *bench_json_result(const bench_result *result);

/* To a file, or to standard output for "-". False, and errno is set, if it cannot be
 * written or `value` is NULL. */
bool bench_json_write(const json_t *value, const char *path);

#endif
