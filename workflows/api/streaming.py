"""Answers that are no JSON: files, a piece at a time, whatever their size. Refusals of such endpoints stay JSON.

Refuses to let a browser show what an activity wrote: everything is a download.
"""

import asyncio
from collections.abc import AsyncIterator
from typing import BinaryIO

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.response import Response
from rest_framework.views import APIView

from workflows.artifact_files import ArtifactFile

PIECE = 64 * 1024


class AnyType(BaseRenderer):
    """For files, whose type is their own whatever ``Accept`` says. Renders nothing, since they stream."""

    media_type = "*/*"
    format = ""


class JsonRefusals(APIView):
    """An endpoint that answers something else than JSON, and refuses in JSON all the same."""

    def handle_exception(self, exc: Exception) -> Response:
        """Answer refusals in JSON, whatever was to come."""
        self.request.accepted_renderer, self.request.accepted_media_type = JSONRenderer(), JSONRenderer.media_type
        return super().handle_exception(exc)


class _Pieces:
    """Reads an open file beside the event loop, which Django's own ``FileResponse`` would read whole."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while piece := await asyncio.to_thread(self._file.read, PIECE):
            yield piece

    def close(self) -> None:
        """Called by the response when it has ended, also before its end."""
        self._file.close()


def download(described: ArtifactFile, file: BinaryIO) -> StreamingHttpResponse:
    """Return the answer that sends an open file, which it closes, to be kept and never to be shown."""
    return StreamingHttpResponse(
        _Pieces(file),
        content_type=described.content_type,
        headers={
            "Content-Disposition": content_disposition_header(True, described.name.rpartition("/")[2]) or "attachment",
            "Content-Length": str(described.bytes),
            "X-Content-Type-Options": "nosniff",
            "Content-Security-Policy": "sandbox; default-src 'none'",
            "Cache-Control": "no-store",
        },
    )
