"""Learn a kernel while answers arrive, save it, and continue. `python examples/online.py [folder]`."""

import sys
from pathlib import Path

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# 30 points in the plane, which the answers do not reveal; one answer in ten is wrong
answers, truth = nearer.datasets.planted(30, 2, 3000, noise=0.1, random_state=0)
stream, later = answers[:2500], answers[2500:]

# one wrong answer must not undo what many right ones taught: bound the steps
online = nearer.OnlineKernel(n_objects=30, max_step=0.05, passes=3, random_state=0)
for start in range(0, 1000, 100):
    online.partial_fit(stream[start : start + 100])
    print(f"{online.n_seen_:5} answers: {online.score(later):.3f} of later answers hold")

# the study pauses overnight
nearer.save(online, folder / "online.nearer")
online = nearer.load(folder / "online.nearer").partial_fit(stream[1000:])
print(f"{online.n_seen_:5} answers: {online.score(later):.3f} of later answers hold")
print(f"{online.n_projections_} of {online.n_steps_} steps needed a look at the eigenvalues")

distance = nearer.metrics.procrustes_distance(online.embedding(2), truth)
print(f"distance from the true map: {distance:.3f}")
nearer.plotting.plot_map(online.embedding(2)).savefig(folder / "online.png")
print("wrote", folder / "online.nearer", "and", folder / "online.png")
