/* SPDX-License-Identifier: BSD-3-Clause */
/* What factories share: the keywords layout, device and pin_memory, and memory formats. */
#ifndef MT_OPS_CREATE_H
#define MT_OPS_CREATE_H

#include "core/op.h"

/* Where a factory puts its result: `given`, or `missing` when there is none. Errors for devices that are not there, for
   other layouts and for pinned memory. */
int mt_factory_device(mt_device *out, mt_device given, mt_device missing, int layout, const bool *pin_memory);

/* An uninitialised tensor in a memory format: -1 and CONTIGUOUS row major, CHANNELS_LAST for 4 dims, CHANNELS_LAST_3D
   for 5. PRESERVE is an error. */
int mt_tensor_new_format(mt_tensor **out, mt_dtype dtype, int ndim, const int64_t *size, int memory_format,
                         mt_device device);
/* The same in the likeness of a tensor; -1 and PRESERVE follow its memory order. */
int mt_tensor_new_like_format(mt_tensor **out, const mt_tensor *like, mt_dtype dtype, int memory_format,
                              mt_device device);
/* RuntimeError "required rank 4 tensor to use channels_last format" and its twin. */
int mt_check_format_rank(int memory_format, int ndim);
/* The memory format that the strides of t look like: CHANNELS_LAST, CHANNELS_LAST_3D, else CONTIGUOUS. */
int mt_suggest_format(const mt_tensor *t);

#endif
