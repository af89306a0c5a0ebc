"""The simulation: OneMQ run from a seed against faulty twins of what it stands on."""
