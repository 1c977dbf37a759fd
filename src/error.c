/* The calling thread's last failure: its text and the native code behind it. */
#include "error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_BYTES = 1024 };

static const char truncation_mark[] = "...";

/* One per thread: a failure of one thread never changes what another reads. */
static _Thread_local char last_text[TEXT_BYTES];
static _Thread_local int last_native;

/* A list that was cut short must not look complete. */
static void mark_if_truncated(char *text, int wanted_bytes)
{
    if (wanted_bytes >= TEXT_BYTES)
        memcpy(text + TEXT_BYTES - sizeof(truncation_mark), truncation_mark,
               sizeof(truncation_mark));
}

GP_PRINTF(2, 0)
static void write_text(size_t used_bytes, const char *format, va_list arguments)
{
    /* Formatted aside, since an argument may be the last text itself. */
    char text[TEXT_BYTES];
    memcpy(text, last_text, used_bytes);

    int written = vsnprintf(text + used_bytes, TEXT_BYTES - used_bytes, format, arguments);
    if (written < 0) {
        text[used_bytes] = '\0';
        written = 0;
    }
    mark_if_truncated(text, written > TEXT_BYTES ? TEXT_BYTES : (int)used_bytes + written);
    memcpy(last_text, text, TEXT_BYTES);
}

gp_status gp_error_set(gp_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_text(0, format, arguments);
    va_end(arguments);

    last_native = 0;
    return status;
}

void gp_error_append(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    write_text(strnlen(last_text, TEXT_BYTES - 1), format, arguments);
    va_end(arguments);
}

void gp_error_set_native(int native)
{
    last_native = native;
}

const char *gp_last_error(void)
{
    return last_text;
}

int gp_last_native_error(void)
{
    return last_native;
}

const char *gp_status_string(gp_status status)
{
    static const char *const names[GP_STATUS_COUNT] = {
        [GP_OK] = "ok",
        [GP_ERR_INVALID_ARGUMENT] = "invalid argument",
        [GP_ERR_INVALID_CONFIG] = "invalid config: a field is out of range",
        [GP_ERR_VERSION_MISMATCH] = "version mismatch: struct_bytes is not one this library knows",
        [GP_ERR_INVALID_POOL] = "invalid pool: NULL, never created or destroyed",
        [GP_ERR_INVALID_STREAM] = "invalid stream: not a stream, or a destroyed one",
        [GP_ERR_WRONG_DEVICE] = "wrong device: the stream belongs to another one",
        [GP_ERR_SIZE_OVERFLOW] = "size overflow: no device holds so many bytes",
        [GP_ERR_NOT_OWNED] = "not owned: the pointer is not one gp handed out",
        [GP_ERR_INTERIOR_POINTER] = "interior pointer: it points inside a block",
        [GP_ERR_DOUBLE_FREE] = "double free: the block is already free",
        [GP_ERR_OUT_OF_MEMORY] = "out of device memory",
        [GP_ERR_LIMIT] = "the pool's own limit is reached",
        [GP_ERR_OUT_OF_HOST_MEMORY] = "out of host memory",
        [GP_ERR_UNSUPPORTED] = "unsupported by the device or the driver",
        [GP_ERR_BUSY] = "busy: allocations are still live",
        [GP_ERR_CAPTURE] = "not possible while this stream captures",
        [GP_ERR_WRONG_PROCESS] = "wrong process: called in a forked child",
        [GP_ERR_SHUTDOWN] = "the process or the driver is shutting down",
        [GP_ERR_CUDA] = "native error, see gp_last_native_error()",
        [GP_ERR_INTERNAL] = "an invariant of gp is broken",
        [GP_ERR_CORRUPTED] = "memory was written to that must not be",
        [GP_ERR_IO] = "a file cannot be opened or written",
    };
    if ((unsigned)status >= GP_STATUS_COUNT)
        return "unknown status";
    return names[status];
}
