# SPDX-License-Identifier: BSD-3-Clause
"""Names of PyTorch that exist here only to say that what they stand for does not: sparse, quantized, nested and named tensors,
vendor libraries, foreign backends, TorchScript.  Calling one raises NotImplementedError.
"""

FUNCTIONS = {
    "libraries of a vendor": """cudnn_affine_grid_generator cudnn_batch_norm cudnn_convolution cudnn_convolution_add_relu
        cudnn_convolution_relu cudnn_convolution_transpose cudnn_grid_sampler cudnn_is_acceptable
        miopen_batch_norm miopen_convolution miopen_convolution_add_relu miopen_convolution_relu
        miopen_convolution_transpose miopen_depthwise_convolution miopen_rnn fbgemm_linear_fp16_weight
        fbgemm_linear_fp16_weight_fp32_activation fbgemm_linear_int8_weight fbgemm_linear_int8_weight_fp32_activation
        fbgemm_pack_gemm_matrix_fp16 mkldnn_adaptive_avg_pool2d mkldnn_convolution mkldnn_linear_backward_weights
        mkldnn_max_pool2d mkldnn_max_pool3d mkldnn_rnn_layer""",
    "foreign backends": """get_autocast_ipu_dtype get_autocast_xla_dtype is_autocast_ipu_enabled
        is_autocast_xla_enabled set_autocast_ipu_dtype set_autocast_ipu_enabled set_autocast_xla_dtype
        set_autocast_xla_enabled""",
    "TorchScript and program transformations": """cond fork import_ir_module import_ir_module_from_buffer
        merge_type_from_type_comment parse_ir parse_schema parse_type_comment sym_constrain_range
        sym_constrain_range_for_size sym_fresh_size unify_type_list vmap wait""",
    "quantized tensors": """choose_qparams_optimized empty_quantized fake_quantize_per_channel_affine
        fake_quantize_per_tensor_affine fbgemm_linear_quantize_weight fbgemm_pack_quantized_matrix
        fused_moving_avg_obs_fake_quant int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
        q_scale q_zero_point quantize_per_channel quantize_per_tensor quantize_per_tensor_dynamic quantized_batch_norm
        quantized_gru quantized_gru_cell quantized_lstm quantized_lstm_cell quantized_max_pool1d quantized_max_pool2d
        quantized_max_pool3d quantized_rnn_relu_cell quantized_rnn_tanh_cell""",
    "sparse tensors": """ccol_indices_copy col_indices_copy crow_indices_copy hsmm hspmm indices_copy
        resize_as_sparse_ row_indices_copy saddmm smm sparse_bsc_tensor sparse_bsr_tensor sparse_compressed_tensor
        sparse_coo_tensor sparse_csc_tensor sparse_csr_tensor sspaddmm values_copy""",
}
METHODS = {
    "foreign backends": "ipu mtia xpu to_mkldnn",
    "nested tensors": "to_padded_tensor",
    "quantized tensors": """int_repr q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
        q_scale q_zero_point qscheme""",
    "sparse tensors": """ccol_indices coalesce col_indices crow_indices indices is_coalesced
        resize_as_sparse_ row_indices smm sparse_mask sparse_resize_ sparse_resize_and_clear_ sspaddmm
        to_sparse to_sparse_bsc to_sparse_bsr to_sparse_csc to_sparse_csr values""",
}


def refusal(name, subject, module="torch"):
    """The function of that name: it raises, unless an argument or a mode overrides it."""
    from minitorch._C import _has_torch_function as has_torch_function

    def refuse(*args, **kwargs):
        if has_torch_function((*args, *kwargs.values())):
            from minitorch.overrides import handle_torch_function

            return handle_torch_function(refuse, (*args, *kwargs.values()), *args, **kwargs)
        raise NotImplementedError("%s.%s(): %s are out of scope" % (module, name, subject))

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__module__ = "minitorch"
    refuse.__doc__ = "%s(*args, **kwargs): raises NotImplementedError, since %s are out of scope." % (
        name,
        subject,
    )
    return refuse


def function(name):
    """The stub of `torch.<name>`, or None."""
    if name == "set_vital":
        import warnings

        warnings.warn("'set_vital' is deprecated and does nothing", stacklevel=3)

        def set_vital(*args, **kwargs):
            """set_vital(*args): does nothing (deprecated)."""

        return set_vital
    for subject, names in FUNCTIONS.items():
        if name in names.split():
            return refusal(name, subject)
    return None


def methods():
    """Pairs of name and stub for the class Tensor."""
    for subject, names in METHODS.items():
        for name in names.split():
            yield name, refusal(name, subject, "Tensor")
