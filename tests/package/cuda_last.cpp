#include "gp/gp.h"
#include "gp/sim.h"

#include <cuda_runtime.h>
