"""Files that tests depend on: ends of paths, in which `*` is any part of one name, and folders."""

EQUIPMENT = ("tests/engine/*.py", "tests/clouds.py", "gpufleet_sandbox/", "tools/*/go.mod")
"""Sandbox, its definitions, and the releases of the programs that run in it."""
VCENTER = (
    *("platforms/vsphere/*.py", "gpufleet_vcenter/*.py", "spec/platforms/vsphere*.py"),
    *("components_base/*.py", "gpufleet/hosting.py"),
    *("tests/engine/vsphere/*.py", "tests/vcenter/*.py", *EQUIPMENT),
)
"""The vCenter provider and its dependencies."""
KARPENTER = (
    *("spec/karpenter.py", "spec/capacity.py", "platforms/eks/*.py", "render/pod_request.py"),
    *EQUIPMENT,
)
KUEUE = (
    *("spec/queues.py", "render/kueue_*.py", "addons/kueue_*.py", "fleet/kueue_*.py"),
    *("fleet/queue_rules.py", "fleet/team_quotas.py", "render/pod_request.py"),
    *("render/scrape_objects.py", *EQUIPMENT),
)
CUT_OVER = ("gpufleet/change/*.py", "render/dra.py", "render/gpu_operator_values.py", *EQUIPMENT)
ADD_ONS = (
    *("gpufleet/addons/", "components_base/*.py", "fleet/addon_*.py", "fleet/gpu_operator_*.py"),
    *("fleet/nic_cluster_policy.py", "fleet/config_names.py", "render/gpu_operator_values.py"),
    *("render/device_plugin*.py", "platforms/sandbox/", *EQUIPMENT),
)
CLAIMS = (
    *("contract/dra*.py", "render/dra*.py", "contract/schemas/*.py", "configurations/dra_*.py"),
    *("tests/policies/configurations/*claims*.py", *EQUIPMENT),
)
ROWS = ("gpufleet/catalogue/", "gpufleet/models/", "gpufleet/partition/")
"""Tables of machines, GPUs and models, and what is computed of them."""
MODEL = (
    *("gpufleet/cluster/", "gpufleet/rules/", "gpufleet/contract/*.py"),
    "gpufleet/contract/programs/",
)
"""Facts of a cluster, and the relations between them."""
POLICIES = (
    "gpufleet_policies/",
    "policies/__main__.py",
    "gpufleet/documents/",
    "gpufleet/contract/schemas/",
    *MODEL,
)
"""What the rules validate, and how it is read. After a change of `ROWS`, or of what a finding is, a
part of the cases is enough: each of them goes through it."""
FRONTS = (
    *("gpufleet_policies/fronts/", "gpufleet_policies/readers/", "gpufleet_policies/commands/"),
    *("gpufleet/documents/", "tests/policies/differential/"),
)
"""Where `check`, `audit` and the pack differ."""
PACK = (
    *("gpufleet_policies/fronts/crossguard*.py", "gpufleet_policies/fronts/settings_file.py"),
    *("gpufleet_policies/pack_files/", "gpufleet_policies/pack_folder.py"),
    *("gpufleet_policies/rules/*.py", "gpufleet_policies/readers/pulumi_*.py", *EQUIPMENT),
)
"""How the engine runs the pack; what its rules say is tested without one."""
PLANNER = ("gpufleet_planner/", "gpufleet/cost/", *ROWS)
"""What a plan is computed from. The planner imports no relation and no reader: the declarations
that it writes are compiled and audited as others are."""
PACKING = ("gpufleet_planner/", "tests/planner/trace/")
"""Algorithms that must be good whatever the rows of the catalogue are."""
DECLARED = ("gpufleet/spec/", "gpufleet/fleet/", "gpufleet/platforms/", "gpufleet/render/")
FLEETS = (*DECLARED, "gpufleet/catalogue/", "gpufleet/partition/", "tests/property/", *MODEL)
"""From a declaration to its files."""
COMMAND_LINE = ("gpufleet/cli/", "gpufleet_policies/commands/", "gpufleet_policies/fronts/")
INSTALLED = (
    *("pyproject.toml", "sandbox/hatch_build.py", "requirements/", "tests/wheel/", "__init__.py"),
    *("gpufleet/cli/", "gpufleet_policies/commands/", "gpufleet_planner/commands/"),
)
"""What the wheels have, and what the program imports when it starts."""
CORE = ("gpufleet/", "gpufleet_vcenter/", "examples/", "stacks/", "requirements/", "pyproject.toml")
PRODUCT = (
    *("gpufleet_policies/", "gpufleet_planner/", "sandbox/", "tests/*.py", "tests/data/", *CORE),
)
PROGRAMS = (
    *("components/__main__.py", "tests/*.py", "tests/recorded/", "tests/engine/vsphere/*.py"),
    *("tests/vcenter/*.py", "tests/unit/components/*_pools.py", *CORE, *EQUIPMENT),
)
"""What an update of a program depends on: core, examples, engine and stand-ins."""
WIRE = (
    *("components/__main__.py", "gpufleet/hosting.py", "components_base/", "gpufleet/arguments/"),
    "tests/schema/",
)
"""How programs in other languages reach the components."""
