// What the build generates, as a source that it has not.
#include "plan/readers.cc"
