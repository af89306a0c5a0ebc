"""Versions of the keys that someone watches, and of no others."""


class Watches:
    """Counts changes of watched keys.

    A version is the number of the change that touched the key last, counted over all watched keys,
    so it never comes back. What nobody watches costs nothing and leaves nothing behind.
    """

    def __init__(self) -> None:
        self.versions: dict[bytes, int] = {}
        self._watchers: dict[bytes, int] = {}
        self._changes = 0

    def add(self, key: bytes) -> int:
        """One watcher more; returns the version to compare with later."""
        self._watchers[key] = self._watchers.get(key, 0) + 1
        return self.versions.setdefault(key, self._changes)

    def remove(self, key: bytes) -> None:
        """One watcher less; the last one takes the version along."""
        left = self._watchers[key] - 1
        if left:
            self._watchers[key] = left
        else:
            del self._watchers[key], self.versions[key]

    def changed(self, key: bytes) -> None:
        """The key is not what it was."""
        if key in self.versions:
            self._changes += 1
            self.versions[key] = self._changes
