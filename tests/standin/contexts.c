#include "contexts.h"

#include "export.h"

#include <stdatomic.h>

enum { MAX_DEPTH = 16, TOO_DEEP = 208 };

static struct CUctx_st primary[STANDIN_DEVICES] = {{0}, {1}, {2}, {3}, {4}, {5}, {6}, {7}};
static atomic_int holds[STANDIN_DEVICES];

static _Thread_local gp_cu_context stack[MAX_DEPTH];
static _Thread_local int depth;

/* ---- devices ---- */

int standin_device_count(void)
{
    const int current = gp_sim_get_device();
    int count = 0;
    while (gp_sim_set_device(count) == 0)
        count++;
    (void)gp_sim_set_device(current);
    return count;
}

gp_cu_context standin_primary(int device)
{
    return &primary[device];
}

/* ---- the stack ---- */

bool standin_has_context(void)
{
    return depth > 0 && stack[depth - 1] != NULL;
}

/* NULL streams mean the current context's: the simulated device goes by its own notion. */
static void follow_stack(void)
{
    (void)gp_sim_set_device(standin_has_context() ? stack[depth - 1]->device : 0);
}

void standin_set_context(bool is_current)
{
    depth = is_current ? 1 : 0;
    stack[0] = &primary[0];
    follow_stack();
}

STANDIN_EXPORT(int, cuCtxGetCurrent, (gp_cu_context * context))
{
    *context = depth > 0 ? stack[depth - 1] : NULL;
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuCtxGetDevice, (int *device))
{
    if (!standin_has_context())
        return GP_CU_INVALID_CONTEXT;
    *device = stack[depth - 1]->device;
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuCtxGetId, (gp_cu_context context, unsigned long long *id))
{
    *id = 1 + (unsigned long long)context->device;
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuCtxPushCurrent_v2, (gp_cu_context context))
{
    if (depth == MAX_DEPTH)
        return TOO_DEEP;
    stack[depth++] = context;
    follow_stack();
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuCtxPopCurrent_v2, (gp_cu_context * context))
{
    if (depth == 0)
        return GP_CU_INVALID_CONTEXT;
    *context = stack[--depth];
    follow_stack();
    return GP_CU_SUCCESS;
}

/* ---- primary contexts ---- */

STANDIN_EXPORT(int, cuDevicePrimaryCtxRetain, (gp_cu_context * context, int device))
{
    if (device < 0 || device >= standin_device_count())
        return STANDIN_INVALID_DEVICE;
    (void)atomic_fetch_add(&holds[device], 1);
    *context = &primary[device];
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuDevicePrimaryCtxRelease_v2, (int device))
{
    (void)atomic_fetch_sub(&holds[device], 1);
    return GP_CU_SUCCESS;
}

STANDIN_EXPORT(int, cuDevicePrimaryCtxGetState, (int device, unsigned *flags, int *active))
{
    *flags = 0;
    *active = atomic_load(&holds[device]) > 0;
    return GP_CU_SUCCESS;
}
