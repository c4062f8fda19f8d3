#include <torch/extension.h>

void scale_on_gpu(float *x, int n, float factor);

static torch::Tensor scale(torch::Tensor x, double factor) {
    TORCH_CHECK(x.is_cuda() && x.scalar_type() == torch::kFloat, "a float tensor on the GPU");
    auto y = x.clone();
    scale_on_gpu(y.data_ptr<float>(), static_cast<int>(y.numel()), static_cast<float>(factor));
    return y;
}

PYBIND11_MODULE(TORCH_EXTENSION_NAME, m) { m.def("scale", &scale); }
