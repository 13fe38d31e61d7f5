"""Where the embedded API server keeps its objects: in memory, or in a file that outlives it."""

from nearwise.store.contract import Store, StoreFailedError
from nearwise.store.memory import MemoryStore
from nearwise.store.sqlite import SqliteStore

__all__ = ["MemoryStore", "SqliteStore", "Store", "StoreFailedError"]
