"""StereoSet in a new language: plan, translate, repair, check, review and build.

Each step is a module and a subcommand of `stereoset translate`; docs/translation.md goes through them.
"""
