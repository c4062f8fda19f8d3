/* How big each parameter of a kernel is, read from its cubin: a launch hands over pointers alone.
 *
 * A cubin is an ELF file. Its section .nv.info.KERNEL is a row of records: format byte, attribute
 * byte, then two bytes that are a value or, in format 4, the size of what follows. Attribute 0x17
 * describes one parameter: ordinal in bytes 4..5, size from bit 18 on of bytes 8..11.
 */
#ifndef FAKECUDA_PARAMETERS_H
#define FAKECUDA_PARAMETERS_H
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PARAMETERS = 128, SIZED = 4, KPARAM_INFO = 0x17 };

struct section { uint32_t name, type; uint64_t flags, address, offset, size; uint8_t rest[24]; };
struct parameters { int count; unsigned size[MOST_PARAMETERS]; };

static uint64_t word(const uint8_t *at, int bytes) {
    uint64_t value = 0;
    memcpy(&value, at, bytes);
    return value;
}

static const struct section *sections(const uint8_t *elf, unsigned *count) {
    *count = (unsigned)word(elf + 60, 2);
    return (const struct section *)(elf + word(elf + 40, 8));
}

static uint8_t *copy_of_elf(const uint8_t *elf) {
    unsigned count, i;
    const struct section *all = sections(elf, &count);
    uint64_t end = word(elf + 40, 8) + count * sizeof *all;
    uint8_t *copy;
    for (i = 0; i < count; i++)
        if (all[i].type != 8 /* NOBITS */ && all[i].offset + all[i].size > end) end = all[i].offset + all[i].size;
    /* program headers may stand behind the sections */
    if (word(elf + 32, 8) + word(elf + 54, 2) * word(elf + 56, 2) > end)
        end = word(elf + 32, 8) + word(elf + 54, 2) * word(elf + 56, 2);
    copy = malloc(end);
    return copy ? memcpy(copy, elf, end) : 0;
}

static struct parameters parameters_of(const uint8_t *elf, const char *kernel) {
    struct parameters found = { 0, { 0 } };
    unsigned count, i;
    const struct section *all = sections(elf, &count);
    const char *names = (const char *)elf + all[word(elf + 62, 2)].offset;
    for (i = 0; i < count; i++) {
        const char *name = names + all[i].name;
        const uint8_t *at = elf + all[i].offset, *end = at + all[i].size;
        if (strncmp(name, ".nv.info.", 9) || strcmp(name + 9, kernel)) continue;
        while (at + 4 <= end) {
            unsigned size = at[0] == SIZED ? (unsigned)word(at + 2, 2) : 0;
            if (at[0] == SIZED && at[1] == KPARAM_INFO) {
                unsigned ordinal = (unsigned)word(at + 8, 2);
                if (ordinal < MOST_PARAMETERS) {
                    found.size[ordinal] = (unsigned)(word(at + 12, 4) >> 18);
                    if ((int)ordinal >= found.count) found.count = ordinal + 1;
                }
            }
            at += 4 + size;
        }
    }
    return found;
}

/* The same from text: sizes in decimal. */
static struct parameters parameters_in(const char *text) {
    struct parameters found = { 0, { 0 } };
    char *end;
    unsigned long size;
    while (found.count < MOST_PARAMETERS && (size = strtoul(text, &end, 10), end != text)) {
        found.size[found.count++] = (unsigned)size;
        text = end;
    }
    return found;
}
#endif
