/* What the device implementations leave for device_error(). */
#ifndef GP_BENCH_DEVICE_ERROR_H
#define GP_BENCH_DEVICE_ERROR_H

#include "device.h"

/* Set the calling thread's text and return the result. */
GP_PRINTF(2, 3)
device_result device_fail(device_result result, const char *format, ...);

#endif
