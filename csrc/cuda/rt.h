/* SPDX-License-Identifier: BSD-3-Clause */
/* The CUDA runtime: the toolkit's, or the emulator's. */
#ifndef MT_CUDA_RT_H
#define MT_CUDA_RT_H

#if defined(MT_CUDA_EMU)
#include "cuda/emu/emu_internal.h"
#include "cuda/emu/runtime_api.h"
#else
#include <cuda_runtime_api.h>
#endif

#endif
