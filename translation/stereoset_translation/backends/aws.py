"""Amazon Translate through boto3.

Credentials come from boto3's default chain (environment, ~/.aws, single sign-on, instance role), never
from the command line. BLANK is kept by a custom terminology that is imported before and removed after.
"""

import argparse
import secrets
import sys
import time
from collections.abc import Sequence
from typing import Any

from lm_eval_stereoset.errors import UserError, missing_package
from lm_eval_stereoset.scoring.questions import BLANK
from stereoset_translation.backends import Backend, Refused, amount, count

PRICE = 15.0  # US dollars per million characters, as listed in 2024
MAX_BYTES = 10_000  # of TranslateText

NOT_FOUND = "ResourceNotFoundException"
CREDENTIALS = {
    "UnrecognizedClientException", "InvalidSignatureException", "ExpiredTokenException", "ExpiredToken",
    "AccessDeniedException", "InvalidClientTokenId", "MissingAuthenticationToken",
    "IncompleteSignature", "SignatureDoesNotMatch",
}  # fmt: skip
LANGUAGE = {
    "UnsupportedLanguagePairException": "Amazon Translate does not translate from {source} to {target}",
    "DetectedLanguageLowConfidenceException": "Amazon Translate is not sure that a text is {source}",
}


def add_options(group: argparse._ArgumentGroup) -> None:
    group.add_argument(
        "--region", metavar="NAME", help="AWS region (default: that of your AWS configuration)"
    )
    group.add_argument("--profile", metavar="NAME", help="named profile of your AWS configuration")
    group.add_argument(
        "--terminology",
        action="append",
        default=[],
        metavar="NAME",
        help="a custom terminology of yours (repeatable)",
    )
    group.add_argument("--endpoint-url", metavar="URL", help="another address of the service")
    group.add_argument(
        "--attempts", type=count, default=8, metavar="N", help="tries per text, with growing pauses (8)"
    )
    group.add_argument(
        "--timeout", type=amount, default=30, metavar="S", help="seconds until a try counts as failed (30)"
    )


def _boto3() -> Any:
    try:
        import boto3
    except ImportError as error:
        raise missing_package("boto3", "--backend aws", "translate") from error
    return boto3


def create(args: argparse.Namespace, source: str, target: str) -> "AmazonTranslate":
    if not args.timeout:
        raise UserError("--timeout 0: give the seconds to wait for an answer, e.g. 30")
    return AmazonTranslate(
        source, target, region=args.region, profile=args.profile, terminologies=args.terminology,
        endpoint_url=args.endpoint_url, attempts=args.attempts, timeout=args.timeout,
        concurrency=args.concurrency or 8, price=PRICE if args.price is None else args.price,
    )  # fmt: skip


class AmazonTranslate(Backend):
    max_bytes = MAX_BYTES

    def __init__(
        self,
        source: str,
        target: str,
        region: str | None = None,
        profile: str | None = None,
        terminologies: Sequence[str] = (),
        endpoint_url: str | None = None,
        attempts: int = 8,
        timeout: float = 30,
        concurrency: int = 8,
        price: float = PRICE,
    ):
        self.source, self.target = source, target
        self.extra = list(terminologies)
        self.identity = " ".join(["aws", *(f"terminology={name}" for name in self.extra)])
        self.concurrency, self.price = concurrency, price
        self.region, self.profile, self.endpoint_url = region, profile, endpoint_url
        self.attempts, self.timeout = attempts, timeout
        # A name of this run alone: others may translate the same languages in the same account.
        self.terminology = f"stereoset-blank-{source}-{target}-{secrets.token_hex(4)}"
        self._client: Any = None

    def __enter__(self) -> "AmazonTranslate":
        self._client = self._connect()
        table = f"{self.source},{self.target}\n{BLANK},{BLANK}\n"
        if self.memory:
            self.memory.note_made(self.terminology)
        self._call(
            "import_terminology",
            Name=self.terminology,
            MergeStrategy="OVERWRITE",
            Description="keeps BLANK in StereoSet; removed after the run",
            TerminologyData={"File": table.encode("utf-8"), "Format": "CSV", "Directionality": "UNI"},
        )
        for name in self.memory.left_behind() if self.memory else ():
            if name != self.terminology:  # of a run that was killed
                self._remove(name)
        return self

    def __exit__(self, *exception: object) -> None:
        self._remove(self.terminology)

    def _remove(self, name: str) -> None:
        from botocore.exceptions import ClientError

        try:
            self._call("delete_terminology", Name=name)
        except UserError as error:
            cause = error.__cause__
            gone = isinstance(cause, ClientError) and cause.response["Error"]["Code"] == NOT_FOUND
            if not gone:
                # The translations are safe; only tell, and let an earlier error through.
                print(f"the terminology {name} was not removed: {error}", file=sys.stderr)
                return
        if self.memory:
            self.memory.note_removed(name)

    def translate(self, texts: Sequence[str]) -> list[str | Refused]:
        return [self._translate(text) for text in texts]

    def _translate(self, text: str) -> str | Refused:
        for attempt in range(self.attempts):
            try:
                answer = self._call(
                    "translate_text",
                    Text=text,
                    SourceLanguageCode=self.source,
                    TargetLanguageCode=self.target,
                    TerminologyNames=[self.terminology, *self.extra],
                )
            except Refused as refused:
                return refused
            # A connection cut within the body is no error to botocore: it gives an answer without fields.
            if isinstance(answer.get("TranslatedText"), str):
                return answer["TranslatedText"]
            time.sleep(min(0.2 * 2**attempt, 10))
        raise UserError(
            f"Amazon Translate cut its answer off {self.attempts} times; every answer so far is stored: "
            "run the same command again later to go on"
        )

    def _connect(self) -> Any:
        boto3 = _boto3()
        from botocore.config import Config
        from botocore.exceptions import BotoCoreError

        config = Config(
            retries={"mode": "adaptive", "total_max_attempts": self.attempts},
            max_pool_connections=self.concurrency,
            connect_timeout=min(self.timeout, 10),
            read_timeout=self.timeout,
        )
        try:
            session = boto3.Session(region_name=self.region, profile_name=self.profile)
            return session.client("translate", config=config, endpoint_url=self.endpoint_url)
        except (BotoCoreError, ValueError) as error:  # ValueError: not a valid address
            raise UserError(f"Amazon Translate cannot be used: {error} {_way_out(error)}") from error

    def _call(self, operation: str, **parameters: Any) -> dict[str, Any]:
        """One call of the service; its failures become one line, or Refused for a single text."""
        from botocore.exceptions import BotoCoreError, ClientError

        try:
            return getattr(self._client, operation)(**parameters)
        except ClientError as error:
            code = error.response.get("Error", {}).get("Code", "")
            message = error.response.get("Error", {}).get("Message", "") or str(error)
            if code == "TextSizeLimitExceededException":
                raise Refused(f"over the service's limit of length: {message}") from error
            if code in CREDENTIALS:
                raise UserError(
                    f"Amazon Translate does not accept your credentials ({code}: {message}); "
                    "check them with `aws sts get-caller-identity` and the right to use translate:*"
                ) from error
            if code in LANGUAGE:
                raise UserError(
                    LANGUAGE[code].format(source=self.source, target=self.target) + f" ({message})"
                ) from error
            tries = error.response.get("ResponseMetadata", {}).get("RetryAttempts", 0) + 1
            raise UserError(
                f"Amazon Translate failed {tries} times ({code}: {message}); every answer so far is stored: "
                "run the same command again later to go on"
            ) from error
        except BotoCoreError as error:
            raise UserError(
                f"Amazon Translate cannot be reached: {error} {_way_out(error)}; every answer so far is "
                "stored: run the same command again to go on"
            ) from error


def _way_out(error: Exception) -> str:
    return {
        "NoCredentialsError": "(set AWS_PROFILE, or run `aws configure`)",
        "NoRegionError": "(give --region, e.g. eu-central-1)",
        "ProfileNotFound": "(see `aws configure list-profiles`)",
    }.get(type(error).__name__, "")
