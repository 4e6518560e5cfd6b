"""Keep a run in one SQLite file; the only package that knows SQL or table names."""

from memoprobe.store.database import Store as Store
from memoprobe.store.database import open_store as open_store
