"""What kibitz says about itself: the benchmark beside its peers, the documentation pages."""
