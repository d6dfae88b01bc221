"""An S3 for tests: moto's server on a port of the loopback, found through the environment."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

SECRET = "canary-of-the-secret-access-key"
ACCOUNT = "canary-of-the-access-key"


@contextmanager
def s3_bucket() -> Iterator[str]:
    """The address of an empty bucket; the test is skipped where the extra `s3`, or moto, is not installed."""
    pytest.importorskip("s3fs")
    moto = pytest.importorskip("moto.server")
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    with pytest.MonkeyPatch.context() as patch:
        host, port = server.get_host_and_port()
        patch.setenv("AWS_ENDPOINT_URL", f"http://{host}:{port}")
        patch.setenv("AWS_ACCESS_KEY_ID", ACCOUNT)
        patch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        try:
            yield f"s3://{_made()}"
        finally:
            _forgotten()
            server.stop()


def _made() -> str:
    import boto3

    name = f"bucket-{uuid.uuid4().hex}"
    boto3.client("s3").create_bucket(Bucket=name)
    return name


def _forgotten() -> None:
    """fsspec keeps its filesystems, which know the server's address."""
    import s3fs

    s3fs.S3FileSystem.clear_instance_cache()
