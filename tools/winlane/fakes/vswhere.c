/* A stand-in vswhere.exe that understands the options people use.
 *
 * Beside it, vswhere.exe.d\1, \2, ... describe the installations, newest first. Each holds a file
 * `json` (the whole object, UTF-8), a file for each property (`installationPath`, ...), and a file
 * `components` with one id a line.
 *
 * Understood: -all, -latest, -products ID..., -requires ID... (with * at the end), -requiresAny,
 * -version RANGE, -property NAME, -format json|text|value, -utf8, -nologo, -prerelease, -legacy, -sort.
 */
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <wchar.h>
#include <windows.h>

enum { MANY = 64 };

static struct {
    const wchar_t *requires[MANY], *products[MANY], *property, *format, *version;
    int n_requires, n_products, any, latest;
} wanted = {.format = L"text"};

static wchar_t program[4096];

/* The content of a file of installation `number`, or null. */
static char *content(int number, const wchar_t *name) {
    wchar_t path[5000];
    FILE *file;
    char *text;
    long size;
    swprintf(path, 5000, L"%ls.d\\%d\\%ls", program, number, name);
    if (!(file = _wfopen(path, L"rb"))) return 0;
    fseek(file, 0, SEEK_END);
    size = ftell(file);
    rewind(file);
    text = calloc((size_t)size + 1, 1);
    if (fread(text, 1, (size_t)size, file) != (size_t)size) text[0] = 0;
    fclose(file);
    return text;
}

static int has_component(const char *components, const wchar_t *pattern) {
    char id[512];
    size_t length;
    const char *line;
    snprintf(id, sizeof id, "%ls", pattern);
    length = strlen(id);
    for (line = components; line; line = (line = strchr(line, '\n')) ? line + 1 : 0) {
        if (length && id[length - 1] == '*') {
            if (!_strnicmp(line, id, length - 1)) return 1;
        } else if (!_strnicmp(line, id, length) && (!line[length] || strchr("\r\n", line[length]))) {
            return 1;
        }
    }
    return 0;
}

static int compare(const char *left, const wchar_t *right) {
    while (*left || *right) {
        char *left_end;
        wchar_t *right_end;
        unsigned long a = strtoul(left, &left_end, 10), b = wcstoul(right, &right_end, 10);
        if (a != b) return a < b ? -1 : 1;
        left = *left_end == '.' ? left_end + 1 : "";
        right = *right_end == L'.' ? right_end + 1 : L"";
    }
    return 0;
}

/* A range as in [16.0,17.0) or (,17.0] or a plain lowest version. */
static int in_range(const char *version) {
    const wchar_t *range = wanted.version, *comma;
    wchar_t high[64] = L"";
    int open_low, open_high;
    if (!range) return 1;
    if (*range != L'[' && *range != L'(') return compare(version, range) >= 0;
    open_low = *range++ == L'(';
    if (*range != L',' && compare(version, range) < open_low) return 0;
    if (!(comma = wcschr(range, L','))) return compare(version, range) == 0;
    swscanf(comma + 1, L"%63l[0-9.]", high);
    open_high = range[wcslen(range) - 1] == L')';
    return !high[0] || compare(version, high) <= -open_high;
}

static int fits(int number) {
    char *components = content(number, L"components"), *product = content(number, L"productId");
    char *version = content(number, L"installationVersion");
    int i, met = 0;
    for (i = 0; i < wanted.n_requires; i++) met += has_component(components, wanted.requires[i]);
    if (wanted.n_requires && (wanted.any ? !met : met < wanted.n_requires)) return 0;
    for (i = 0, met = 0; i < wanted.n_products; i++)
        met |= !wcscmp(wanted.products[i], L"*") || has_component(product, wanted.products[i]);
    /* without -products the Build Tools are not listed: a famous trap, kept */
    if (!wanted.n_products) met = !strstr(product, ".BuildTools");
    return met && in_range(version);
}

static void read_options(int argc, wchar_t **argv) {
    int i;
    for (i = 1; i < argc; i++) {
        if (!wcscmp(argv[i], L"-requires"))
            while (i + 1 < argc && argv[i + 1][0] != L'-' && wanted.n_requires < MANY)
                wanted.requires[wanted.n_requires++] = argv[++i];
        else if (!wcscmp(argv[i], L"-products"))
            while (i + 1 < argc && argv[i + 1][0] != L'-' && wanted.n_products < MANY)
                wanted.products[wanted.n_products++] = argv[++i];
        else if (!wcscmp(argv[i], L"-requiresAny")) wanted.any = 1;
        else if (!wcscmp(argv[i], L"-latest")) wanted.latest = 1;
        else if (!wcscmp(argv[i], L"-property") && i + 1 < argc) wanted.property = argv[++i];
        else if (!wcscmp(argv[i], L"-format") && i + 1 < argc) wanted.format = argv[++i];
        else if (!wcscmp(argv[i], L"-version") && i + 1 < argc) wanted.version = argv[++i];
    }
}

static void print_text(int number) {
    static const wchar_t *names[] = {L"instanceId", L"installationName", L"installationPath",
                                     L"installationVersion", L"productId", L"displayName"};
    size_t i;
    for (i = 0; i < sizeof names / sizeof *names; i++) {
        char *value = content(number, names[i]);
        if (value) printf("%ls: %s\r\n", names[i], value);
    }
    printf("\r\n");
}

int wmain(int argc, wchar_t **argv) {
    int number, printed = 0, json;
    char *text;
    GetModuleFileNameW(0, program, 4096);
    _setmode(1, _O_BINARY);
    read_options(argc, argv);
    json = !wcscmp(wanted.format, L"json");
    if (json) printf("[");
    for (number = 1; (text = content(number, L"json")); number++) {
        if (!fits(number) || (wanted.latest && printed)) continue;
        if (json) {
            printf("%s\r\n%s", printed ? "," : "", text);
        } else if (wanted.property) {
            char *value = content(number, wanted.property);
            if (value) printf("%s\r\n", value);
        } else {
            print_text(number);
        }
        printed++;
    }
    if (json) printf("%s]\r\n", printed ? "\r\n" : "");
    return 0;
}
