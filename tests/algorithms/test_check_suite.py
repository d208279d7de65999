"""The generic checks, on every learner."""

from collections.abc import Callable

import pytest

from tests.algorithms import checks, universe_checks
from tests.algorithms.learners import Learner, each_learner, each_portfolio_learner

GENERAL = [
    checks.check_shape_of_the_class,
    checks.check_clone_is_independent,
    checks.check_many_rounds_at_once_equal_one_by_one,
    checks.check_state_round_trip,
    checks.check_state_is_not_shared,
    checks.check_broken_state_is_refused,
    checks.check_inputs_are_neither_changed_nor_kept,
    checks.check_weights_cannot_corrupt_the_state,
    checks.check_permuting_assets_permutes_weights,
    checks.check_memory_does_not_grow,
    checks.check_universe_of_one,
    checks.check_bad_input_changes_nothing,
    checks.check_equivalent_input_gives_equal_weights,
    checks.check_the_layout_of_the_input_changes_no_bit,
    checks.check_bad_number_of_assets,
    universe_checks.check_full_masks_are_no_masks,
    universe_checks.check_inactive_assets_hold_nothing_and_say_nothing,
    universe_checks.check_inactive_assets_might_as_well_not_exist,
    universe_checks.check_newcomers_enter_at_zero_and_move_later,
    universe_checks.check_returning_asset_is_a_newcomer,
    universe_checks.check_unseen_assets_are_frozen,
    universe_checks.check_nothing_moves_when_nobody_is_seen,
    universe_checks.check_restricting_twice_changes_nothing_more,
    universe_checks.check_restriction_and_update_agree,
]
PORTFOLIO = [
    universe_checks.check_restricting_the_start,
    universe_checks.check_weights_stay_on_the_simplex_in_a_restless_universe,
    universe_checks.check_last_holder_leaves,
]


def title(check: Callable[..., None]) -> str:
    return check.__name__.removeprefix("check_")


@pytest.mark.filterwarnings("ignore:overflow encountered in dot")  # beside the InputError about returns of 1e200
@each_learner
@pytest.mark.parametrize("check", GENERAL, ids=title)
def test_every_learner(learner: Learner, check: Callable[..., None]) -> None:
    check(learner.make)


@each_portfolio_learner
@pytest.mark.parametrize("check", PORTFOLIO, ids=title)
def test_every_portfolio_learner(learner: Learner, check: Callable[..., None]) -> None:
    check(learner.make)


@each_portfolio_learner
def test_a_hundred_thousand_steps_on_the_simplex(learner: Learner) -> None:
    universe_checks.check_hundred_thousand_steps_on_the_simplex(learner.make_for_many_rounds or learner.make, learner.rounds)
