#include "gp/version.h"

const char *gp_version_string(void)
{
    return GP_VERSION_STRING;
}
