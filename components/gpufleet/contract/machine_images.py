"""Requirements of a node image on the machines that start it: their processor, and their GPU
through the image's driver.

One relation for every source of a pool: declarations, node groups, launch templates, Karpenter.
"""

import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from gpufleet.catalogue import Catalogue, Gpu, NodeImage
from gpufleet.cluster.fact import Fact
from gpufleet.cluster.pool import Maker, NodePool
from gpufleet.contract.driver_ranges import RangeProblem, driver_problem

_WORDS = {
    "x86_64": "amd64",
    "x86-64": "amd64",
    "amd64": "amd64",
    "arm_64": "arm64",
    "arm64": "arm64",
    "aarch64": "arm64",
}
"""Word in the name of an image, in lower case -> its architecture. Sources: EKS API `amiType`, AMI
names and SSM parameters of EKS, images of RHCOS and Talos."""

_WITHOUT_DRIVER = re.compile(
    r"^AL2(023)?_(x86|ARM)_64(_STANDARD)?$|^BOTTLEROCKET_(x86|ARM)_64(_FIPS)?$|al2023-[^-]+-standard-"
    r"|/amazon-linux-2023/[^/]+/standard/|/amazon-linux-2/|^amazon-eks-node-\d"
    r"|bottlerocket-aws-k8s-[\d.]+-(?!nvidia)|/aws-k8s-[\d.]+/"
)
"""Images of EKS without NVIDIA's driver, by `amiType`, name and SSM parameter (EKS user guide,
"Retrieve recommended Amazon Linux AMI IDs"; awslabs/amazon-eks-ami issue 1817). NVIDIA's operator
has no driver for any of them."""


@dataclass(frozen=True, slots=True)
class ImageMismatch:
    """Machines that cannot start an image."""

    image: str
    architectures: tuple[str, ...]
    """Architectures of the image, in the spelling of Kubernetes."""
    machines: Mapping[str, str]
    """Machine type -> its architecture."""

    @property
    def found(self) -> str:
        """Both sides in words."""
        names = ", ".join(list(self.machines)[:3])
        verb = "is" if len(self.machines) == 1 else "are"
        exists = ", ".join(self.architectures)
        return f"{self.image} is for {exists}, and {names} {verb} {', '.join(self.needed)}"

    @property
    def needed(self) -> tuple[str, ...]:
        """Architectures of the machines."""
        return tuple(sorted(set(self.machines.values())))


def image_mismatch(
    image: str, architectures: Collection[str], machines: Mapping[str, str]
) -> ImageMismatch | None:
    """The machines (type -> architecture) that an image of these architectures cannot start.

    None if every machine can, or if the architectures of the image are not known (empty).
    Source: aws/aws-cdk#26354, "g5g.xlarge is not a valid instance type for requested amiType".
    """
    if not architectures:
        return None
    wrong = {name: own for name, own in machines.items() if own not in architectures}
    return ImageMismatch(image, tuple(sorted(architectures)), wrong) if wrong else None


def lacks_driver(image: str) -> bool:
    """Whether it is an image of EKS, by its name, without GPUs on any machine."""
    return _WITHOUT_DRIVER.search(image) is not None


def named_architectures(image: str) -> frozenset[str]:
    """Architectures in the name of an image; empty if it names none, or several."""
    found = {_WORDS[word] for word in re.findall("|".join(_WORDS), image.lower())}
    return frozenset(found) if len(found) == 1 else frozenset()


def pool_image_mismatch(pool: NodePool, catalogue: Catalogue) -> ImageMismatch | None:
    """The machines of a pool that cannot start its image, as far as both are known.

    A group of equal machines is refused for any of them; Karpenter starts those that fit.
    """
    if not pool.image.is_known or not pool.instance_types.is_known:
        return None
    machines = _architectures(pool, catalogue)
    found = image_mismatch(pool.image.value, named_architectures(pool.image.value), machines)
    if found is None or pool.maker is not Maker.KARPENTER:
        return found
    return found if len(found.machines) == len(pool.instance_types.value) else None


def _architectures(pool: NodePool, catalogue: Catalogue) -> Mapping[str, str]:
    rows = [catalogue.instances.get(name) for name in pool.instance_types.found or ()]
    return {row.name: row.architecture for row in rows if row is not None}


@dataclass(frozen=True, slots=True)
class RefusedImage:
    """An image that a group of equal machines cannot have."""

    found: str
    limit: str
    fix: str
    evidence: Mapping[str, object]


def refused_images(
    pool: NodePool, template: Fact[str], minor: Fact[tuple[int, ...]], catalogue: Catalogue
) -> Iterator[RefusedImage]:
    """Errors in the image of a group of equal machines.

    `template`: the image in its launch template. EKS accepts an image from one of the two
    (EKS API CreateNodegroup, `amiType`; pulumi/pulumi-eks#1463).
    """
    image, eks = pool.image.found or "", pool.maker is Maker.EKS
    found = {"image": image}
    if eks and template.is_known and image not in ("", "CUSTOM", template.value):
        what = f"{image}, and the launch template has the image {template.value}"
        limit = "EKS refuses a type of image other than CUSTOM next to an image of the template"
        yield RefusedImage(what, limit, "write CUSTOM, or take the image from the template", found)
    if (ended := ended_image(image, minor, catalogue)) is not None:
        limit = "EKS refuses such a node group, or starts nodes without updates"
        yield RefusedImage(ended, limit, "write AL2023_x86_64_NVIDIA", found)
    if (other := pool_image_mismatch(pool, catalogue)) is not None:
        limit = "such machines cannot start the image"
        yield RefusedImage(
            other.found,
            f"EKS refuses the node group: {limit}" if eks else f"{limit}, and never join",
            f"choose the image for {' and '.join(other.needed)}, or machines for "
            f"{' and '.join(other.architectures)}",
            {"image": other.image, "machines": sorted(other.machines)},
        )
    elif eks and len(set((own := _architectures(pool, catalogue)).values())) > 1:
        what = ", ".join(f"{name} is {architecture}" for name, architecture in own.items())
        limit = "a node group has one image, which is of one architecture (aws/aws-cdk#12389)"
        yield RefusedImage(what, limit, "make a node group of each", {"machines": sorted(own)})


def image_driver_problem(
    image: NodeImage, gpu: Gpu, catalogue: Catalogue, release: str = ""
) -> RangeProblem | None:
    """The driver of an image that does not support a GPU; None if it does, or is not known.

    `release`: of the image, if it is pinned: later releases added branches for some GPUs.
    """
    _, first = image.branches.get(gpu.key, (None, ""))
    pinned = release.removeprefix("v")
    branch = image.driver_branch if pinned and pinned < first else image.branch_for(gpu.key)
    return None if branch is None else driver_problem(gpu, branch, catalogue)


def last_kubernetes(image: str, catalogue: Catalogue) -> str | None:
    """The last minor version for which EKS publishes an image (`1.32`); None: no end is known.

    `image`: `amiType`, an alias of Karpenter, or Karpenter's family `AL2`.
    """
    amazon_linux_2 = image == "AL2" or image.startswith(("AL2_", "al2@"))
    row = named_image("al2-nvidia" if amazon_linux_2 else image, catalogue)
    return None if row is None else row.last_kubernetes


def ended_image(image: str, minor: Fact[tuple[int, ...]], catalogue: Catalogue) -> str | None:
    """The error if an image is not published for a minor version; None: none is known.
    Source: EKS user guide, `eks-ami-deprecation-faqs`; awslabs/amazon-eks-ami#2545."""
    last = last_kubernetes(image, catalogue)
    if last is None or not minor.is_known or minor.value <= tuple(map(int, last.split("."))):
        return None
    version = ".".join(map(str, minor.value))
    return f"{image} is published up to Kubernetes {last}, and the cluster is {version}"


def named_image(name: str, catalogue: Catalogue) -> NodeImage | None:
    """The row of an image by its key, EKS' `amiType` or an alias of Karpenter (`al2023@v20260917`);
    None for images that the catalogue does not list."""
    family, pinned, _ = name.partition("@")
    key = f"{family}-nvidia" if pinned else name
    rows = (row for row in catalogue.images.values() if name in row.ami_types.values())
    return None if name == "CUSTOM" else catalogue.images.get(key) or next(rows, None)
