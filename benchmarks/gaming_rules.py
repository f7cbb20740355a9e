"""What a bot account can do to look human, exactly and as a convex relaxation: the second study of the paper.

The accounts are those of Gilani et al. (2017), in features like those of the responsiveness paper's Table 8. Followers
are not in our copy of the data; what others make of an account (likes and retweets of its tweets, lists that it is on)
takes their place as what nobody changes by themselves. The paper's main text lets an account show another source, such
as a telephone, only with a new tweet, and so it is here. The paper's bounds allow 35,000 tweets; here a campaign has at
most as many as 99% of the accounts have, or uniform draws would be of nothing but floods.
"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from isonomia.interventions import (
    Condition,
    Constraint,
    Feature,
    IfChanged,
    IfThen,
    Interventions,
    Linear,
    Linkage,
    Thermometer,
)
from isonomia.populations import Table

__all__ = ["IMMUTABLE", "LOGARITHMIC", "accounts", "convex", "exact"]

DEEDS = {"tweets": ("user_tweeted", 35_000), "retweets": ("user_retweeted", 3_000), "replies": ("user_replied", 6_991)}
"""The column of each count, and its bound in the paper."""
AGES = tuple(f"age_geq_{days}_days" for days in (180, 365, 730, 1825))
GAINED = ("source_web", "source_mobile", "source_app")
DROPPED = ("source_automation", "source_other")
IMMUTABLE = ("likes_per_tweet", "retweets_per_tweet", "lists_per_user")
MOST_URLS = 13_013
LOGARITHMIC = (*(f"num_{deed}" for deed in DEEDS), "urls_count", "follower_friend_ratio", *IMMUTABLE)
"""Features with long tails, which every model takes the logarithm of."""


def accounts(raw: Table) -> dict[str, NDArray[np.float64]]:
    """The features of all accounts, and ``is_human``."""
    given = {name: np.asarray(raw.column(name), dtype=np.float64) for name in raw.names}
    columns = {"is_human": given["is_human"]}
    for deed, (column, _) in DEEDS.items():
        columns |= {f"num_{deed}": given[column], f"no_{deed}": (given[column] == 0).astype(float)}
    columns["urls_count"] = given["urls_count"]
    for name in AGES:
        columns[name] = (given["age_of_account_in_days"] >= float(name.split("_")[2])).astype(float)
    return columns | {name: given[name] for name in ("follower_friend_ratio", *GAINED, *DROPPED, *IMMUTABLE)}


def exact(people: Mapping[str, NDArray[np.float64]], *, jointly: bool = False) -> Interventions:
    """Whole posts, dummies that are 0 or 1, and what couples them; ``jointly`` draws posts and links together."""
    features, rules = [], list[Constraint]()
    for deed, (_, most) in DEEDS.items():
        count, none = f"num_{deed}", f"no_{deed}"
        features += [Feature(count, "integer", 0, most, direction="up", rise=campaign(people, deed))]
        features += [Feature(none, "binary", direction="down")]
        rules += [
            IfThen(Condition(none, "==", 0), Condition(count, ">=", 1)),
            IfThen(Condition(none, "==", 1), Condition(count, "==", 0)),
        ]
    features += [Feature("urls_count", "integer", 0, MOST_URLS, actionable=False)]
    features += [Feature(name, "binary", direction="up") for name in AGES]
    features += [Feature("follower_friend_ratio", "real", 0, direction="down")]
    rules += [Linkage("num_tweets", ("urls_count",), sense="<=", jointly=jointly), Thermometer(AGES, "up")]
    for names, way, relation in ((GAINED, "up", ">="), (DROPPED, "down", "<=")):
        features += [Feature(name, "binary", direction=way) for name in names]
        rules += [IfChanged(Condition("num_tweets", ">=", 1), Condition(name, relation, 0)) for name in names]
    return Interventions(tuple(features), tuple(rules))


def convex(people: Mapping[str, NDArray[np.float64]]) -> Interventions:
    """The same as linear rows over real numbers: the program of the exact rules without integrality.

    If-then rules are the usual rows with the feature's bound, ``1 - none <= count <= bound * (1 - none)``; ones before
    zeros is a falling sequence; a source changes by at most as much as tweets do.
    """
    features, rules = [], list[Constraint]()
    for deed, (_, most) in DEEDS.items():
        count, none = f"num_{deed}", f"no_{deed}"
        features += [Feature(count, "real", 0, most, direction="up", rise=campaign(people, deed))]
        features += [Feature(none, "real", 0, 1, direction="down")]
        rules += [Linear((count, none), (1, 1), ">=", 1), Linear((count, none), (1, most), "<=", most)]
    features += [Feature("urls_count", "real", 0, MOST_URLS, actionable=False)]
    features += [Feature(name, "real", 0, 1, direction="up") for name in AGES]
    features += [Feature("follower_friend_ratio", "real", 0, direction="down")]
    features += [Feature(name, "real", 0, 1, actionable=False) for name in (*GAINED, *DROPPED)]
    rules += [Linear(pair, (1, -1), ">=", 0) for pair in pairwise(AGES)]
    rules += [Linkage("num_tweets", ("urls_count", *GAINED), sense="<=")]
    rules += [Linkage("num_tweets", DROPPED, (-1.0,) * len(DROPPED), sense="<=")]
    return Interventions(tuple(features), tuple(rules))


def campaign(people: Mapping[str, NDArray[np.float64]], deed: str) -> float:
    """The most that one account adds: what 99% of the accounts have at most."""
    return float(np.floor(np.quantile(people[f"num_{deed}"], 0.99)))
