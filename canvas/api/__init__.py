"""The REST endpoints of what is drawn: workflows, their versions, relations and starts. One file per noun.

Refuses anonymous requests; what belongs to another customer does not exist here. Source: contract-rest-api 2.
"""
