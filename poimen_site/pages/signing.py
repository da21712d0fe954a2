"""Signing in and out on pages, and the switch between customers.

It refuses to send anybody to another site afterwards, and tries without end (``poimen_site.sign_in_throttle``).
"""

import math

from django.contrib.auth import login, logout
from django.contrib.auth.decorators import login_required
from django.contrib.auth.forms import AuthenticationForm
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from poimen_site.auth import MAX_PASSWORD_LENGTH
from poimen_site.pages.visitor import CUSTOMER_KEY, SIGN_IN, draw
from poimen_site.sign_in_throttle import TOO_MANY, SignInThrottle
from workflows.models import Membership


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    """``/ui/sign-in?next=``: the form; 400 with what is wrong, 429 after too many failures."""
    target = _next(request)
    if request.user.is_authenticated and request.method != "POST":
        return HttpResponseRedirect(target)
    form = AuthenticationForm(request, data=request.POST or None)
    problem, status, wait = "", 200, 0
    if request.method == "POST":
        throttle = SignInThrottle()
        if len(request.POST.get("password", "")) > MAX_PASSWORD_LENGTH:
            problem, status = f"A password has at most {MAX_PASSWORD_LENGTH} characters.", 400
        elif not throttle.allow_request(request, None):
            wait = math.ceil(throttle.wait() or 1)
            problem, status = f"{TOO_MANY} Try again in {wait} s.", 429
        elif form.is_valid():
            login(request, form.get_user())
            return HttpResponseRedirect(target)
        else:
            problem, status = "User name and password do not match an active account.", 400
    given = {"next": target, "problem": problem, "username": request.POST.get("username", "")[:150]}
    response = draw(request, None, "ui/sign_in.html", given, status=status)
    if wait:
        response["Retry-After"] = str(wait)
    return response


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    """``POST /ui/sign-out``."""
    logout(request)
    return HttpResponseRedirect(SIGN_IN)


@require_POST
@login_required(login_url=SIGN_IN)
def switch_customer(request: HttpRequest) -> HttpResponse:
    """``POST /ui/customer``: take ``customer`` (an id) for all pages from now on; others than their own are ignored."""
    wanted = request.POST.get("customer", "")
    own = {str(pk) for pk in Membership.objects.filter(user=request.user.pk).values_list("customer_id", flat=True)}
    if wanted in own:
        request.session[CUSTOMER_KEY] = wanted
    return HttpResponseRedirect(_next(request))


def _next(request: HttpRequest) -> str:
    """The page to go to afterwards, on this very site; home for anything else."""
    target = request.POST.get("next") or request.GET.get("next") or "/"
    hosts = {request.get_host()}
    return target if url_has_allowed_host_and_scheme(target, hosts, require_https=request.is_secure()) else "/"
