"""Downloads that outlast a bad connection: retries, a progress bar, one line when it cannot be done."""

from typing import Any

from lm_eval_stereoset.errors import UserError

TIMEOUT = (10, 60)  # seconds to connect, and between two pieces of an answer
ATTEMPTS = 4
BACKOFF = 0.5  # seconds before the second attempt, doubled with each further one


def download(url: str) -> bytes:
    import requests
    from requests.adapters import HTTPAdapter
    from urllib3.util import Retry

    retry = Retry(total=ATTEMPTS - 1, backoff_factor=BACKOFF, status_forcelist=(429, 500, 502, 503, 504))
    with requests.Session() as session:
        session.mount("https://", HTTPAdapter(max_retries=retry))
        session.mount("http://", HTTPAdapter(max_retries=retry))
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _read_body(session, url)
            except requests.RequestException as error:
                # urllib3 has repeated what it can; an answer cut off in the middle it leaves to us.
                if isinstance(error, requests.exceptions.ChunkedEncodingError) and attempt < ATTEMPTS:
                    continue
                reason = (
                    type(error).__name__ if error.response is None else f"HTTP {error.response.status_code}"
                )
                raise UserError(
                    f"cannot download {url} ({reason}); without a network: `stereoset data fetch --from CLONE`"
                ) from error
    raise AssertionError("unreachable")


def _read_body(session: Any, url: str) -> bytes:
    from tqdm import tqdm

    answer = session.get(url, stream=True, timeout=TIMEOUT)
    answer.raise_for_status()
    size = int(answer.headers.get("Content-Length", 0)) or None
    pieces = []
    with tqdm(total=size, unit="B", unit_scale=True, desc=url.rsplit("/", 1)[-1]) as bar:
        for piece in answer.iter_content(1 << 16):
            pieces.append(piece)
            bar.update(len(piece))
    return b"".join(pieces)
