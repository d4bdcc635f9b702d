/* SPDX-License-Identifier: BSD-3-Clause */
/* The names of layouts. Tensors are strided; the other names exist for programs that compare with them. */
#ifndef MT_CORE_LAYOUT_H
#define MT_CORE_LAYOUT_H

#define MT_LAYOUT_STRIDED 0
#define MT_LAYOUT_COUNT 8
static const char *const mt_layout_names[MT_LAYOUT_COUNT] = {
    "strided", "sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc", "_mkldnn", "jagged",
};

#endif
