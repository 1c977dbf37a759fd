#include "recording.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "request.h"

#define FIRST_COLUMNS "t_us,op,id,size,stream"
#define SECOND_MARK "gp-trace 2"
#define SECOND_COLUMNS "t_ns,op,id,size,stream,thread"
#define FIRST_FIELDS 5
#define SECOND_FIELDS 6

/* ---- the head --------------------------------------------------------------- */

static gp_status read_line(gp_recording *recording, const char **line)
{
    bool more;
    gp_status status = gp_line_file_next(&recording->file, &more);
    *line = more ? recording->file.line : "";
    return status;
}

static gp_status read_head(gp_recording *recording)
{
    const char *line;
    gp_status status = read_line(recording, &line);
    if (status != GP_OK)
        return status;
    recording->fields = FIRST_FIELDS;
    if (strcmp(line, FIRST_COLUMNS) == 0)
        return GP_OK;
    if (strcmp(line, SECOND_MARK) != 0)
        return gp_line_file_reject(&recording->file, "the first line must be \"%s\" or \"%s\"",
                                   SECOND_MARK, FIRST_COLUMNS);
    recording->fields = SECOND_FIELDS;
    status = read_line(recording, &line);
    if (status == GP_OK && strcmp(line, SECOND_COLUMNS) != 0)
        return gp_line_file_reject(&recording->file, "the second line must be \"%s\"",
                                   SECOND_COLUMNS);
    return status;
}

gp_status gp_recording_open(gp_recording *recording, const char *path)
{
    gp_status status = gp_line_file_open(&recording->file, path);
    if (status != GP_OK)
        return status;
    status = read_head(recording);
    if (status != GP_OK)
        gp_recording_close(recording);
    return status;
}

void gp_recording_close(gp_recording *recording)
{
    gp_line_file_close(&recording->file);
}

/* ---- rows ---------------------------------------------------------------------- */

static gp_status split(gp_recording *recording, char *fields[SECOND_FIELDS])
{
    size_t count = 0;
    char *rest = recording->file.line;
    for (char *field = strsep(&rest, ","); field != NULL; field = strsep(&rest, ",")) {
        if (count < SECOND_FIELDS)
            fields[count] = field;
        count++;
    }
    if (count != recording->fields)
        return gp_line_file_reject(&recording->file, "expected %zu fields, found %zu",
                                   recording->fields, count);
    return GP_OK;
}

/* strtoull() alone would take signs, blanks and nothing at all. */
static gp_status parse(const gp_recording *recording, const char *field, uint64_t *number)
{
    errno = 0;
    if (field[0] != '\0' && strspn(field, "0123456789") == strlen(field))
        *number = strtoull(field, NULL, 10);
    else
        errno = EINVAL;
    return errno == 0 ? GP_OK : gp_line_file_reject(&recording->file, "\"%s\" is no number", field);
}

static gp_status parse_event(const gp_recording *recording, char *const fields[SECOND_FIELDS],
                             gp_recorded_event *event)
{
    uint64_t bytes = 0;
    gp_status status = parse(recording, fields[2], &event->id);
    if (status == GP_OK)
        status = parse(recording, fields[3], &bytes);
    if (status == GP_OK)
        status = parse(recording, fields[4], &event->stream);
    if (status == GP_OK && bytes > GP_MAX_REQUEST_BYTES)
        return gp_line_file_reject(&recording->file, "size %s is more than any device has",
                                   fields[3]);
    event->bytes = bytes;
    return status;
}

gp_status gp_recording_next(gp_recording *recording, gp_recorded_event *event, bool *more)
{
    for (;;) {
        char *fields[SECOND_FIELDS] = {NULL};
        gp_status status = gp_line_file_next(&recording->file, more);
        if (status != GP_OK || !*more)
            return status;
        status = split(recording, fields);
        if (status != GP_OK)
            return status;
        event->frees = strcmp(fields[1], "f") == 0;
        if (event->frees || strcmp(fields[1], "a") == 0)
            return parse_event(recording, fields, event);
        if (recording->fields == FIRST_FIELDS)
            return gp_line_file_reject(&recording->file, "op \"%s\" is neither \"a\" nor \"f\"",
                                       fields[1]);
    }
}
