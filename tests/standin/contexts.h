/* Contexts of the stand-in: one primary context a device, and each thread's stack of them. */
#ifndef GP_TESTS_STANDIN_CONTEXTS_H
#define GP_TESTS_STANDIN_CONTEXTS_H

#include "cuda_driver.h"

#include "gp/sim.h"

struct CUctx_st {
    int device;
};

enum { STANDIN_DEVICES = 8, STANDIN_INVALID_DEVICE = 101, STANDIN_INVALID_VALUE = 1 };

/* Devices of the simulated machine. */
int standin_device_count(void);

gp_cu_context standin_primary(int device);

/* Is a context current in the calling thread? Most calls need one. */
bool standin_has_context(void);

/* Leave the thread with device 0's primary context, or with none. */
void standin_set_context(bool is_current);

#endif
