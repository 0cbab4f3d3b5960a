#include "apps/flags/fit_flags.h"

namespace neuroshard::apps {
namespace {

template <typename Value, typename Target>
void override_with(const std::optional<Value>& given, Target& target) {
  if (given) target = static_cast<Target>(*given);
}

}  // namespace

void FitFlags::declare(FlagSet& flags) {
  flags.text("loss", "NAME", "mse, huber, log-cosh, relative or mse-over-cost", &loss_);
  flags.number("loss-delta", "X", "scale of the losses that have one, in units of the mean cost",
               &loss_delta_, {0, 1e6});
  flags.integer("epochs", "passes over the training part", &epochs_, 1, 1'000'000);
  flags.integer("patience", "epochs without a better validation loss before it stops; 0 = never",
                &patience_, 0, 1'000'000);
  flags.integer("batch-size", "samples a step", &batch_size_, 1, 1'000'000);
  flags.number("learning-rate", "X", "Adam's", &learning_rate_, {0, 10});
  flags.choice("schedule", "NAME", "of the learning rate: constant or cosine", &schedule_,
               {"constant", "cosine"});
  flags.number("weight-decay", "X", "AdamW's; 0 is Adam", &weight_decay_, {0, 10, true});
  flags.number("average", "X", "share kept a step of a moving average of the weights; 0 = none",
               &average_, {0, 0.999999, true});
  flags.integer("members", "networks trained side by side; the model says their mean", &members_, 1,
                16);
  flags.number("target-scale", "X", "the learned target is divided by it", &target_scale_,
               {0, 1e6});
  flags.seed("seed", "of the split, the first weights and the order of samples", &seed_);
}

Status FitFlags::apply(FitOptions& options) const {
  if (loss_) {
    auto loss = nn::parse_loss(*loss_);
    if (!loss.ok()) return loss.status().with_context("--loss");
    options.loss.kind = *loss;
  }
  if (schedule_) {
    NEUROSHARD_ASSIGN_OR_RETURN(options.schedule, parse_rate_schedule(*schedule_));
  }
  override_with(loss_delta_, options.loss.delta);
  override_with(epochs_, options.epochs);
  override_with(patience_, options.patience);
  override_with(batch_size_, options.batch_size);
  override_with(learning_rate_, options.learning_rate);
  override_with(weight_decay_, options.weight_decay);
  override_with(average_, options.average);
  override_with(target_scale_, options.target_scale);
  override_with(members_, options.members);
  options.seed = seed_;
  return {};
}

}  // namespace neuroshard::apps
