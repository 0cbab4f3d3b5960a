/* usage: consumer TABLES.json OUTPUT.json: plans the tables on 8 devices of 80 GB. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "consumer.h"

void must(neuroshard_status status, const neuroshard_error* error, const char* what) {
  if (status == NEUROSHARD_OK) return;
  fprintf(stderr, "%s: %s: %s\n", what, neuroshard_status_name(status),
          neuroshard_error_message(error).data);
  exit(1);
}

void expect(int condition, const char* what) {
  if (condition) return;
  fprintf(stderr, "not so: %s\n", what);
  exit(1);
}

neuroshard_text text(const char* words) {
  neuroshard_text result;
  result.data = words;
  result.size = NEUROSHARD_NUL_TERMINATED;
  return result;
}

static void plan_file(const char* tables, const char* output, neuroshard_error* error) {
  neuroshard_cost_models* models = NULL;
  neuroshard_planner* planner = NULL;
  neuroshard_workload* workload = NULL;
  neuroshard_plan* plan = NULL;
  neuroshard_bytes* bytes = NULL;
  neuroshard_cluster cluster;
  neuroshard_plan_options options;
  memset(&options, 0, sizeof options);
  options.struct_size = sizeof options;
  options.algorithm = text("neuroshard"); /* ends by itself: the same plan in every run */
  memset(&cluster, 0, sizeof cluster);
  cluster.struct_size = sizeof cluster;
  cluster.devices = 8;
  cluster.memory_bytes = 80000000000;
  must(neuroshard_cost_models_shipped(text(""), &models, error), error, "models");
  must(neuroshard_planner_create(models, NULL, &planner, error), error, "planner");
  must(neuroshard_workload_read_file(text(tables), 0, &workload, error), error, "tables");
  must(neuroshard_planner_plan(planner, workload, &cluster, &options, &plan, error), error, "plan");
  must(neuroshard_plan_check(plan, workload, &cluster, error), error, "check");
  must(neuroshard_plan_export(plan, workload, text("json"), NULL, &bytes, error), error, "export");
  must(neuroshard_bytes_write_file(bytes, text(output), error), error, "write");
  neuroshard_bytes_destroy(bytes);
  neuroshard_plan_destroy(plan);
  neuroshard_workload_destroy(workload);
  neuroshard_planner_destroy(planner);
  neuroshard_cost_models_destroy(models);
}

int main(int argc, char** argv) {
  neuroshard_error* error = neuroshard_error_create();
  expect(argc == 3, "two arguments");
  expect(strcmp(neuroshard_version(), NEUROSHARD_VERSION) == 0, "header and library are of a kind");
  char version[64];
  snprintf(version, sizeof version, "%d.%d.%d", NEUROSHARD_VERSION_MAJOR, NEUROSHARD_VERSION_MINOR,
           NEUROSHARD_VERSION_PATCH);
  expect(strcmp(version, NEUROSHARD_VERSION) == 0, "the version's parts are those of the whole");
  check_small_workload(error);
  plan_file(argv[1], argv[2], error);
  neuroshard_error_destroy(error);
  return 0;
}
