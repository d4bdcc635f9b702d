/* SPDX-License-Identifier: BSD-3-Clause */
/* Convolution of tensors: arguments of the op brought to three spatial dims. The meta rules in ops/ and the kernels
   here read them in the same way. */
#ifndef MT_CPU_CONV_OP_H
#define MT_CPU_CONV_OP_H

#include "core/op.h"

/* The arguments of convolution, lists of one element repeated; spatial values stand at the end of three. */
typedef struct mt_conv_args {
    int nd; /* spatial dims of the tensors, 1 to 3 */
    bool transposed;
    int64_t groups;
    int64_t kernel[3], stride[3], pad[3], dilation[3], output_pad[3];
} mt_conv_args;

void mt_conv_args_read(mt_conv_args *out, const mt_tensor *weight, mt_ints stride, mt_ints padding, mt_ints dilation,
                       bool transposed, mt_ints output_padding, int64_t groups);

/* Do the strides fall from the batch over the spatial dims to the channels, and not row by row? Results of images with such
   strides have them too. */
bool mt_conv_prefers_channels_last(const mt_tensor *t);

#endif
