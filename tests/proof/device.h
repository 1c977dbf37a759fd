/*
 * The device that a program runs on: the simulated one in libgp, or the one behind the stand-in
 * for the CUDA driver. Both are driven by the calls of gp/sim.h, each by its own.
 */
#ifndef GP_TESTS_PROOF_DEVICE_H
#define GP_TESTS_PROOF_DEVICE_H

#include "gp/gp.h"
#include "gp/sim.h"

#define PROOF_DEVICE_CALLS(CALL)                                                                   \
    CALL(gp_status, reset, (const gp_sim_config *))                                                \
    CALL(void, advance, (uint64_t))                                                                \
    CALL(gp_sim_result, stream_create, (cudaStream_t *, bool))                                     \
    CALL(gp_sim_result, stream_destroy, (cudaStream_t))                                            \
    CALL(gp_sim_result, stream_synchronize, (cudaStream_t))                                        \
    CALL(gp_sim_result, device_synchronize, (void))                                                \
    CALL(gp_sim_result, stream_wait_event, (cudaStream_t, gp_sim_event))                           \
    CALL(gp_sim_result, launch, (cudaStream_t, const gp_sim_access *, size_t, uint64_t))           \
    CALL(gp_sim_result, gate_create, (gp_sim_gate *))                                              \
    CALL(gp_sim_result, gate_wait, (cudaStream_t, gp_sim_gate))                                    \
    CALL(gp_sim_result, gate_open, (gp_sim_gate))                                                  \
    CALL(gp_sim_result, gate_destroy, (gp_sim_gate))                                               \
    CALL(gp_sim_result, event_create, (gp_sim_event *))                                            \
    CALL(gp_sim_result, event_destroy, (gp_sim_event))                                             \
    CALL(gp_sim_result, event_record, (gp_sim_event, cudaStream_t))                                \
    CALL(gp_sim_result, mem_get_info, (size_t *, size_t *))                                        \
    CALL(gp_sim_result, begin_capture, (cudaStream_t, gp_sim_capture_mode))                        \
    CALL(gp_sim_result, end_capture, (cudaStream_t, gp_sim_graph *))                               \
    CALL(gp_sim_result, graph_launch, (gp_sim_graph, cudaStream_t))                                \
    CALL(gp_sim_result, graph_destroy, (gp_sim_graph))                                             \
    CALL(void, fail, (gp_sim_function, uint64_t, uint64_t, gp_sim_result))                         \
    CALL(uint64_t, dead_handle_count, (void))                                                      \
    CALL(size_t, live_events, (void))                                                              \
    CALL(size_t, live_pools, (void))                                                               \
    CALL(size_t, live_streams, (void))                                                             \
    CALL(uint64_t, hazard_count, (void))                                                           \
    CALL(size_t, get_hazards, (gp_sim_hazard *, size_t))                                           \
    CALL(int, describe_hazard, (const gp_sim_hazard *, char *, size_t))

typedef struct proof_device {
    gp_backend_kind backend; /* of gp's pools on it */
#define PROOF_DEVICE_FIELD(type, name, parameters) type(*name) parameters;
    PROOF_DEVICE_CALLS(PROOF_DEVICE_FIELD)
#undef PROOF_DEVICE_FIELD
    /* Make a context current in the calling thread, or none. NULL: there is no such thing. */
    void (*set_context)(bool is_current);
} proof_device;

/* The calls of the simulated device that the including file is linked with. */
#define PROOF_DEVICE_ENTRY(type, name, parameters) .name = gp_sim_##name,
#define PROOF_DEVICE_ENTRIES PROOF_DEVICE_CALLS(PROOF_DEVICE_ENTRY)

const proof_device *proof_device_simulated(void);

/* NULL if libcuda.so.1 is not there, or not the stand-in. */
const proof_device *proof_device_standin(void);

/* Exported by the stand-in. */
typedef const proof_device *proof_standin_fn(void);
#define PROOF_STANDIN_SYMBOL "gp_standin_device"

#endif
