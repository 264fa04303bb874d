"""Real and simulated S3 services on this machine."""

from __future__ import annotations

import itertools
import threading
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config
from moto.moto_server.werkzeug_app import DomainDispatcherApplication, create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

if TYPE_CHECKING:
    from types_boto3_s3 import S3Client

_NUMBERS = itertools.count(1)
"""All moto services in this process share their buckets, so names must differ."""


@dataclass(frozen=True)
class Service:
    """A running S3 service.

    Attributes:
        endpoint: its address.
        key: the writer's key ID.
        secret: the writer's secret key.
    """

    endpoint: str
    key: str
    secret: str

    @property
    def variables(self) -> dict[str, str]:
        """The environment variables that configure the program."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": self.key,
            "AWS_SECRET_ACCESS_KEY": self.secret,
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_CONFIG_FILE": "/dev/null",
            "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
        }

    def client(self) -> S3Client:
        """Return a client with the writer's keys."""
        return boto3.client(
            "s3",
            endpoint_url=self.endpoint,
            region_name="us-east-1",
            aws_access_key_id=self.key,
            aws_secret_access_key=self.secret,
            config=Config(request_checksum_calculation="when_required", max_pool_connections=32),
        )

    def bucket(self, *, versions: bool = False, locks: bool = False) -> str:
        """Make a bucket and return its name."""
        name = f"bucket-{next(_NUMBERS)}"
        client = self.client()
        client.create_bucket(Bucket=name, ObjectLockEnabledForBucket=locks)
        if versions:
            client.put_bucket_versioning(Bucket=name, VersioningConfiguration={"Status": "Enabled"})
        client.close()
        return name


@contextmanager
def moto() -> Iterator[Service]:
    """Run a service that answers like Amazon's and handles one request at a time."""
    application = DomainDispatcherApplication(create_backend_app)
    one_at_a_time = threading.Lock()

    def answer(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with one_at_a_time:
            return list(application(environ, start_response))

    server = make_server("127.0.0.1", 0, answer, threaded=True, request_handler=_Quiet)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield Service(f"http://127.0.0.1:{server.server_port}", "KEY", "secret")
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:  # noqa: A002 - the base class's name
        """Log nothing."""


def count_requests(client: S3Client) -> Counter[str]:
    """Return a counter of the requests that a client sends from now on, by operation, repeated ones included."""
    counted: Counter[str] = Counter()
    lock = threading.Lock()

    def count(event_name: str = "", **_: object) -> None:
        with lock:
            counted[event_name.rpartition(".")[2]] += 1

    client.meta.events.register("before-send.s3", count)
    return counted
