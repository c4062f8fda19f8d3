__global__ void scale_kernel(float *x, int n, float factor) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] *= factor;
}

void scale_on_gpu(float *x, int n, float factor) {
    scale_kernel<<<(n + 255) / 256, 256>>>(x, n, factor);
}
