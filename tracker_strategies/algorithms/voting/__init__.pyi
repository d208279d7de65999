from .vote import Vote as Vote
