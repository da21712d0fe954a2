"""Sign-in for programs: a user name and a password become a pair of JSON web tokens, tied to one customer.

It refuses to choose: a user of several customers names one here, or in a header with each request (workflows.access).
Source: contract-rest-api 1.
"""

from typing import Any, cast

from rest_framework import serializers
from rest_framework.exceptions import ValidationError
from rest_framework_simplejwt.serializers import TokenObtainPairSerializer
from rest_framework_simplejwt.tokens import RefreshToken
from rest_framework_simplejwt.views import TokenObtainPairView

from workflows.access import CUSTOMER_CLAIM
from workflows.models import Membership


class SignInSerializer(TokenObtainPairSerializer):
    """``{username, password, customer?}`` to ``{access, refresh}``; ``customer`` is a slug or an id."""

    customer = serializers.CharField(required=False, allow_blank=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, str]:
        """Return the tokens. Raises ``AuthenticationFailed`` (401), or 400 for a customer the user is no member of."""
        name = attrs.pop("customer", "")
        tokens = super().validate(attrs)
        memberships = list(Membership.objects.select_related("customer").filter(user=self.user))
        if name:
            memberships = [m for m in memberships if name.lower() in (m.customer.slug.lower(), str(m.customer_id))]
            if not memberships:
                raise ValidationError({"customer": f"You are not a member of a customer called {name!r}."})
        if len(memberships) == 1:
            refresh = RefreshToken(cast("Any", tokens["refresh"]))  # the stubs know no encoded tokens
            refresh[CUSTOMER_CLAIM] = str(memberships[0].customer_id)
            tokens = {"access": str(refresh.access_token), "refresh": str(refresh)}
        return tokens


class SignInView(TokenObtainPairView):
    """``POST /auth/token``."""

    serializer_class = SignInSerializer
