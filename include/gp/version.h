/**
 * @file
 * The version of the headers, and of the library that was loaded.
 */
#ifndef GP_VERSION_H
#define GP_VERSION_H

#include "gp/base.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GP_VERSION_MAJOR 0
#define GP_VERSION_MINOR 1
#define GP_VERSION_PATCH 0
#define GP_VERSION_STRING "0.1.0"

/** The version of the loaded library, for example "0.1.0". */
GP_API const char *gp_version_string(void);

#ifdef __cplusplus
}
#endif

#endif
