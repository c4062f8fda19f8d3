/* Wine 8 lacks this DLL, from which programs written in Rust, such as uv, take random bytes. */

#include <windows.h>

BOOLEAN NTAPI SystemFunction036(PVOID data, ULONG size); /* RtlGenRandom */

__declspec(dllexport) BOOL WINAPI ProcessPrng(PBYTE data, SIZE_T size)
{
    return SystemFunction036(data, (ULONG)size);
}
