// A user's C++ program: the headers compile as C++, and the names link as C.
#include "gp/gp.h"
#include "gp/sim.h"

#include <cstring>

int main()
{
    return std::strcmp(gp_version_string(), GP_VERSION_STRING) == 0 ? 0 : 1;
}
