"""What a user would otherwise run, each as fast as its own description allows, all fed with the same examples."""
