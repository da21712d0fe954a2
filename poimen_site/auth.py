"""Sign-in for programs and people: a user name and a password become tokens, or a session of the admin.

It ties a token to the customer that is named, or the only one; else each request may name one (workflows.access).
It refuses to be tried without end: failures are counted, see ``sign_in_throttle``. Source: contract-rest-api 1.
"""

import math
from typing import Any, NoReturn, cast

from django.contrib import admin
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from rest_framework import serializers
from rest_framework.exceptions import Throttled, ValidationError
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework_simplejwt.exceptions import InvalidToken, TokenError
from rest_framework_simplejwt.serializers import TokenObtainPairSerializer, TokenRefreshSerializer
from rest_framework_simplejwt.tokens import RefreshToken
from rest_framework_simplejwt.views import TokenObtainPairView, TokenRefreshView

from poimen_site.errors import error_response
from poimen_site.sign_in_throttle import TOO_MANY, SignInThrottle, forget_failures
from workflows.access import CUSTOMER_CLAIM
from workflows.api.documentation import documented
from workflows.api.requests import NO_OBJECT, Text
from workflows.api.sentences import sentence_of
from workflows.models import Membership
from workflows.token_problems import problem_of

MAX_NAME_LENGTH = 150  # as user names have
MAX_PASSWORD_LENGTH = 4096  # characters; hashing more would be work for nothing


class SignInSerializer(TokenObtainPairSerializer):
    """``{username, password, customer?}`` to ``{access, refresh}``; ``customer`` is a slug or an id."""

    default_error_messages = {"invalid": NO_OBJECT}  # noqa: RUF012 - as the base class has it
    customer = Text(required=False, allow_blank=True)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields[self.username_field] = Text(max_length=MAX_NAME_LENGTH, write_only=True)
        self.fields["password"] = Text(max_length=MAX_PASSWORD_LENGTH, write_only=True, trim_whitespace=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, str]:
        """Return the tokens. Raises ``AuthenticationFailed`` (401), or 400 for a customer the user is no member of."""
        name = attrs.pop("customer", "")
        tokens = super().validate(attrs)
        forget_failures(attrs[self.username_field], self.context["request"])
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


class TokenPair(serializers.Serializer[Any]):
    """What signing in answers."""

    access = serializers.CharField()
    refresh = serializers.CharField()


class FreshToken(serializers.Serializer[Any]):
    """What a refresh token gets."""

    access = serializers.CharField()


class SignInView(TokenObtainPairView):
    """``POST /auth/token``."""

    serializer_class = SignInSerializer
    throttle_classes = (SignInThrottle,)

    @documented("signIn", {200: TokenPair}, body=SignInSerializer, tag="sign-in")
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Take ``{username, password, customer?}`` and answer tokens."""
        return super().post(request, *args, **kwargs)

    def throttled(self, request: Request, wait: float | None) -> NoReturn:
        """Raise 429 with ``Retry-After``."""
        raise Throttled(wait, detail=TOO_MANY)


class RefreshSerializer(TokenRefreshSerializer):
    """``{refresh}`` to ``{access}``."""

    default_error_messages = {"invalid": NO_OBJECT}  # noqa: RUF012 - as the base class has it
    refresh = cast("serializers.CharField", Text())

    def validate(self, attrs: dict[str, Any]) -> dict[str, str]:
        """Return the new token. Raises ``InvalidToken`` (401) that says what is wrong with the one sent."""
        try:
            return super().validate(attrs)
        except TokenError as error:
            raise InvalidToken(problem_of(error, RefreshToken)) from error


class RefreshView(TokenRefreshView):
    """``POST /auth/refresh``."""

    serializer_class = RefreshSerializer
    throttle_classes = ()

    @documented("refresh", {200: FreshToken}, body=RefreshSerializer, tag="sign-in")
    def post(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Take ``{refresh}`` and answer a new access token."""
        return super().post(request, *args, **kwargs)


def admin_login(request: HttpRequest) -> HttpResponseBase:
    """The admin's login page, under the rules of ``POST /auth/token``: 400 for a too long password, 429 if refused."""
    if request.method == "POST":
        if len(request.POST.get("password", "")) > MAX_PASSWORD_LENGTH:
            return error_response(request, 400, f"password: it has at most {MAX_PASSWORD_LENGTH} characters.")
        throttle = SignInThrottle()
        if not throttle.allow_request(request, None):
            wait = math.ceil(throttle.wait() or 1)
            refused = Throttled(wait, detail=TOO_MANY)
            response = error_response(request, refused.status_code, sentence_of(refused))
            response["Retry-After"] = str(wait)
            return response
    return admin.site.login(request)
