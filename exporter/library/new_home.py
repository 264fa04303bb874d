"""Who asks a new home, and with which secret: for comparisons and moves."""

from __future__ import annotations

from exporter.errors import UsageError
from exporter.http.address_guard import check_base_url
from exporter.http.credentials import Credentials
from exporter.message import message
from exporter.settings import Settings
from exporter.wordpress.rest import application_password


def check_address(text: str) -> str:
    """Return the address of a new home.

    Raises:
        UsageError: it is none that can be asked, or holds a secret.
    """
    check_base_url(text, message("the address of the new home"), "BLOG_EXPORTER_NEW_HOME_TOKEN")
    return text


def new_home_credentials(address: str, settings: Settings) -> Credentials:
    """Return the credentials for a WordPress, to be sent to its own host only; none where no secret is set.

    Raises:
        UsageError: the secret has no user, or would travel unencrypted and nobody allowed it.
    """
    if not settings.new_home_token:
        return Credentials()
    if settings.new_home_user is None:
        raise UsageError(
            message("Whose application password is it? Name the user of the new home with --new-home-user.")
        )
    credentials = application_password(settings.new_home_user, settings.new_home_token)
    if not settings.allow_plain_http and credentials.exposed_at(address) is not None:
        raise UsageError(
            message(
                "The application password would travel unencrypted, where anybody on the way can "
                "read it: use an https:// "
                "address, or say --allow-plain-http where the network is your own."
            )
        )
    return credentials
