/* The calling thread's last failure: its text and the native code behind it. */
#ifndef GP_SRC_ERROR_H
#define GP_SRC_ERROR_H

#include "gp/status.h"

/*
 * Remember a failure and return its status, so that the place that decides an
 * error reads `return gp_error_set(GP_ERR_..., "...", ...)`. Callers further up
 * pass the status on and leave the text alone.
 */
GP_PRINTF(2, 3)
gp_status gp_error_set(gp_status status, const char *format, ...);

/* Append to the text of the failure just set. */
GP_PRINTF(1, 2)
void gp_error_append(const char *format, ...);

/* Remember the native code; cuda_status.c calls it after gp_error_set(), which
 * resets it to 0: a failure that gp found itself has no native code. */
void gp_error_set_native(int native);

#endif
