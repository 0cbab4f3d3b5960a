#include <array>

#include "apps/command.h"
#include "apps/make_commands.h"

namespace neuroshard::apps {
namespace {

// Examples run in the root of the source tree, line by line (a test runs them all).
constexpr std::array kCommands{
    CommandEntry{"plan", "find the plan whose slowest device costs least",
                 "  neuroshard plan --tables examples/dlrm_dcnv2.json --devices 8 "
                 "--device-memory 80GB\n",
                 make_plan_command},
    CommandEntry{"replan", "a cheaper plan near one that runs, moving few bytes",
                 "  neuroshard tables generate --count 100 --seed 1 --output pool.json\n"
                 "  neuroshard plan --tables pool.json --devices 8 --device-memory 40GB "
                 "--algorithm random --output now.json\n"
                 "  neuroshard replan --tables pool.json --plan now.json --device-memory 40GB "
                 "--move-limit 1GB --output next.json\n",
                 make_replan_command},
    CommandEntry{"simulate", "what a plan costs, device by device",
                 "  neuroshard plan --tables examples/dlrm_dcnv2.json --devices 8 "
                 "--device-memory 80GB --output plan.json\n"
                 "  neuroshard simulate --tables examples/dlrm_dcnv2.json --plan plan.json "
                 "--device-memory 80GB\n",
                 make_simulate_command},
    CommandEntry{"explain", "what each table of a plan takes, and the next best place for it",
                 "  neuroshard plan --tables examples/dlrm_dcnv2.json --devices 8 "
                 "--device-memory 80GB --output plan.json\n"
                 "  neuroshard explain --tables examples/dlrm_dcnv2.json --plan plan.json "
                 "--device-memory 80GB\n",
                 make_explain_command},
    CommandEntry{"check", "everything that is wrong with a plan, ours or another's",
                 "  neuroshard plan --tables examples/dlrm_dcnv2.json --devices 8 "
                 "--device-memory 80GB --target torchrec --output my.json\n"
                 "  neuroshard check --tables examples/dlrm_dcnv2.json --plan my.json "
                 "--device-memory 80GB --target torchrec\n",
                 make_check_command},
    CommandEntry{"export", "a plan in the format of the trainer that will run it",
                 "  neuroshard plan --tables examples/dlrm_dcnv2.json --devices 8 "
                 "--device-memory 80GB --target torchrec --output my.json\n"
                 "  neuroshard export --tables examples/dlrm_dcnv2.json --plan my.json "
                 "--format torchrec --output torchrec.json\n"
                 "  neuroshard export --tables examples/dlrm_dcnv2.json --plan my.json "
                 "--format benchmark --output benchmark\n"
                 "  neuroshard collect compute --backend sim --profile H200-141G --samples 200 "
                 "--output few\n"
                 "  neuroshard train compute --data few --epochs 20 --output my.safetensors\n"
                 "  neuroshard tables generate --count 20 --seed 1 --dims 64 --batch-size 65536 "
                 "--output pool.json\n"
                 "  neuroshard export --tables pool.json --cost-model my.safetensors "
                 "--format benchmark --for least-sure 20 --output sets\n",
                 make_export_command},
    CommandEntry{"compare", "every algorithm on every task",
                 "  neuroshard tables generate --count 100 --seed 1 --output pool.json\n"
                 "  neuroshard compare --tables pool.json --tasks examples/tasks.txt --devices 4 "
                 "--device-memory 8GiB --time-limit 0.3\n",
                 make_compare_command},
    CommandEntry{"sweep", "how many devices tables need, and what a step costs on each number",
                 "  neuroshard sweep --tables examples/dlrm_dcnv2.json --devices 4,8,16 "
                 "--device-memory 20GB,80GB --time-limit 0.1\n",
                 make_sweep_command},
    CommandEntry{"frontier", "what more memory and more devices buy: plans no other beats",
                 "  neuroshard frontier --tables examples/dlrm_dcnv2.json --devices 4,8,16 "
                 "--time-limit 3 --output frontier.json\n",
                 make_frontier_command},
    CommandEntry{"collect compute", "measure what sets of tables cost on one device",
                 "  neuroshard collect compute --backend sim --profile H200-141G --samples 500 "
                 "--output h200_compute\n",
                 make_collect_compute_command},
    CommandEntry{"collect comm", "measure what the all-to-all between devices costs",
                 "  neuroshard collect comm --backend sim --profile H200-141G --devices 8 "
                 "--samples 500 --output h200_comm_8\n",
                 make_collect_comm_command},
    CommandEntry{"train compute", "fit the network of compute costs to measured data",
                 "  neuroshard collect compute --backend sim --profile H200-141G --samples 500 "
                 "--output compute_data\n"
                 "  neuroshard train compute --data compute_data --epochs 30 "
                 "--output my_models.safetensors\n",
                 make_train_compute_command},
    CommandEntry{"train comm", "fit the networks of communication costs to measured data",
                 "  neuroshard collect comm --backend sim --profile H200-141G --devices 4 "
                 "--samples 500 --output comm_data\n"
                 "  neuroshard train comm --data comm_data --epochs 30 "
                 "--output my_comm_models.safetensors\n",
                 make_train_comm_command},
    CommandEntry{"train policy", "a policy that places tables one after the other, in a moment",
                 "  neuroshard tables generate --count 100 --seed 1 --output pool.json\n"
                 "  neuroshard train policy --tables pool.json --devices 2,4 --device-memory 40GB "
                 "--updates 20 --output p.safetensors\n"
                 "  neuroshard plan --tables pool.json --devices 4 --device-memory 40GB "
                 "--algorithm dreamshard --policy p.safetensors\n",
                 make_train_policy_command},
    CommandEntry{"calibrate compute", "fit trained cost models of lookups to a few measurements",
                 "  neuroshard collect compute --backend sim --profile H100-80G --samples 100 "
                 "--output few\n"
                 "  neuroshard calibrate compute --base h200_sim --data few "
                 "--output my_models.safetensors\n",
                 make_calibrate_compute_command},
    CommandEntry{"calibrate comm", "fit trained cost models of exchanges to a few measurements",
                 "  neuroshard collect comm --backend sim --profile H100-80G --devices 4 "
                 "--samples 20 --output few_comm\n"
                 "  neuroshard calibrate comm --base h200_sim --data few_comm "
                 "--output my_models.safetensors\n",
                 make_calibrate_comm_command},
    CommandEntry{"evaluate compute", "how well cost models fit measured lookups",
                 "  neuroshard collect compute --backend sim --profile H200-141G --samples 100 "
                 "--seed 1 --output unseen\n"
                 "  neuroshard evaluate compute --data unseen --cost-model h200_sim\n",
                 make_evaluate_compute_command},
    CommandEntry{"evaluate comm", "how well cost models fit measured all-to-alls",
                 "  neuroshard collect comm --backend sim --profile H200-141G --devices 8 "
                 "--samples 100 --seed 1 --output unseen_comm\n"
                 "  neuroshard evaluate comm --data unseen_comm --cost-model h200_sim\n",
                 make_evaluate_comm_command},
    CommandEntry{"evaluate policy", "a policy's plans beside those of other algorithms",
                 "  neuroshard tables generate --count 100 --seed 1 --output pool.json\n"
                 "  neuroshard tables generate --count 60 --seed 2 --output unseen.json\n"
                 "  neuroshard train policy --tables pool.json --devices 2,4 --device-memory 40GB "
                 "--updates 20 --output p.safetensors\n"
                 "  neuroshard evaluate policy --policy p.safetensors --tables unseen.json "
                 "--devices 4 --device-memory 40GB --tasks 5\n",
                 make_evaluate_policy_command},
    CommandEntry{
        "measure", "run a plan's lookups and exchanges on hardware",
        "  neuroshard tables generate --count 4 --seed 1 --dims 8 --batch-size 4096 "
        "--output pool.json\n"
        "  neuroshard plan --tables pool.json --devices 2 --device-memory 1GiB "
        "--algorithm size-greedy --output plan.json\n"
        "  neuroshard measure --tables pool.json --plan plan.json --backend cpu --runs 3\n",
        make_measure_command},
    CommandEntry{"iteration", "what a whole training step takes, dense layers and all",
                 "  neuroshard tables generate --count 100 --seed 1 --output pool.json\n"
                 "  neuroshard plan --tables pool.json --devices 8 --device-memory 40GB --output "
                 "plan.json\n"
                 "  neuroshard iteration --tables pool.json --model "
                 "examples/dlrm_dcnv2_model.json --plan plan.json --profile H100-80G\n",
                 make_iteration_command},
    CommandEntry{"tables generate", "a pool of tables shaped like published ones",
                 "  neuroshard tables generate --count 100 --seed 1 --output pool.json\n",
                 make_generate_command},
    CommandEntry{"tables summarize", "counts, memory, lookups and the heaviest tables",
                 "  neuroshard tables summarize --tables examples/dlrm_dcnv2.json\n",
                 make_summarize_command},
    CommandEntry{"tables import", "tables from the lookups of a batch, as NumPy arrays",
                 "  neuroshard tables import --indices examples/lookups --dim 64 "
                 "--output my_tables.json\n",
                 make_import_command},
    CommandEntry{"traces import", "what execution traces of all ranks say of a step's tables",
                 "  neuroshard plan --tables examples/dlrm_dcnv2.json --devices 8 "
                 "--device-memory 80GB --output plan.json\n"
                 "  neuroshard export --tables examples/dlrm_dcnv2.json --plan plan.json "
                 "--format chakra --output traces\n"
                 "  neuroshard traces import --chakra traces --output imported\n",
                 make_traces_import_command},
    CommandEntry{"bench", "a signature of what the search does, and its speed",
                 "  neuroshard bench\n", make_bench_command},
    CommandEntry{"manual", "this help as manual pages, one a command",
                 "  neuroshard manual --output man1\n", make_manual_command},
    CommandEntry{"completion bash", "what makes bash complete commands, flags and values",
                 "  neuroshard completion bash --output neuroshard.bash\n",
                 make_bash_completion_command},
};

}  // namespace

std::span<const CommandEntry> commands() { return kCommands; }

}  // namespace neuroshard::apps
