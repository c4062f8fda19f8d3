/* The few functions of NVML that gpu_script.py calls, for tests on Linux.
 *
 * FAKE_NVML says what happens at initialisation: unset, success; "crash"; "hang"; else the error
 * number to return.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int nvmlInit_v2(void)
{
    const char *wish = getenv("FAKE_NVML");
    if (!wish)
        return 0;
    if (!strcmp(wish, "crash"))
        abort();
    if (!strcmp(wish, "hang"))
        sleep(600);
    return atoi(wish);
}

int nvmlDeviceGetCount_v2(unsigned *count) { *count = 2; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)(size_t)(index + 1);
    return 0;
}
int nvmlDeviceGetName(void *device, char *name, unsigned size)
{
    strncpy(name, device == (void *)1 ? "NVIDIA GeForce RTX 4090" : "NVIDIA GeForce GTX 1060", size);
    return 0;
}
int nvmlDeviceGetCudaComputeCapability(void *device, int *major, int *minor)
{
    *major = device == (void *)1 ? 8 : 6;
    *minor = device == (void *)1 ? 9 : 1;
    return 0;
}
int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    (void)device;
    memory[0] = 24ULL << 30;
    return 0;
}
int nvmlSystemGetDriverVersion(char *version, unsigned size)
{
    strncpy(version, "581.57", size);
    return 0;
}
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = 12080; return 0; }
