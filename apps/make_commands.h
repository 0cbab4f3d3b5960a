#pragma once

#include <memory>

#include "apps/command.h"

namespace neuroshard::apps {

std::unique_ptr<Command> make_plan_command();
std::unique_ptr<Command> make_replan_command();
std::unique_ptr<Command> make_simulate_command();
std::unique_ptr<Command> make_explain_command();
std::unique_ptr<Command> make_check_command();
std::unique_ptr<Command> make_export_command();
std::unique_ptr<Command> make_compare_command();
std::unique_ptr<Command> make_sweep_command();
std::unique_ptr<Command> make_frontier_command();
std::unique_ptr<Command> make_collect_compute_command();
std::unique_ptr<Command> make_collect_comm_command();
std::unique_ptr<Command> make_measure_command();
std::unique_ptr<Command> make_iteration_command();
std::unique_ptr<Command> make_train_compute_command();
std::unique_ptr<Command> make_train_comm_command();
std::unique_ptr<Command> make_train_policy_command();
std::unique_ptr<Command> make_calibrate_compute_command();
std::unique_ptr<Command> make_calibrate_comm_command();
std::unique_ptr<Command> make_evaluate_compute_command();
std::unique_ptr<Command> make_evaluate_comm_command();
std::unique_ptr<Command> make_evaluate_policy_command();
std::unique_ptr<Command> make_generate_command();
std::unique_ptr<Command> make_summarize_command();
std::unique_ptr<Command> make_import_command();
std::unique_ptr<Command> make_traces_import_command();
std::unique_ptr<Command> make_bench_command();
std::unique_ptr<Command> make_manual_command();
std::unique_ptr<Command> make_bash_completion_command();

}  // namespace neuroshard::apps
