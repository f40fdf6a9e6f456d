"""Regular expressions that CEL needs because it can read no numbers out of a text."""


def at_least(number: int) -> str:
    """Decimal integers without leading zeros that are this large or larger."""
    if number <= 0:
        return "[0-9]+"
    digits = str(number)
    choices = [f"[1-9][0-9]{{{len(digits)},}}"]
    for index, digit in enumerate(digits):
        rest = len(digits) - index - 1
        low = int(digit) + 1
        if low <= 9:
            choices.append(f"{digits[:index]}[{low}-9]" + (f"[0-9]{{{rest}}}" if rest else ""))
    choices.append(digits)
    return f"({'|'.join(choices)})"
