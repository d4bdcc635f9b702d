/* SPDX-License-Identifier: BSD-3-Clause */
/* The device's entry in the core's table, and copies to, from and between devices. */
#ifndef MT_CUDA_COPY_H
#define MT_CUDA_COPY_H

#include "core/op.h"
#include "cuda/runtime.h"

extern const mt_device_ops mt_cuda_device_ops;

/* See mt_tensor_assign_hook. */
int mt_cuda_assign(mt_tensor *dst, const mt_tensor *src, unsigned parts);
/* See mt_reduce_runner. */
int mt_cuda_run_reduce(const mt_reduce_job *job, mt_device device);

#endif
