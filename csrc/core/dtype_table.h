/* SPDX-License-Identifier: BSD-3-Clause */
/* The traits of all dtypes: a definition, for the one source file of each module that has it. */
#ifndef MT_CORE_DTYPE_TABLE_H
#define MT_CORE_DTYPE_TABLE_H

#include "core/dtype.h"

const mt_dtype_traits mt_dtype_table[MT_DTYPE_COUNT] = {
#define MT_DTYPE(token, name, ctype, size, category, legacy, element) \
    {name,                                                            \
     legacy,                                                          \
     element,                                                         \
     size,                                                            \
     MT_CAT_##category,                                               \
     MT_CAT_##category != MT_CAT_BOOL && MT_DTYPE_##token != MT_DTYPE_u8},
#include "core/dtypes.def"
#undef MT_DTYPE
};

#endif
