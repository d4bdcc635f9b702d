/* SPDX-License-Identifier: BSD-3-Clause */
/* Conversion to the dtype in scope: cast_<XS>, a mt_loop_fn. The kernel asks for the dtype of the source as it goes. params
   of the args: the source's dtype, and what changes sign (1 the real part, 2 the imaginary one). Half formats go through
   float both ways. */

#define READ MT_LOOP_SYMBOL(read, XS)
#define KERNEL_NAME MT_LOOP_SYMBOL(cast_kernel, XS)
#define CAST(kind, value) MT_FORMULA(cast_##kind##_to, S)(value)
#if IS_COMPLEX
#define OF_PAIR(kind, z) FN(make)((REAL)(z).re, (REAL)(z).im)
#elif IS_BOOL
#define OF_PAIR(kind, z) (uint8_t)(((z).re != 0) | ((z).im != 0))
#else
#define OF_PAIR(kind, z) CAST(kind, (z).re)
#endif

static __device__ __forceinline__ T READ(const char *p, int from)
{
    switch (from) {
    case MT_DTYPE_b8:
        return CAST(s, *(const uint8_t *)p != 0);
    case MT_DTYPE_u8:
        return CAST(s, *(const uint8_t *)p);
    case MT_DTYPE_i8:
        return CAST(s, *(const int8_t *)p);
    case MT_DTYPE_i16:
        return CAST(s, *(const int16_t *)p);
    case MT_DTYPE_i32:
        return CAST(s, *(const int32_t *)p);
    case MT_DTYPE_i64:
        return CAST(i, *(const int64_t *)p);
    case MT_DTYPE_f16:
        return CAST(f, mt_f16_to_f32(*(const uint16_t *)p));
    case MT_DTYPE_bf16:
        return CAST(f, mt_bf16_to_f32(*(const uint16_t *)p));
    case MT_DTYPE_f32:
        return CAST(f, *(const float *)p);
    case MT_DTYPE_f64:
        return CAST(d, *(const double *)p);
    case MT_DTYPE_c64: {
        const mt_c64 z = *(const mt_c64 *)p;

        return OF_PAIR(f, z);
    }
    default: {
        const mt_c128 z = *(const mt_c128 *)p;

        return OF_PAIR(d, z);
    }
    }
}

static __global__ void KERNEL_NAME(const MT_GRID_CONSTANT mt_cuda_args g)
{
    const int64_t step = (int64_t)gridDim.x * blockDim.x;
    const int from = ((const int32_t *)g.params)[0], parts = ((const int32_t *)g.params)[1];

    for (int64_t i = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; i < g.numel; i += step) {
        int64_t at[2];
        T value;

        mt_cuda_locate(at, 2, &g, i);
        value = READ(g.data[1] + at[1], from);
#if IS_COMPLEX
        if (parts)
            value = FN(make)(parts & 1 ? -value.re : value.re, parts & 2 ? -value.im : value.im);
#else
        if (parts & 1)
            value = (T)-value;
#endif
        *(X *)(g.data[0] + at[0]) = STORE(value);
    }
}

static void MT_LOOP_SYMBOL(cast, XS)(char *const *data, const int64_t *stride, int64_t n, const void *params)
{
    const mt_cuda_launch *l = (const mt_cuda_launch *)params;

    (void)data, (void)stride, (void)n;
    MT_LAUNCH(KERNEL_NAME, l->blocks, MT_CUDA_BLOCK, 0, l->stream, *l->args);
}

#undef READ
#undef KERNEL_NAME
#undef CAST
#undef OF_PAIR
