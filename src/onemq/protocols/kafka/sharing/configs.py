"""The settings of groups as DescribeConfigs, AlterConfigs and IncrementalAlterConfigs show and change them."""

from collections.abc import Collection

from onemq.protocols.kafka.errors import ErrorCode, Refused
from onemq.protocols.kafka.schemas.alter_configs import AlterableConfig as PlainConfig
from onemq.protocols.kafka.schemas.describe_configs import DescribeConfigsResourceResult, DescribeConfigsSynonym
from onemq.protocols.kafka.schemas.incremental_alter_configs import AlterableConfig
from onemq.protocols.kafka.sharing.settings import DEFAULTS, ISOLATION, RESET, ShareSettings

GROUP = 32
"""Kafka's number for a group among what has settings."""
_OF_GROUP, _DEFAULT = 8, 5
"""Where a value comes from: set for the group, nowhere."""
_TEXT, _NUMBER = 2, 3
_SET, _DELETE = 0, 1


def describe_group(
    settings: ShareSettings, name: str, wanted: Collection[str] | None
) -> list[DescribeConfigsResourceResult]:
    """All settings of a group, or those that are wanted."""
    _check_name(name)
    own = settings.own(name)
    return [_described(each, own.get(each)) for each in DEFAULTS if wanted is None or each in wanted]


def _described(name: str, own: str | None) -> DescribeConfigsResourceResult:
    default = DEFAULTS[name]
    synonyms = [] if own is None else [DescribeConfigsSynonym(name, own, _OF_GROUP)]
    synonyms.append(DescribeConfigsSynonym(f"group.{name}", default, _DEFAULT))
    return DescribeConfigsResourceResult(
        name=name,
        value=default if own is None else own,
        config_source=_DEFAULT if own is None else _OF_GROUP,
        synonyms=synonyms,
        config_type=_TEXT if name in (RESET, ISOLATION) else _NUMBER,
        documentation=None,
    )


def alter_group(
    settings: ShareSettings, name: str, configs: Collection[PlainConfig | AlterableConfig], validate_only: bool
) -> None:
    """Changes settings of a group. Raises `Refused`."""
    _check_name(name)
    changes: dict[str, str | None] = {}
    for each in configs:
        if each.name in changes:
            raise Refused(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
        changes[each.name] = _wanted(each)
    if not all(isinstance(each, AlterableConfig) for each in configs):
        changes = dict.fromkeys(DEFAULTS) | changes  # what is not named gets its default
    settings.change(name, changes, dry=validate_only)


def _wanted(config: PlainConfig | AlterableConfig) -> str | None:
    operation = config.config_operation if isinstance(config, AlterableConfig) else _SET
    if operation == _DELETE:
        return None
    if operation != _SET:
        raise Refused(ErrorCode.INVALID_CONFIG, f"{config.name} is no list: it can be set and deleted")
    if config.value is None:
        raise Refused(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {config.name}")
    return config.value


def _check_name(name: str) -> None:
    if not name:
        raise Refused(ErrorCode.INVALID_REQUEST, "Default group resources are not allowed.")
