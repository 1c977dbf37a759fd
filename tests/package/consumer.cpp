// A user's C++ program. CUDA_FIRST and CUDA_LAST put the CUDA Toolkit's own declarations of the
// types gp names on either side of gp's.
#ifdef CUDA_FIRST
#include <cuda_runtime.h>
#endif

#include "gp/gp.h"
#include "gp/sim.h"

#ifdef CUDA_LAST
#include <cuda_runtime.h>
#endif

#include <cstring>

int main()
{
    return std::strcmp(gp_version_string(), GP_VERSION_STRING) == 0 ? 0 : 1;
}
