// Precompiled for every suite, as ../../precompiled does for the engine.
#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <thread>

#include "precompiled/engine_headers.h"
