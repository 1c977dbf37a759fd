#include "line_file.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>

#include "error.h"

#define REASON_CHARS 256

gp_status gp_line_file_reject(const gp_line_file *file, const char *format, ...)
{
    char reason[REASON_CHARS];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(reason, sizeof(reason), format, arguments);
    va_end(arguments);
    return gp_error_set(GP_ERR_INVALID_ARGUMENT, "%s:%zu: %s", file->path, file->number, reason);
}

static gp_status reject_file(const gp_line_file *file)
{
    return gp_error_set(GP_ERR_INVALID_ARGUMENT, "%s: %s", file->path,
                        errno != 0 ? strerror(errno) : "cannot be read");
}

/* Of the two bytes that every gzipped file begins with. */
static bool is_gzipped(FILE *file)
{
    const int first = fgetc(file);
    const int second = first == EOF ? EOF : fgetc(file);
    rewind(file);
    return first == 0x1f && second == 0x8b;
}

static gp_status open_zipped(gp_line_file *file)
{
    gp_status status = gp_gzip_load(&file->gzip);
    if (status != GP_OK)
        return status;
    file->zipped = file->gzip->open(file->path, "rb");
    return file->zipped != NULL ? GP_OK : reject_file(file);
}

gp_status gp_line_file_open(gp_line_file *file, const char *path)
{
    *file = (gp_line_file){.path = path};
    errno = 0;
    file->plain = fopen(path, "re");
    if (file->plain == NULL)
        return reject_file(file);
    if (!is_gzipped(file->plain))
        return GP_OK;
    (void)fclose(file->plain);
    file->plain = NULL;
    return open_zipped(file);
}

void gp_line_file_close(gp_line_file *file)
{
    if (file->plain != NULL)
        (void)fclose(file->plain);
    else
        (void)file->gzip->close(file->zipped);
}

/* Did the last read end for another reason than the file's end? */
static gp_status check_sound(gp_line_file *file)
{
    if (file->plain != NULL)
        return ferror(file->plain) == 0 ? GP_OK : reject_file(file);
    int code = GP_GZIP_OK;
    const char *text = file->gzip->error(file->zipped, &code);
    if (code == GP_GZIP_OK || code == GP_GZIP_STREAM_END)
        return GP_OK;
    return gp_line_file_reject(file, "%s", text);
}

static char *read_line(gp_line_file *file)
{
    return file->plain != NULL ? fgets(file->line, GP_LINE_CHARS, file->plain)
                               : file->gzip->gets(file->zipped, file->line, GP_LINE_CHARS);
}

gp_status gp_line_file_next(gp_line_file *file, bool *more)
{
    errno = 0;
    file->number++;
    *more = read_line(file) != NULL;
    gp_status status = check_sound(file);
    if (status != GP_OK || !*more)
        return status;
    const size_t length = strcspn(file->line, "\r\n");
    if (length == GP_LINE_CHARS - 1)
        return gp_line_file_reject(file, "the line is longer than %d characters",
                                   GP_LINE_CHARS - 2);
    file->line[length] = '\0';
    return GP_OK;
}
