"""What is wrong with a bearer token of our own, in a sentence for whoever sent it.

Refuses to repeat the token, and to say anything about keys.
"""

import jwt
from rest_framework_simplejwt.exceptions import TokenError
from rest_framework_simplejwt.settings import api_settings
from rest_framework_simplejwt.tokens import Token


def problem_of(error: TokenError, wanted: type[Token]) -> str:
    """Return why a token was refused as a ``wanted`` one, going by what the libraries raised underneath."""
    cause: BaseException | None = error
    while cause is not None:
        match cause:
            case jwt.ExpiredSignatureError():
                return "The token has expired"
            case jwt.InvalidSignatureError():
                return "The token's signature is wrong"
            case jwt.InvalidAlgorithmError():
                return f"The token is not signed with {api_settings.ALGORITHM}"
            case jwt.DecodeError():
                return "This is no token: expected a JSON Web Token"
        cause = cause.__cause__
    if str(error) == "Token has wrong type":
        return f"The token is of another type: expected the {wanted.token_type} token"
    return f"The token is refused: {error}"
