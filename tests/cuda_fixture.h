/* Opens the CUDA backend on the paper driver of fake_driver.h. */
#ifndef GP_TESTS_CUDA_FIXTURE_H
#define GP_TESTS_CUDA_FIXTURE_H

#include "backend.h"
#include "fake_driver.h"

#include <criterion/criterion.h>
#include <criterion/new/assert.h>

enum { MODE_GLOBAL = 0, OUT_OF_MEMORY = 2 };

extern const gp_backend_ops *ops;
extern fake_driver *driver;
extern gp_backend *backend;

/* The driver's own view of the calling thread. */
extern fake_driver_set_thread_fn *set_thread;
extern fake_driver_context_depth_fn *context_depth;
extern fake_driver_capture_mode_fn *capture_mode;

/* For a suite's .init: the driver only, or a backend on its device 0 as well, with
 * an empty log. */
void cuda_load_driver(void);
void cuda_open_backend(void);

/* A driver too old for gp. */
void cuda_load_old_driver(void);

bool cuda_was_called(const char *native);
bool cuda_error_mentions(const char *words);

#endif
