"""The REST endpoints of what runs: executions, their states and logs, approvals, activities. One file per noun.

Refuses anonymous requests; what belongs to another customer does not exist here. Source: contract-rest-api 2.
"""
