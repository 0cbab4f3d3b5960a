// The entry point of every test program; the room's name becomes the name of the Boost.Test module.
#define BOOST_TEST_MODULE NEUROSHARD_TEST_ROOM
#include <boost/test/unit_test.hpp>
