#include "backend_choice.h"

const gp_backend_ops *gp_backend_default(void)
{
    /* The probe remembers its result, so this is cheap after the first call. */
    return gp_backend_cuda()->probe() == GP_OK ? gp_backend_cuda() : gp_backend_sim();
}

const gp_backend_ops *gp_backend_of_kind(gp_backend_kind kind)
{
    switch (kind) {
    case GP_BACKEND_CUDA:
        return gp_backend_cuda();
    case GP_BACKEND_SIM:
        return gp_backend_sim();
    default:
        return gp_backend_default();
    }
}
