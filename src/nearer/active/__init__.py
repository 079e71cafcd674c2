"""Choose which question to ask next, and simulate studies to compare strategies.

>>> import nearer
>>> selector = nearer.active.selector("adaptive", n_objects=30, random_state=0)
>>> questions = selector.next(5)  # rows (head, a, b): is the head nearer to a or to b?
>>> selector.tell(questions, y=[True, False, True, True, False])  # True: nearer to a
>>> selector.n_answers
5
"""

from nearer.active.oracles import Oracle, PlantedOracle, RecordedOracle, Sitting
from nearer.active.selector import Selector, selector
from nearer.active.strategies import (
    STRATEGIES,
    Adaptive,
    AdaptiveRoundRobin,
    Board,
    InformationGain,
    Random,
    RoundRobin,
    Strategy,
    Uncertainty,
)
from nearer.active.study import Study, play

__all__ = [
    "STRATEGIES",
    "Adaptive",
    "AdaptiveRoundRobin",
    "Board",
    "InformationGain",
    "Oracle",
    "PlantedOracle",
    "Random",
    "RecordedOracle",
    "RoundRobin",
    "Selector",
    "Sitting",
    "Strategy",
    "Study",
    "Uncertainty",
    "play",
    "selector",
]
