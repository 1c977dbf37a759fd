#include "record_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LINES "gp-trace 2\nt_ns,op,id,size,stream,thread\n"

/* Five numbers of at most 20 digits, a letter and what is between. */
#define MOST_ROW_BYTES 128

bool gp_record_file_flush(gp_record_file *file)
{
    size_t done = 0;
    while (done < file->used && file->failure == 0) {
        ssize_t count = write(file->descriptor, file->buffer + done, file->used - done);
        if (count >= 0)
            done += (size_t)count;
        else if (errno != EINTR)
            file->failure = errno;
    }
    file->used = 0;
    return file->failure == 0;
}

bool gp_record_file_open(gp_record_file *file, const char *path)
{
    file->failure = 0;
    file->rows = 0;
    file->last_ns = 0;
    file->descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file->descriptor < 0)
        return false;
    file->used = strlen(FIRST_LINES);
    memcpy(file->buffer, FIRST_LINES, file->used);
    if (gp_record_file_flush(file))
        return true;
    (void)close(file->descriptor);
    errno = file->failure;
    return false;
}

static char *append_number(char *end, uint64_t number, char after)
{
    char digits[20];
    size_t count = 0;
    do {
        digits[count++] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    while (count > 0)
        *end++ = digits[--count];
    *end++ = after;
    return end;
}

bool gp_record_file_put(gp_record_file *file, const gp_record_row *row)
{
    if (file->used + MOST_ROW_BYTES > sizeof(file->buffer))
        (void)gp_record_file_flush(file);
    if (file->failure != 0)
        return false;
    char *start = file->buffer + file->used;
    char *end = append_number(start, row->ns, ',');
    *end++ = row->op;
    *end++ = ',';
    end = append_number(end, row->id, ',');
    end = append_number(end, row->bytes, ',');
    end = append_number(end, row->stream, ',');
    end = append_number(end, row->thread, '\n');
    file->used += (size_t)(end - start);
    file->rows++;
    file->last_ns = row->ns;
    return true;
}

void gp_record_file_close(gp_record_file *file)
{
    gp_record_row end = {.ns = file->last_ns, .op = 'e', .bytes = file->rows};
    (void)gp_record_file_put(file, &end);
    (void)gp_record_file_flush(file);
    if (close(file->descriptor) != 0 && file->failure == 0)
        file->failure = errno;
}
