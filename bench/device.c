/* Which device, and what went wrong on it. */
#include "device.h"

#include "device_error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static _Thread_local char last_error[256];

device_result device_fail(device_result result, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(last_error, sizeof(last_error), format, arguments);
    va_end(arguments);
    return result;
}

const char *device_error(void)
{
    return last_error;
}

const device_ops *device_open(const char *name, int device)
{
    bool any = strcmp(name, "auto") == 0;
    const device_ops *const known[] = {device_cuda(), device_sim()};
    for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
        if (!any && strcmp(name, known[i]->name) != 0)
            continue;
        if (known[i]->open(device) == DEVICE_OK)
            return known[i];
        if (!any)
            return NULL;
    }
    if (!any)
        device_fail(DEVICE_INVALID_VALUE, "no device is called %s: auto, cuda or sim", name);
    return NULL;
}
