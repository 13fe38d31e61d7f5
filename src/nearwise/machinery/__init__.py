"""Parts of control loops and storage as pure state machines; the clock is an argument."""
