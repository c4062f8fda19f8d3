/* launch.exe REQUEST: start one Windows program with exactly the environment that the request names.
 *
 * Wine fills USERPROFILE, TEMP, PATH and others of its first process from the registry, whatever the
 * Linux side says, and hands only eight bits of an exit status back to Linux. This program cures both.
 *
 * REQUEST is a file of UTF-16 strings, each ended by a zero: folder, command line, NAME=value ...,
 * and an empty string last. The exit status is written, in decimal, to REQUEST.rc.
 * Everything runs in a job that dies with this process, so a killed test leaves nothing behind.
 *
 * launch.exe --hold says + and waits for the end of its standard input. While it runs, Wine's services stay up
 * and starting a program takes a twentieth of a second instead of four seconds.
 */
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

enum { FAILED = 127 };

static wchar_t *read_request(const wchar_t *path) {
    LARGE_INTEGER size;
    DWORD got = 0;
    wchar_t *text;
    HANDLE file = CreateFileW(path, GENERIC_READ, FILE_SHARE_READ, 0, OPEN_EXISTING, 0, 0);
    if (file == INVALID_HANDLE_VALUE || !GetFileSizeEx(file, &size)) return 0;
    text = calloc((size_t)size.QuadPart + 4, 1);
    if (!text || !ReadFile(file, text, (DWORD)size.QuadPart, &got, 0)) return 0;
    CloseHandle(file);
    return text;
}

static void write_status(const wchar_t *request, DWORD status) {
    wchar_t path[4096];
    FILE *file;
    swprintf(path, sizeof path / sizeof *path, L"%ls.rc", request);
    if ((file = _wfopen(path, L"wb"))) {
        fprintf(file, "%lu", status);
        fclose(file);
    }
}

static int hold(void) {
    char byte = '+';
    DWORD got;
    WriteFile(GetStdHandle(STD_OUTPUT_HANDLE), &byte, 1, &got, 0);
    while (ReadFile(GetStdHandle(STD_INPUT_HANDLE), &byte, 1, &got, 0) && got) {}
    return 0;
}

int wmain(int argc, wchar_t **argv) {
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {0};
    STARTUPINFOW startup = {0};
    PROCESS_INFORMATION process;
    DWORD status = FAILED;
    wchar_t *folder, *command, *environment;
    HANDLE job;

    if (argc != 2) return FAILED;
    if (!wcscmp(argv[1], L"--hold")) return hold();
    if (!(folder = read_request(argv[1]))) return FAILED;
    command = folder + wcslen(folder) + 1;
    environment = command + wcslen(command) + 1;

    job = CreateJobObjectW(0, 0);
    limits.BasicLimitInformation.LimitFlags = JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE;
    SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);

    startup.cb = sizeof startup;
    startup.dwFlags = STARTF_USESTDHANDLES;
    startup.hStdInput = GetStdHandle(STD_INPUT_HANDLE);
    startup.hStdOutput = GetStdHandle(STD_OUTPUT_HANDLE);
    startup.hStdError = GetStdHandle(STD_ERROR_HANDLE);
    if (!CreateProcessW(0, command, 0, 0, TRUE, CREATE_SUSPENDED | CREATE_UNICODE_ENVIRONMENT, environment,
                        folder, &startup, &process)) {
        fprintf(stderr, "launch: error %lu starting %ls\n", GetLastError(), command);
        return FAILED;
    }
    AssignProcessToJobObject(job, process.hProcess);
    ResumeThread(process.hThread);
    WaitForSingleObject(process.hProcess, INFINITE);
    GetExitCodeProcess(process.hProcess, &status);
    write_status(argv[1], status);
    return (int)(status & 0xff);
}
