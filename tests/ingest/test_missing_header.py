"""A text table whose first row is a record is refused; one whose names are numbers for a reason is not."""

import pytest

from tasks.ingest.codebooks.codebook import AttributeSpec
from tasks.ingest.methods import IngestPlan, ingest_raw_table
from tasks.ingest.released_table import ReleasedTablePlan, type_released_table
from tasks.ingest.sources import SourceSpec, read_content
from tasks.microdata.errors import InputError

RECORDS = [f"{20 + i % 50},{1000.5 + 37 * i},{'north' if i % 3 else 'south'},P{i}" for i in range(60)]


def ingest(lines: list[str], *declared: str) -> list[str]:
    plan = IngestPlan(source=SourceSpec(table="a.csv"), attributes=tuple(AttributeSpec(name=name) for name in declared))
    return list(ingest_raw_table(read_content("\n".join(lines).encode(), "a.csv"), plan).data.names)


@pytest.mark.parametrize(
    "lines",
    [
        RECORDS,
        ["+20, 1.5", "30,2.5", "40,2.5"],
        ["2020-02-01,5", "2021-03-01,6", "2022-04-01,6"],
        ["yes,no", "yes,yes", "no,yes", "no,no"],
        ["3,1", "5,", "4,2"],
        ["north,34", *["north,20", "south,30"] * 5],
        ["23,24,north", *["20,60,north", "30,40,south"] * 5],
    ],
)
def test_a_record_in_the_place_of_the_names_is_refused(lines: list[str]) -> None:
    with pytest.raises(InputError) as refused:
        ingest(lines)
    assert refused.value.code == "no-header"
    assert not any(cell in f"{refused.value}" for cell in lines[0].split(",") if len(cell) > 2), "it may be a person's"


@pytest.mark.parametrize(
    "lines",
    [
        ["age,income,town,person", *RECORDS],
        ["2019,2020,2021", "5,6,7", "8,9,10"],
        ["2021,2011,2001", "5,6,7", "8,9,10"],
        ["town,1990,1995", "a,6,7", "b,9,10"],
        ["sex,101,102,105", *["m,1,2,3", "f,1,2,2"] * 5],  # no category is called sex
        ["town,2020", "a,6", "b,9"],
        ["0,1", "5,x", "8,y"],
        ["7", "1", "2"],
        ["12,rate", "5,6.5", "8,7.5"],  # one column of numbers has a name
        ["yes,answer", *["yes,no", "no,yes"] * 5],
        ["sex,age", "m,30", "sex,age", "f,40"],  # two files were joined
        ["code,5", *["007,1", "008,2"] * 5],
    ],
)
def test_names_of_columns_are_left_alone(lines: list[str]) -> None:
    assert ingest(lines) == lines[0].split(",")


def test_who_declares_all_columns_says_that_these_are_their_names() -> None:
    names = RECORDS[0].split(",")
    assert ingest(RECORDS, *names) == names
    with pytest.raises(InputError):
        ingest(RECORDS, *names[:-1])


def test_a_table_masked_elsewhere_is_known_by_the_names_of_its_source() -> None:
    lines, names = ["12,14", "1,2", "3,4"], ("12", "14")
    plan = ReleasedTablePlan(source=SourceSpec(table="a.csv"), attributes=(), published=names, known=names, key=None)
    assert type_released_table(read_content("\n".join(lines).encode(), "a.csv"), plan).data.names == names
    with pytest.raises(InputError):
        ingest(lines)
