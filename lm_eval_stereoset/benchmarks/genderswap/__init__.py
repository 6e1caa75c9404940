"""Gender-swapped StereoSet: triples and their twins with the genders swapped; Strength and Distance."""
