"""What every attack declares and does: the base of their specs, what one is given when it runs, and what it finds."""

from __future__ import annotations

import inspect
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal, Self, get_args

from tasks.attack.descriptions import DataKnowledge
from tasks.attack.linkage.holding import apply_holdings
from tasks.attack.neighbours.record_comparison import ScaleBy
from tasks.attack.outcomes.links import Links
from tasks.attack.threat import Intruder
from tasks.attack.together.earlier_release import EarlierView
from tasks.mask.methods import Mechanism
from tasks.microdata.ground_truth import GroundTruth
from tasks.microdata.schema import Schema
from tasks.microdata.spec import Public, Slug, Spec
from tasks.microdata.table import Integers, Microdata

NEEDS_ORIGINALS = "it looks for the source's records by their own values, or their order: an external file has others"
RequiredBy = Literal["masking steps", "kept row order", "earlier releases", "nobody"]
Files = tuple[Microdata, Microdata, Schema, tuple[Mechanism, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackDescription:
    """What is said of an attack whatever its parameters are.

    title: in the report. infers, note: what it does, and what else `sdcert methods attack` says of that. knows_of_data,
    knows_of_masking, parameters: phrases of that command. holder: who carries it out, `somebody who ...`; None: somebody who
    knows some attributes. is_worst_case: does it weigh the attributes as only the owner of the data can? has_probabilities:
    does every form of it say how probable each row is? required_by: what may ask for it. required_form: in brackets, in which
    form that is, where it has several.
    """

    title: str
    infers: str
    note: str
    knows_of_data: str
    knows_of_masking: str
    parameters: str
    holder: str | None
    is_worst_case: bool
    has_probabilities: bool
    required_by: RequiredBy
    required_form: str


@dataclass(frozen=True, slots=True, kw_only=True)
class AttackTraits:
    """The answers of an attack, with its parameters, to the questions that are asked of every attack. None has a default.

    searches_originals: do the released rows search for the intruder's records? If not, the records search for their rows.
    scale_by: whose scale values are compared by; None: there is none. assigns_together: are all records given to the rows
    together? depends_on_others: does who is linked depend on which other records the intruder holds? Then they all attack, and
    only the scoring is of a sample.
    needs_originals: does it look for the records by their own values, or their order? An external file has others.
    uses_external_files: can it be carried out with such a file? needs_all_records: why somebody who has a share of the
    records cannot carry it out; None: they can.
    reads_similar_rows: are records linked to the rows most like them, so that these say something even where rows belong to
    nobody? attacks_synthetic_rows: can it, with these parameters? (Others need to know who is who.)
    is_required_form: does it answer for a required attack? Other directions, scales, distances and ways to choose a row stand
    beside the required form. sample_size: of how many targets a part runs where the whole is too large; None: none.
    """

    searches_originals: bool
    scale_by: ScaleBy | None
    assigns_together: bool
    depends_on_others: bool
    needs_originals: bool
    uses_external_files: bool
    needs_all_records: str | None
    reads_similar_rows: bool
    attacks_synthetic_rows: bool
    is_required_form: bool
    sample_size: int | None


@dataclass(frozen=True)
class AttackContext:
    """What an attack is given.

    truth: the tables, and whose row is whose. An attack may use the tables, the order of the released file, how many records
    are released and, if it stands for the worst case, `record_pairs`; the rest is for the scoring.
    knows: the attributes that the intruder knows, in an order that assignments do not depend on. targets: places of the records
    whose links are wanted. held: which records of the source the intruder holds, ascending, where that is a share; None: all.
    sample: some of the targets, see `AttackTraits.sample_size`. In `run`, `truth`, `targets` and `sample` are those
    of the records that the intruder holds. earlier: other releases of the same people; series: of the attacked one.
    """

    truth: GroundTruth
    schema: Schema
    mechanisms: tuple[Mechanism, ...]
    intruder: Intruder
    knows: tuple[str, ...]
    targets: Integers
    held: Integers | None = None
    sample: Integers | None = None
    earlier: tuple[EarlierView, ...] = ()
    series: str = ""

    @cached_property
    def truth_of_held(self) -> GroundTruth:
        """The same of the records that the intruder holds."""
        return self.truth if self.held is None else self.truth.restrict_to(self.held)

    @property
    def files(self) -> Files:
        """What an intruder has who knows the masking steps and the original values."""
        return self.truth.original, self.truth.masked, self.schema, self.mechanisms, self.knows

    @property
    def own_file(self) -> Microdata:
        """The intruder's records as their own file has them."""
        return apply_holdings(self.truth.original, self.schema, self.intruder.holds)

    @property
    def of_persons(self) -> bool:
        """May a person have several rows?"""
        return self.truth.units.counts == "persons"


@dataclass(frozen=True, slots=True)
class AttackFindings:
    """What an attack found.

    links: of the targets at least. remark: what else is to be said of what the intruder knows of the masking.
    permutation_chance: what it finds where who is who is permuted, if it learned from that. n_given: to how many of those who
    search an assignment gives something, where that may be fewer than all.
    """

    links: Links
    remark: str = ""
    permutation_chance: float | None = None
    n_given: int | None = None


@dataclass(frozen=True, slots=True)
class Gaps:
    """Masked attributes that an intruder knows and cannot follow through the steps.

    lost: nor can somebody who has all records and knows all published attributes; reason: why. hidden: somebody who has all
    records, and knows the same attributes, can.
    """

    lost: frozenset[str] = frozenset()
    hidden: frozenset[str] = frozenset()
    reason: str = ""


class AttackSpec(Spec):
    """Base of all attacks: the parameters of one, what it says of itself, and how it is carried out.

    An attack derives from `DataAttack` if it knows nothing of the masking, and from `MechanismAttack` if it follows the steps.
    method: the name of the attack in a release file. id: what it is called in figures and policy lines; default: the method.
    """

    about: ClassVar[AttackDescription]
    follows_masking: ClassVar[bool]

    method: Public[str]
    id: Public[Slug | None] = None

    @classmethod
    def __pydantic_init_subclass__(cls, **_: Any) -> None:
        """A class that can be made says what it is."""
        if not inspect.isabstract(cls) and not isinstance(getattr(cls, "about", None), AttackDescription):
            raise TypeError(f"the attack {cls.__name__} has no description: give its class `about = AttackDescription(...)`")

    @classmethod
    def get_method(cls) -> str:
        """The name of the attack in a release file."""
        (name,) = get_args(cls.model_fields["method"].annotation)
        return str(name)

    @classmethod
    def create_default(cls, attack_id: str | None = None) -> Self:
        """The attack with its default parameters."""
        return cls.model_validate({"method": cls.get_method(), "id": attack_id})

    @property
    def attack_id(self) -> str:
        """What the attack is called in figures and policy lines."""
        return self.id or self.method

    @classmethod
    def is_required(cls, steps: tuple[Mechanism, ...], *, keeps_row_order: bool) -> bool:
        """Must a release face the attack that was masked by these steps? A step names the attacks that answer it."""
        return any(cls.get_method() in step.answered_by for step in steps)

    @property
    @abstractmethod
    def rule(self) -> str:
        """What the attack does, with these parameters, in words."""

    @property
    @abstractmethod
    def traits(self) -> AttackTraits:
        """What is true of the attack with these parameters."""

    @abstractmethod
    def describe_known_data(self, known: DataKnowledge) -> str:
        """What the intruder knows of the data."""

    @abstractmethod
    def find_gaps(self, context: AttackContext) -> Gaps:
        """What the attack cannot follow of the steps. The context is of all records."""

    @abstractmethod
    def run(self, context: AttackContext) -> AttackFindings:
        """Link the records that the intruder holds to released rows, or the reverse (`searches_originals`).

        Raises NotApplicable if this intruder cannot carry the attack out or it has no object, NotFollowed if sdcert cannot,
        OnlyBounded if it can in part, AttackFailed if what the attack assumes is not so.
        """

    def link_synthetic_rows(self, own: Microdata, shown: Microdata, schema: Schema, knows: tuple[str, ...]) -> Links:
        """Link each record to the rows most like it, in a table whose rows belong to nobody.

        Every attack that `attacks_synthetic_rows` says how; nobody asks the others.
        """
        raise NotImplementedError(f"the attack {self.method} does not say how it links rows that belong to nobody")

    def resolve_knowledge(self, intruder: Intruder) -> tuple[str, ...]:
        """The attributes that the intruder knows: of most attacks, those of the release file's intruder."""
        return intruder.knows

    def check_parameters(self, steps: tuple[Mechanism, ...], where: str) -> None:
        """Raises InputError for a parameter that these masking steps do not allow. where: the attack's place in the file."""


class DataAttack(AttackSpec):
    """Base of the attacks that know nothing of the masking: there is nothing that they could fail to follow."""

    follows_masking = False

    def find_gaps(self, context: AttackContext) -> Gaps:
        """None."""
        return Gaps()
