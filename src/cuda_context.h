/*
 * Primary contexts that gp holds, and the frame in which its native calls are
 * made: a current context, and a capture mode that lets any call pass.
 */
#ifndef GP_SRC_CUDA_CONTEXT_H
#define GP_SRC_CUDA_CONTEXT_H

#include "cuda_driver.h"

/* Devices beyond this ordinal are refused; no host has that many. */
enum { GP_CUDA_MAX_DEVICES = 64 };

/* Keep a device's primary context alive until gp_cuda_context_release(). */
gp_status gp_cuda_context_retain(int device, gp_cu_context *context);
void gp_cuda_context_release(int device);

/*
 * The primary context of device 0, which is what CUDA's runtime gives a thread
 * that has chosen no device. Retained on first use and kept.
 */
gp_status gp_cuda_context_default(gp_cu_context *context);

/*
 * Device whose primary context this is. GP_ERR_UNSUPPORTED for any other kind
 * of context: an event of one context cannot be recorded on a stream of another,
 * so gp could not order such a stream.
 */
gp_status gp_cuda_context_device(gp_cu_context context, int *device);

/*
 * Make a context current if another is. leave() undoes it with the value that
 * was stored in *pushed. Costs a query of 10 ns when there is nothing to do.
 */
int gp_cuda_context_enter(gp_cu_context context, bool *pushed);
void gp_cuda_context_leave(bool pushed);

/* What gp_cuda_frame_leave() puts back. */
typedef struct gp_cuda_frame {
    int capture_mode;
    bool pushed;
} gp_cuda_frame;

/*
 * gp_cuda_context_enter(), and the calling thread's capture mode relaxed.
 *
 * The mode decides only whether calls that the driver deems unsafe during a
 * capture, such as cuEventQuery or pool growth, are refused and invalidate the
 * capture. It does not keep work out of a capture: on a capturing stream an
 * allocation and a free become nodes of the graph in any mode, since the stream
 * decides that (cuThreadExchangeStreamCaptureMode, cuMemAllocFromPoolAsync).
 */
gp_status gp_cuda_frame_enter(gp_cuda_frame *frame, gp_cu_context context);
void gp_cuda_frame_leave(gp_cuda_frame *frame);

#endif
