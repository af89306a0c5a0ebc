"""Numbers with a fraction kept as text, as INCRBYFLOAT and HINCRBYFLOAT read, add and write them.

Redis works with the 80-bit numbers of the x87: 64 bits of precision. So do we, with exact fractions that are
rounded to 64 bits, so that 0.1 and 0.2 are 0.3 and every machine gives the same text.
"""

import re
from fractions import Fraction

from onemq.errors import InvalidArgument

Decimal = Fraction | float
"""A number of 64 bits, or one of the infinities."""

_PRECISION_BITS = 64
_MAX = Fraction(10**4200)
"""Python writes integers of up to 4,300 digits. The x87 would go on to 4,932."""
_MIN = Fraction(1, 1 << 16446)
_TEXT_BYTES_MAX = 4200
_EXPONENT_MAX = 20_000
_FRACTION_DIGITS = 17

_DECIMAL = re.compile(rb"([+-]?)([0-9]+\.?[0-9]*|\.[0-9]+)(?:e([+-]?[0-9]+))?", re.IGNORECASE)
_HEXADECIMAL = re.compile(rb"([+-]?)0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p([+-]?[0-9]+))?", re.IGNORECASE)
_INFINITY = re.compile(rb"[+-]?inf(inity)?", re.IGNORECASE)


def parse(text: bytes) -> Decimal | None:
    """The number, or None if it is none, too large or too small."""
    if len(text) > _TEXT_BYTES_MAX:
        return None
    if found := _DECIMAL.fullmatch(text):
        return _number(found, 10, 10, 1)
    if found := _HEXADECIMAL.fullmatch(text):
        return _number(found, 16, 2, 4)
    return float(text) if _INFINITY.fullmatch(text) else None


def plus(number: Decimal, by: Decimal) -> bytes:
    """The sum as text. Raises InvalidArgument if it is no number or infinite."""
    if isinstance(number, Fraction) and isinstance(by, Fraction):
        total = _rounded(number + by)
        if abs(total) <= _MAX:
            return _text(total)
    raise InvalidArgument("increment would produce NaN or Infinity")


def _number(found: re.Match[bytes], base: int, power_of: int, powers_per_digit: int) -> Decimal | None:
    sign, digits, exponent_text = found.groups()
    whole, _, fraction = digits.partition(b".")
    mantissa = int(whole + fraction, base)
    exponent = int(exponent_text or 0) - powers_per_digit * len(fraction)
    if not mantissa:
        return Fraction(0)
    if abs(exponent) > _EXPONENT_MAX + powers_per_digit * len(digits):
        return None
    number = _rounded(mantissa * Fraction(power_of) ** exponent)
    if not _MIN <= number <= _MAX:
        return None
    return -number if sign == b"-" else number


def _rounded(number: Fraction) -> Fraction:
    """The nearest number of 64 bits, the even one of two."""
    if not number:
        return number
    exponent = abs(number.numerator).bit_length() - number.denominator.bit_length() - _PRECISION_BITS
    for exponent_tried in (exponent, exponent + 1):
        scale = Fraction(2) ** exponent_tried
        mantissa = round(number / scale)
        if abs(mantissa) <= 1 << _PRECISION_BITS:
            break
    return mantissa * scale


def _text(number: Fraction) -> bytes:
    """With up to 17 digits after the point and no zeros at the end."""
    scaled = round(number * 10**_FRACTION_DIGITS)
    whole, fraction = divmod(abs(scaled), 10**_FRACTION_DIGITS)
    text = b"%d.%017d" % (whole, fraction)
    text = text.rstrip(b"0").rstrip(b".")
    return b"-" + text if scaled < 0 else text
