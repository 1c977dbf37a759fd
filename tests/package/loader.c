/* A program that loads gp late, as a plugin of an interpreter does: argv[1] is the library. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        printf("%s\n", dlerror());
        return 1;
    }
    return dlsym(library, "gp_version_string") != NULL ? 0 : 1;
}
