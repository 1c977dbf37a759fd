/* Which backend a pool gets that asks for none in particular. */
#ifndef GP_SRC_BACKEND_CHOICE_H
#define GP_SRC_BACKEND_CHOICE_H

#include "backend.h"

/* CUDA if its driver and a device are there, else the simulated device. */
const gp_backend_ops *gp_backend_default(void);

/* The ops table of a kind; GP_BACKEND_AUTO gives the default. */
const gp_backend_ops *gp_backend_of_kind(gp_backend_kind kind);

#endif
