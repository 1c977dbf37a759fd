/* What the stand-in shows of itself; the linker hides all else. */
#ifndef GP_TESTS_STANDIN_EXPORT_H
#define GP_TESTS_STANDIN_EXPORT_H

#define STANDIN_EXPORT(type, name, parameters)                                                     \
    __attribute__((visibility("default"))) type name parameters;                                   \
    type name parameters

#endif
