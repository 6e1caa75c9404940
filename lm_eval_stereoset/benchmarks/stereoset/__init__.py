"""StereoSet: a stereotype, an anti-stereotype and an unrelated candidate; SS, LMS and ICAT."""
