/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, streams, events and errors over the CUDA runtime. Streams of the pool are made at first use and live as long as
   the process, so a stream id is valid for ever; kernels of different streams are ordered by events only. */
#include "cuda/runtime.h"

#include <stdio.h>

enum { PRIORITIES = 2 };

static cudaStream_t pool[MT_CUDA_MAX_DEVICES][PRIORITIES][MT_CUDA_POOL_STREAMS];
static unsigned next_in_pool[MT_CUDA_MAX_DEVICES][PRIORITIES];
static MT_THREAD_LOCAL int64_t current_stream[MT_CUDA_MAX_DEVICES];
static cudaError_t count_error;

/* --- errors --- */

int mt_cuda_check(cudaError_t code)
{
    if (code == cudaSuccess)
        return 0;
    cudaGetLastError(); /* forget it: the next launch is not to blame */
    return mt_error_set(MT_ERR_CUDA, "CUDA error: %s", cudaGetErrorString(code));
}

/* --- devices --- */

int mt_cuda_device_count(void)
{
    static int count = -1;

    if (count < 0) {
        int n = 0;

        count_error = cudaGetDeviceCount(&n);
        cudaGetLastError();
        count = count_error != cudaSuccess ? 0 : n < MT_CUDA_MAX_DEVICES ? n : MT_CUDA_MAX_DEVICES;
    }
    return count;
}

const char *mt_cuda_why_none(void)
{
    static char text[160];

    if (mt_cuda_device_count() > 0)
        return NULL;
    if (count_error == cudaErrorInsufficientDriver)
        return "Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU and installed a "
               "driver from http://www.nvidia.com/Download/index.aspx";
    if (count_error == cudaSuccess || count_error == cudaErrorNoDevice)
        return "No CUDA GPUs are available";
    snprintf(text, sizeof text, "CUDA could not be initialized: %s", cudaGetErrorString(count_error));
    return text;
}

int mt_cuda_check_device(int index)
{
    if (index >= 0 && index < mt_cuda_device_count())
        return 0;
    return mt_error_set(MT_ERR_CUDA, "CUDA error: invalid device ordinal");
}

int mt_cuda_current_device(void)
{
    int device = 0;

    cudaGetDevice(&device);
    return device;
}

int mt_cuda_set_device(int index)
{
    if (mt_cuda_check_device(index) < 0)
        return -1;
    return mt_cuda_ok(cudaSetDevice(index));
}

int mt_cuda_processors(int index)
{
    static int count[MT_CUDA_MAX_DEVICES];

    if (!count[index] && cudaDeviceGetAttribute(&count[index], cudaDevAttrMultiProcessorCount, index) != cudaSuccess)
        return 1;
    return count[index];
}

int mt_cuda_enter(mt_cuda_guard *guard, mt_device device)
{
    guard->previous = mt_cuda_current_device();
    if (guard->previous == device.index)
        return 0;
    return mt_cuda_ok(cudaSetDevice(device.index));
}

void mt_cuda_leave(const mt_cuda_guard *guard)
{
    if (mt_cuda_current_device() != guard->previous)
        cudaSetDevice(guard->previous);
}

int mt_cuda_synchronize(mt_device device)
{
    mt_cuda_guard guard;
    int rc = -1;

    if (mt_cuda_enter(&guard, device) == 0)
        rc = mt_cuda_ok(cudaDeviceSynchronize());
    mt_cuda_leave(&guard);
    return rc;
}

/* --- streams: id = 1 + priority class + 2 * number in the pool --- */

cudaStream_t mt_cuda_stream_of(int device, int64_t id)
{
    return id <= 0 ? NULL : pool[device][(id - 1) % PRIORITIES][(id - 1) / PRIORITIES % MT_CUDA_POOL_STREAMS];
}

int mt_cuda_stream_new(int64_t *id, int device, int priority)
{
    int high = priority < 0, rc = -1;
    unsigned at = next_in_pool[device][high]++ % MT_CUDA_POOL_STREAMS;
    cudaStream_t *slot = &pool[device][high][at];
    mt_cuda_guard guard;

    MT_TRY(mt_cuda_enter(&guard, (mt_device){MT_DEVICE_CUDA, (int8_t)device}));
    if (!*slot)
        MT_TRY(mt_cuda_ok(cudaStreamCreateWithPriority(slot, cudaStreamNonBlocking, high ? -1 : 0)));
    *id = 1 + high + PRIORITIES * (int64_t)at;
    rc = 0;
fail:
    mt_cuda_leave(&guard);
    return rc;
}

int64_t mt_cuda_current_stream_id(int device)
{
    return current_stream[device];
}

void mt_cuda_set_current_stream(int device, int64_t id)
{
    current_stream[device] = id;
}
