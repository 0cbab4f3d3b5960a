// Groups of real processes that meet over TCP on this machine: what they share, and that nobody
// waits for somebody who is absent, dead or gone.
#include "cuda/ranks/rendezvous.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/test/unit_test.hpp>
#include <csignal>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "tests/support/ranks.h"

namespace neuroshard::cuda {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds kEnough = seconds(20);

bool says(const Status& status, const std::string& text) {
  return status.code() == StatusCode::kUnavailable &&
         status.message().find(text) != std::string::npos;
}

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto view = std::as_bytes(std::span(text.data(), text.size()));
  return {view.begin(), view.end()};
}

Result<Ranks> ranks_from(const std::map<std::string, std::string>& variables) {
  return ranks_from_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

BOOST_AUTO_TEST_SUITE(rendezvous)

BOOST_AUTO_TEST_CASE(launchers_say_who_is_who) {
  const Ranks alone = ranks_from({}).value();
  BOOST_TEST((alone.rank == 0 && alone.world == 1));
  const Ranks torchrun = ranks_from({{"RANK", "5"},
                                     {"WORLD_SIZE", "8"},
                                     {"LOCAL_RANK", "1"},
                                     {"MASTER_ADDR", "gpu7"},
                                     {"MASTER_PORT", "1234"},
                                     {"SLURM_PROCID", "0"},
                                     {"SLURM_NTASKS", "1"}})
                             .value();
  BOOST_TEST((torchrun.rank == 5 && torchrun.world == 8 && torchrun.local_rank == 1));
  BOOST_TEST((torchrun.address == "gpu7" && torchrun.port == 1234));
  const Ranks agent = ranks_from({{"RANK", "0"},
                                  {"WORLD_SIZE", "2"},
                                  {"MASTER_PORT", "1234"},
                                  {"TORCHELASTIC_USE_AGENT_STORE", "True"}})
                          .value();
  BOOST_TEST(agent.port == 1235);  // torchrun's agent has the other
  const Ranks slurm = ranks_from({{"SLURM_PROCID", "3"},
                                  {"SLURM_NTASKS", "4"},
                                  {"SLURM_LOCALID", "1"},
                                  {"SLURM_JOB_NODELIST", "gpu[03-04,9]"}})
                          .value();
  BOOST_TEST((slurm.rank == 3 && slurm.world == 4 && slurm.local_rank == 1));
  BOOST_TEST(slurm.address == "gpu03");
  const Ranks mpi = ranks_from({{"OMPI_COMM_WORLD_RANK", "1"},
                                {"OMPI_COMM_WORLD_SIZE", "2"},
                                {"OMPI_COMM_WORLD_LOCAL_RANK", "1"}})
                        .value();
  BOOST_TEST((mpi.rank == 1 && mpi.world == 2 && mpi.local_rank == 1 && mpi.port == 29500));
}

BOOST_AUTO_TEST_CASE(bad_variables_are_errors_that_name_them) {
  const auto message = [](const std::map<std::string, std::string>& variables) {
    return ranks_from(variables).status().message();
  };
  BOOST_TEST(message({{"RANK", "8"}, {"WORLD_SIZE", "8"}}) == "RANK: found '8', expected 0 to 7");
  BOOST_TEST(message({{"RANK", "0"}}).starts_with("WORLD_SIZE: found nothing"));
  BOOST_TEST(message({{"RANK", "0"}, {"WORLD_SIZE", "2x"}}).starts_with("WORLD_SIZE: found '2x'"));
  BOOST_TEST(message({{"MASTER_PORT", "70000"}}).starts_with("MASTER_PORT: found '70000'"));
}

BOOST_AUTO_TEST_CASE(the_first_host_of_a_node_list_is_its_first_name) {
  BOOST_TEST(first_host("node") == "node");
  BOOST_TEST(first_host("a,b") == "a");
  BOOST_TEST(first_host("gpu[03-05,9],cpu1") == "gpu03");
  BOOST_TEST(first_host("r1n[7,9]-ib") == "r1n7-ib");
  BOOST_TEST(first_host("a[1-2]b,c") == "a1b");
  BOOST_TEST(first_host("broken[1") == "broken");
  BOOST_TEST(first_host("").empty());
}

BOOST_AUTO_TEST_CASE(everybody_gets_the_bytes_of_rank_0_again_and_again) {
  const int port = free_port();
  std::map<int, std::function<bool()>> bodies;
  for (int rank = 0; rank < 5; ++rank) {
    bodies[rank] = [rank, port] {
      auto group = Rendezvous::join(ranks_of(rank, 5, port), kEnough);
      if (!group.ok()) return false;
      for (int round = 0; round < 50; ++round) {
        const auto sent = bytes_of("round " + std::to_string(round));
        const auto got = (*group)->share(rank == 0 ? sent : bytes_of("not this"), kEnough);
        if (!got.ok() || *got != sent || !(*group)->check().ok()) return false;
      }
      return (*group)->share({}, kEnough).ok();
    };
  }
  BOOST_TEST(run_ranks(bodies).empty());
}

BOOST_AUTO_TEST_CASE(one_process_is_a_group) {
  auto group = Rendezvous::join(ranks_of(0, 1, 1), milliseconds(1));
  BOOST_REQUIRE(group.ok());
  BOOST_TEST(((*group)->share(bytes_of("x"), milliseconds(1)).value() == bytes_of("x")));
  BOOST_TEST((*group)->check().ok());
}

BOOST_AUTO_TEST_CASE(an_absent_rank_ends_the_others_and_is_named) {
  const int port = free_port();
  const auto body = [port](int rank) {
    return [rank, port] {
      const auto group = Rendezvous::join(ranks_of(rank, 4, port), milliseconds(700));
      return says(group.status(), "rank 2 of 4 did not come");
    };
  };
  BOOST_TEST(run_ranks({{0, body(0)}, {1, body(1)}, {3, body(3)}}).empty());
}

BOOST_AUTO_TEST_CASE(rank_0_gathers_what_all_bring_again_and_again) {
  const int port = free_port();
  const auto body = [port](int rank) {
    return [rank, port] {
      auto group = Rendezvous::join(ranks_of(rank, 3, port), kEnough);
      if (!group.ok()) return false;
      for (int round = 0; round < 5; ++round) {
        const auto text = [&](int r) {
          return std::string(static_cast<std::size_t>(r * round), 'x');
        };
        const auto all = (*group)->gather(bytes_of(text(rank)), kEnough);
        if (!all.ok() || all->size() != (rank == 0 ? 3U : 0U)) return false;
        for (std::size_t r = 0; r < all->size(); ++r) {
          if ((*all)[r] != bytes_of(text(static_cast<int>(r)))) return false;
        }
        const auto shared = (*group)->share(bytes_of("go"), kEnough);
        if (!shared.ok() || *shared != bytes_of("go")) return false;
      }
      return true;
    };
  };
  BOOST_TEST(run_ranks({{0, body(0)}, {1, body(1)}, {2, body(2)}}).empty());
}

BOOST_AUTO_TEST_CASE(without_rank_0_the_others_end) {
  const int port = free_port();
  BOOST_TEST(run_ranks({{1,
                         [port] {
                           const auto group =
                               Rendezvous::join(ranks_of(1, 2, port), milliseconds(300));
                           return says(group.status(), "rank 0 did not answer");
                         }}})
                 .empty());
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_killed_ends_those_that_wait_for_it) {
  for (const int victim : {0, 2}) {
    const int port = free_port();
    std::map<int, std::function<bool()>> bodies;
    for (int rank = 0; rank < 3; ++rank) {
      bodies[rank] = [rank, port, victim] {
        auto group = Rendezvous::join(ranks_of(rank, 3, port), kEnough);
        if (!group.ok() || !(*group)->share({}, kEnough).ok()) return false;
        if (rank == victim) raise(SIGKILL);
        const auto waited = (*group)->share({}, kEnough);
        const std::string name = "rank " + std::to_string(victim) + " died";
        // From then on every call says so.
        return says(waited.status(), name) && says((*group)->check(), name);
      };
    }
    const std::vector<int> only_victim{victim};
    BOOST_TEST(run_ranks(bodies) == only_victim, boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_CASE(polling_notices_a_death) {
  const int port = free_port();
  const auto survivor = [port](int rank) {
    return [rank, port] {
      auto group = Rendezvous::join(ranks_of(rank, 3, port), kEnough);
      if (!group.ok()) return false;
      while (true) {  // ended by the alarm when nothing is noticed
        const Status status = (*group)->check();
        if (!status.ok()) return says(status, "rank 1 died");
        std::this_thread::sleep_for(milliseconds(5));
      }
    };
  };
  const auto victim = [port] {
    auto group = Rendezvous::join(ranks_of(1, 3, port), kEnough);
    raise(SIGKILL);
    return true;
  };
  const std::vector<int> only_victim{1};
  BOOST_TEST(run_ranks({{0, survivor(0)}, {1, victim}, {2, survivor(2)}}) == only_victim,
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_rank_that_is_too_late_ends_the_others_and_an_abort_says_why) {
  const int port = free_port();
  const auto waits = [port] {
    auto group = Rendezvous::join(ranks_of(0, 2, port), kEnough);
    return group.ok() &&
           says((*group)->share({}, milliseconds(200)).status(), "rank 1 did not come in time");
  };
  const auto late = [port] {
    auto group = Rendezvous::join(ranks_of(1, 2, port), kEnough);
    if (!group.ok()) return false;
    std::this_thread::sleep_for(milliseconds(800));
    return says((*group)->share({}, kEnough).status(), "rank 1 did not come in time");
  };
  BOOST_TEST(run_ranks({{0, waits}, {1, late}}).empty());

  const int other_port = free_port();
  const auto body = [other_port](int rank) {
    return [rank, other_port] {
      auto group = Rendezvous::join(ranks_of(rank, 3, other_port), kEnough);
      if (!group.ok()) return false;
      if (rank == 2) (*group)->abort("out of memory on rank 2");
      return says((*group)->share({}, kEnough).status(), "out of memory on rank 2");
    };
  };
  BOOST_TEST(run_ranks({{0, body(0)}, {1, body(1)}, {2, body(2)}}).empty());
}

BOOST_AUTO_TEST_CASE(who_is_done_may_leave_but_is_missed_by_those_that_wait) {
  const int port = free_port();
  const auto stays = [port] {
    auto group = Rendezvous::join(ranks_of(0, 2, port), kEnough);
    if (!group.ok() || !(*group)->share({}, kEnough).ok()) return false;
    std::this_thread::sleep_for(milliseconds(200));
    return (*group)->check().ok() && says((*group)->share({}, kEnough).status(), "rank 1 has left");
  };
  const auto leaves = [port] {
    auto group = Rendezvous::join(ranks_of(1, 2, port), kEnough);
    return group.ok() && (*group)->share({}, kEnough).ok();
  };
  BOOST_TEST(run_ranks({{0, stays}, {1, leaves}}).empty());
}

BOOST_AUTO_TEST_CASE(strangers_are_sent_away_and_other_groups_are_errors) {
  const int port = free_port();
  const auto first = [port](int world, const std::string& expected) {
    return [port, world, expected] {
      auto group = Rendezvous::join(ranks_of(0, world, port), seconds(10));
      return expected.empty() ? group.ok() && (*group)->share({}, kEnough).ok()
                              : says(group.status(), expected);
    };
  };
  const auto stranger = [port] {
    const auto end = std::chrono::steady_clock::now() + seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      auto made = Connection::connect("127.0.0.1", port, end);
      if (!made.ok()) {
        std::this_thread::sleep_for(milliseconds(20));
        continue;
      }
      const char text[] = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";
      return send(made->socket(), text, sizeof text, MSG_NOSIGNAL) > 0;
    }
    return false;
  };
  const auto member = [port](int rank, int world, const std::string& expected) {
    return [port, rank, world, expected] {
      std::this_thread::sleep_for(milliseconds(300));  // behind the stranger
      auto group = Rendezvous::join(ranks_of(rank, world, port), seconds(10));
      return expected.empty() ? group.ok() && (*group)->share({}, kEnough).ok()
                              : says(group.status(), expected);
    };
  };
  BOOST_TEST(run_ranks({{0, first(2, "")}, {1, stranger}, {2, member(1, 2, "")}}).empty());
  const std::string other = "rank 1 of 4 came, expected ranks 1 to 1 of 2";
  BOOST_TEST(run_ranks({{0, first(2, other)}, {1, member(1, 4, other)}}).empty());
  const std::string twice = "rank 1 came twice";
  BOOST_TEST(run_ranks({{0, first(3, twice)}, {1, member(1, 3, twice)}, {2, member(1, 3, twice)}})
                 .empty());
}

BOOST_AUTO_TEST_CASE(a_port_that_is_taken_is_an_error) {
  const int port = free_port();
  const Result<Listener> taken = Listener::open(port);
  BOOST_REQUIRE(taken.ok());
  BOOST_TEST(says(Rendezvous::join(ranks_of(0, 2, port), milliseconds(100)).status(),
                  "port " + std::to_string(port)));
}

BOOST_AUTO_TEST_SUITE_END()

}  // namespace neuroshard::cuda
