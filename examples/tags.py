"""Which tags will a user give to an item? `python examples/tags.py [folder]`."""

import sys
import tempfile
from pathlib import Path

import numpy as np

import nearer

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
folder.mkdir(parents=True, exist_ok=True)

# a file of posts: one row per tag that a user gave to an item
rng = np.random.default_rng(0)
tastes, topics, meanings = rng.normal(size=(50, 2)), rng.normal(size=(40, 2)), rng.normal(size=(20, 2))
lines = ["user,item,tag"]
for user in range(50):
    for item in rng.choice(40, 8, replace=False):
        far = ((tastes[user] - meanings) ** 2).sum(1) + ((topics[item] - meanings) ** 2).sum(1)
        lines += [f"user {user},item {item},tag {tag}" for tag in np.argsort(far)[:3]]

with tempfile.TemporaryDirectory() as scratch:
    path = Path(scratch) / "posts.csv"
    path.write_text("\n".join(lines))
    posts = nearer.Posts.read(path)
print(posts)

train, test = posts.split(random_state=0)
model = nearer.TagRecommender(random_state=0, tol=1e-2).fit(train)
print(
    f"beta {model.beta_:.3g}, rank {model.result_.details['rank']}, F1 of lists of five: {model.score(test):.3f}"
)

# a known user, and one that nobody knows, with the same item
for user in ("user 7", "somebody new"):
    tags = model.recommend(user, "item 3", k=3, names=True).items[0]
    print(f"{user}: {', '.join(tags)}")

# users, items and tags in one space
figure = nearer.plotting.plot_coembedding(model, names=True, title="Users, items and tags: near means likely")
figure.savefig(folder / "tags.png")
print("wrote", folder / "tags.png")
