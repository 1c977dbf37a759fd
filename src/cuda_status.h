/* The one place where a native result becomes a gp_status. */
#ifndef GP_SRC_CUDA_STATUS_H
#define GP_SRC_CUDA_STATUS_H

#include "gp/status.h"

/*
 * Translate a CUresult (0 gives GP_OK). For a failure, remembers the code for
 * gp_last_native_error() and sets the text "<call>: <name> (<code>)".
 */
gp_status gp_status_from_native(int native, const char *call);

/* Name of a CUresult, for example "CUDA_ERROR_OUT_OF_MEMORY". */
const char *gp_native_error_name(int native);

#endif
