/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, streams, events and errors. Current device and current streams belong to the thread, as in PyTorch; everything
   here is called with the interpreter lock held, unless it says that it waits. */
#ifndef MT_CUDA_RUNTIME_H
#define MT_CUDA_RUNTIME_H

#include "base/error.h"
#include "core/device.h"
#include "cuda/rt.h"

enum { MT_CUDA_MAX_DEVICES = 16, MT_CUDA_POOL_STREAMS = 32 };

/* -1 with the runtime's words unless code is success. */
int mt_cuda_check(cudaError_t code) MT_COLD;
static inline int mt_cuda_ok(cudaError_t code)
{
    return MT_LIKELY(code == cudaSuccess) ? 0 : mt_cuda_check(code);
}
/* The error of a launch, which has no result of its own. */
static inline int mt_cuda_launched(void)
{
    return mt_cuda_ok(cudaGetLastError());
}

/* Number of devices, 0 when there is no driver; counted once. why_none words the absence. */
int mt_cuda_device_count(void);
const char *mt_cuda_why_none(void);
int mt_cuda_check_device(int index);
int mt_cuda_current_device(void);
int mt_cuda_set_device(int index);
int mt_cuda_processors(int index);

/* The thread's device becomes that of an operation, and is put back. */
typedef struct mt_cuda_guard {
    int previous;
} mt_cuda_guard;
int mt_cuda_enter(mt_cuda_guard *guard, mt_device device);
void mt_cuda_leave(const mt_cuda_guard *guard);

/* A stream is a device and an id: 0 the default one, others from a pool made at first use. */
int mt_cuda_stream_new(int64_t *id, int device, int priority);
cudaStream_t mt_cuda_stream_of(int device, int64_t id);
int64_t mt_cuda_current_stream_id(int device);
void mt_cuda_set_current_stream(int device, int64_t id);
static inline cudaStream_t mt_cuda_current_stream(int device)
{
    return mt_cuda_stream_of(device, mt_cuda_current_stream_id(device));
}

/* Waits for everything queued on the device. */
int mt_cuda_synchronize(mt_device device);

/* Links the module to the core and registers the device when there is one (link.c). */
struct mt_backend_api;
int mt_cuda_attach(const struct mt_backend_api *api);

#endif
