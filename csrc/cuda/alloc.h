/* SPDX-License-Identifier: BSD-3-Clause */
/* The caching allocator: memory of freed tensors serves later ones of the same stream without asking the driver. */
#ifndef MT_CUDA_ALLOC_H
#define MT_CUDA_ALLOC_H

#include <stdint.h>

#include "cuda/runtime.h"

typedef struct mt_cuda_stats {
    size_t allocated, allocated_peak; /* bytes of tensors */
    size_t reserved, reserved_peak;   /* bytes taken from the driver */
    uint64_t n_allocs, n_frees, n_segments, n_retries, n_ooms;
} mt_cuda_stats;

/* Memory of the thread's current stream. OutOfMemoryError when neither the cache nor the driver has it. */
int mt_cuda_alloc(void **out, size_t nbytes, mt_device device);
void mt_cuda_free(void *data);
/* The memory is also used on that stream: it is not given to others before the work queued there now is done. */
int mt_cuda_record_stream(void *data, cudaStream_t stream);
/* Whole unused segments go back to the driver. */
int mt_cuda_empty_cache(void);
const mt_cuda_stats *mt_cuda_stats_of(int device);
void mt_cuda_reset_peak(int device);

#endif
