"""What is used of securesystemslib, imported without the signers of cloud services.

With boto3 installed (an extra brings it), the signer for Amazon's keys imports all of it: a fifth of a second for each command.
securesystemslib is built to go without; keys lie in files here.
"""

from __future__ import annotations

from tasks.microdata.imports import import_without

with import_without("boto3"):
    from securesystemslib.dsse import Envelope
    from securesystemslib.exceptions import UnverifiedSignatureError, VerificationError
    from securesystemslib.signer import CryptoSigner, Key, Signer, SSlibKey

__all__ = ["CryptoSigner", "Envelope", "Key", "SSlibKey", "Signer", "UnverifiedSignatureError", "VerificationError"]
