/* A program of two C files that uses the engine as a stranger would: installed headers only. */
#ifndef CONSUMER_H_
#define CONSUMER_H_

#include <neuroshard/engine.h>

/* Ends the program with a message when a call failed. */
void must(neuroshard_status status, const neuroshard_error* error, const char* what);
/* Ends the program when `condition` is 0. */
void expect(int condition, const char* what);
neuroshard_text text(const char* words);

/* Two tables made one by one, planned, looked into, simulated and exported. */
void check_small_workload(neuroshard_error* error);

#endif
