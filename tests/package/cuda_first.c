#include <cuda_runtime.h>

#include "gp/gp.h"
#include "gp/sim.h"
