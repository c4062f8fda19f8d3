"""Where Windows finds DLLs, and what their files say."""
