/**
 * @file
 * The one result type of gp, and what can be asked about the last failure.
 */
#ifndef GP_STATUS_H
#define GP_STATUS_H

#include "gp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Result of every gp call that can fail.
 *
 * A call that does not return GP_OK has written none of its outputs and has
 * left the pool usable, unless its own documentation says otherwise. Values are
 * part of the ABI: new ones are added before GP_STATUS_COUNT, none is
 * renumbered.
 */
typedef enum gp_status {
    GP_OK = 0,

    /* The caller's mistakes. Nothing was changed. */
    GP_ERR_INVALID_ARGUMENT = 1, /**< A required argument is NULL or out of range. */
    GP_ERR_INVALID_CONFIG = 2,   /**< A config field is out of range. */
    GP_ERR_VERSION_MISMATCH = 3, /**< struct_bytes is not one this library knows. */
    GP_ERR_INVALID_POOL = 4,     /**< NULL, never created, or already destroyed; found
                                      broken by gp_pool_check(). */
    GP_ERR_INVALID_STREAM = 5,   /**< Not a stream, or a destroyed one. */
    GP_ERR_WRONG_DEVICE = 6,     /**< The stream belongs to another device. */
    GP_ERR_SIZE_OVERFLOW = 7,    /**< No device can hold so many bytes. */
    GP_ERR_NOT_OWNED = 8,        /**< The pointer is not one gp handed out. */
    GP_ERR_INTERIOR_POINTER = 9, /**< It points inside a block, not at its start. */
    GP_ERR_DOUBLE_FREE = 10,     /**< The block is already free. */

    /* Expected failures. */
    GP_ERR_OUT_OF_MEMORY = 11,      /**< The device is full, caches included. */
    GP_ERR_LIMIT = 12,              /**< The pool's own limit is reached. */
    GP_ERR_OUT_OF_HOST_MEMORY = 13, /**< malloc failed. */
    GP_ERR_UNSUPPORTED = 14,        /**< The device or driver cannot do this. */
    GP_ERR_BUSY = 15,               /**< Allocations are still live. */
    GP_ERR_CAPTURE = 16,            /**< Not possible while this stream captures. */
    GP_ERR_WRONG_PROCESS = 17,      /**< Called in a forked child. */
    GP_ERR_SHUTDOWN = 18,           /**< The process or the driver is shutting down. */
    GP_ERR_CUDA = 19,               /**< Any other native error: gp_last_native_error(). */
    GP_ERR_INTERNAL = 20,           /**< An invariant of gp's own is broken: please report it. */
    GP_ERR_CORRUPTED = 21,          /**< The program wrote where it must not: gp_pool_check(). */
    GP_ERR_IO = 22,                 /**< A file cannot be opened or written. */

    GP_STATUS_COUNT
} gp_status;

/**
 * Name and meaning of a status, in English, for a log line.
 *
 * @param status  Any value; unknown ones give "unknown status".
 * @return A string that lives as long as the library.
 */
GP_API const char *gp_status_string(gp_status status);

/**
 * What went wrong in the calling thread's last gp call that failed.
 *
 * The text names what was found and what was asked: for GP_ERR_OUT_OF_MEMORY and
 * GP_ERR_LIMIT, the bytes asked, live, cached and reserved; for a bad free, the
 * block the pointer lies in; for GP_ERR_BUSY, the first of the live allocations.
 * At most 1023 bytes; a longer text ends in "...".
 *
 * @return A NUL-terminated string, empty if no call of this thread failed yet.
 *         Valid until this thread's next gp call.
 */
GP_API const char *gp_last_error(void);

/**
 * The native error code (CUresult) behind the calling thread's last failure.
 *
 * @return 0 if the last failed call of this thread did not come from a native
 *         call. The user's own last CUDA error (cudaGetLastError) is never
 *         touched by gp.
 */
GP_API int gp_last_native_error(void);

#ifdef __cplusplus
}
#endif

#endif
