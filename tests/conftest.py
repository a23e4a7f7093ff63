"""What holds for all tests."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from typing import Any

import pytest

# Most of the time of a first run is compiling. Tests of one family of kernels go to one worker of pytest-xdist, so that
# each is compiled once; those of other files file by file.
FAMILIES = {
    "tournaments": ("test_tournament", "test_triples", "test_sandholm_tournaments",
                    "test_help_examples.py::test_example[pushfold", "test_help_examples.py::test_example[tournament"),
    "poker": ("test_poker_", "test_plus_space", "test_endgames", "test_seated", "test_cli_poker", "test_stitch_poker",
              "test_sandholm", "test_bucket_form",
              "test_bucket_runs", "test_bucket_gpu", "test_help_examples.py::test_example[shrink",
              "test_conformance.py::test_conformance[poker(file=leduc)-compiled"),
    "toepen": (
        "test_toepen", "test_le2021", "test_endgame", "test_blueprint", "test_search", "test_exploit", "test_strength.",
        "test_lower_bound", "test_play.", "test_match", "test_cli_train",
        "test_conformance.py::test_conformance[toepen", "test_help_examples.py::test_example[train",
        "test_help_examples.py::test_example[match", "test_help_examples.py::test_example[play",
    ),
    "cards": (
        "test_cards", "test_cli_cards", "test_strength_tables", "test_bench_cards", "test_ranges", "test_hand_buckets",
        "test_bucket_views", "test_clusters", "test_boards", "test_help_examples.py::test_example[cards",
    ),
    "rows": ("test_rounds", "test_row_blueprint", "test_row_experts", "test_gibson2011_three"),
    "boards": ("test_sweep", "test_pcs", "test_stitch_views", "test_gibson2011_holdem", "test_waugh2009_holdem",
               "test_help_examples.py::test_example[solve rhode_island --abstraction 'percentile(6, recall",
               "test_help_examples.py::test_example[solve holdem", "test_help_examples.py::test_example[stitch rhode"),
    "web": ("test_web_",),
    "prox": ("test_prox", "test_egt"),
    "walks": ("test_mccfr", "test_walk", "test_deals", "test_training", "test_conformance"),
}  # fmt: skip


# Tests that take five seconds or more, most of it compiling, and whose subject shorter ones cover: `make test-all`.
LONG = (
    "test_gibson2011.py::test_sizes_of_three_players", "test_gibson2011.py::test_the_report",
    "test_gibson2011.py::test_bases_are_as_exploitable_as_they_must_be", "test_le2021.py::test_the_report",
    "test_waugh2009.py::test_the_crosstable_is_one", "test_waugh2009.py::test_the_report",
    "test_sandholm.py::test_the_part_", "test_kernels.py::test_makers_of_hot_code_count_nothing_in_loops",
    "test_solvers.py::test_the_cfr_family_is_its_definition[kuhn for three]",
    "test_help_examples.py::test_example[match three.profile", "test_help_examples.py::test_example[cards equity 'top",
    "test_toepen.py::test_cfr_agrees[size2]", "test_match.py::test_looks_at_who_wins_rarely_err",
    "test_cli_cards.py::test_show_before_the_flop",
    "test_poker_lanes.py::test_bytes_do_not_depend_on_lanes[two cards, many lanes",
    "test_bucket_views.py::test_conformance", "test_bucket_views.py::test_training_solves_the_abstract_game",
    "test_bucket_views.py::test_a_profile_within_buckets_is_seated[leduc",
    "test_egt.py::test_a_resumed_run_is_the_run[poker(file=leduc)",
    "test_tables.py::test_lists_say_the_same_at_each_width[words2-80",
    "test_run.py::test_chunks_and_threads_on_small_games[16",
    "test_tables.py::test_lists_say_the_same_at_each_width[words2-120",
    "test_cache.py::test_damaged_files_are_compiled_anew",
    "test_help_examples.py::test_example[play 'leduc(players=3)'",
    "test_walk.py::test_dense_and_hashed_rows_are_the_same[leduc(players=3)",
    "test_poker_machine.py::test_compiled_and_interpreted_matches_are_the_same[leduc",
    "test_lower_bound.py::test_best_responses_in_endgames_are_exact[null",
    "test_lower_bound.py::test_best_responses_in_endgames_are_exact[maximal",
    "test_poker_machine.py::test_a_blueprint_against_a_solved_profile_wins_the_value_of_the_game",
    "test_mccfr.py::test_sampled_regrets_are_unbiased_with_frozen_rows[chance",
    "test_mccfr.py::test_sampled_regrets_are_unbiased_with_frozen_rows[outcome",
    "test_strength_tables.py::test_hands_on_boards_of_three_and_four[4",
    "test_openspiel.py::test_same_tree_and_infosets[leduc(players=3, ranks=4",
    "test_conformance.py::test_conformance[tricks.py:Tricks-compiled-walks_have_a_slow_twin",
    "test_sweep_gpu.py::test_hands_seen_through_several_views[turn",
    "test_sweep_gpu.py::test_the_source_does_as_the_kernels_do[river",
    "test_pcs.py::test_it_goes_where_full_cfr_goes[turn", "test_sweep_gpu.py::test_hands_are_filled_up",
    "test_deals.py::test_it_agrees_with_the_full_solver[leduc",
    "test_sandholm.py::test_payoffs_of_a_start", "test_sandholm.py::test_leduc_decides_exactly",
    "test_bucket_runs.py::test_the_form_is_chosen_by_what_it_costs",
    "test_conformance.py::test_conformance[tricks.py:Tricks",
    "test_tables.py::test_lists_say_the_same_at_each_width[words2",
    "test_local_response.py::test_it_is_a_lower_bound[300",
    "test_gibson2011.py::test_claims_that_hold_from_every_start",
    "test_gibson2011.py::test_sizes_of_two_players", "test_waugh2009.py::test_claims_that_hold_from_every_start",
    "test_poker_tutorial.py::test_the_page_runs", "test_row_experts.py::test_commands",
    "test_walk.py::test_three_players_win_what_the_tree_says",
    "test_conformance.py::test_conformance[poker(file=leduc)-compiled-walks_have_a_slow_twin",
    "test_conformance.py::test_conformance[poker(file=leduc)-compiled-rows_are_infosets",
    "test_conformance.py::test_conformance[toepen(suits=2",
    "test_stitch_views.py::test_a_static_expert_solves_its_part",
    "test_pcs.py::test_it_goes_where_full_cfr_goes", "test_triples.py::test_a_board_against_all_its_triples[Ah",
    "test_triples.py::test_a_board_against_all_its_triples[Ts",
    "test_completion.py::test_names_are_offered", "test_le2021.py::test_best_responses_to_the_baseline",
    "test_le2021.py::test_rows_are_read_as_the_real_game_plays_them", "test_sandholm_tournaments.py::test_a_quick_look",
    "test_phases.py::test_phase_two_keeps_phase_one",
    "test_recall.py::test_a_small_file_does_not_make_a_huge_game[solve",
    "test_recall.py::test_a_small_file_does_not_make_a_huge_game[crosstable",
    "test_show.py::test_poker_forms_give_what_their_trees_give[hands",
    "test_exploit.py::test_the_worst_case_in_an_endgame_stays_within_the_bound[0.0",
    "test_poker_machine.py::test_compiled_and_interpreted_matches_are_the_same[three",
    "test_tournaments.py::test_all_algorithms_find_an_equilibrium[fp",
    "test_bucket_form.py::test_cfr_is_that_of_the_poker_form[leduc-dcfr+", "test_sweep_gpu.py::test_a_shard_in_batches",
    "test_stitch_poker.py::test_commands_on_poker", "test_hand_buckets.py::test_solve_takes_names_and_folders",
)  # fmt: skip


@pytest.hookimpl(tryfirst=True)  # before those that are slow are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.nodeid.rpartition("/")[2].startswith(LONG):
            item.add_marker(pytest.mark.slow)


@pytest.hookimpl(optionalhook=True)  # of pytest-xdist
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling

    class ByFamily(LoadFileScheduling):
        """Tests of a family go to one worker, one after another; those of other files file by file."""

        def _split_scope(self, nodeid: str) -> str:
            file, _, test = nodeid.partition("::")
            named = f"{file.rpartition('/')[2]}::{test}"
            return next((family for family, names in FAMILIES.items() if named.startswith(names)), file)

    return ByFamily(config, log)


@pytest.fixture(scope="session", autouse=True)
def _no_lines_of_progress() -> Iterator[None]:
    """A slow machine prints no lines of progress into what tests compare, here and in child processes."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KIBITZ_PROGRESS", "0")
        yield


@pytest.fixture(scope="session", autouse=True)
def _interrupts() -> Iterator[None]:
    """Ctrl-C does what it does at a terminal, here and in child processes, however pytest was started.

    A shell without job control starts its background jobs with SIGINT ignored, and children inherit that.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
