// Boost.JSON's own sources, compiled here: nothing that links the engine needs a Boost library, and
// Debian's static one is not position independent.
#include <boost/json/src.hpp>
