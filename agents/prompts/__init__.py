"""Prompts: built-in Jinja2 files in ``templates``, and the versions of them that people have edited in the admin.

Ask with ``rendering.render``; what it returns names the version that was used, which goes into the record of the call.
Source: subsystem-templates 5, 6.
"""
