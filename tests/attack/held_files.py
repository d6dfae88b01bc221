"""Attacks by somebody who holds a file: made, run and scored, for tests."""

from __future__ import annotations

import json

import numpy as np

from tasks.attack.linkage.distance_linkage import DistanceLinkage
from tasks.attack.linkage.external_files import FileSpec
from tasks.attack.linkage.file_alignment import align_external_file
from tasks.attack.methods import attack
from tasks.attack.threat import Intruder, IntruderSpec, holders
from tasks.score.linkage import linkage_estimates

PLAIN = DistanceLinkage(method="distance_linkage")


def file_spec(**fields):
    return FileSpec.model_validate_json(json.dumps({"table": "register.csv", "key": "id", **fields}))


def holder(spec, schema, file):
    (found,) = holders(IntruderSpec(files=(spec,)), schema, (file.names,))
    return found


def result_of(source, schema, file, spec=None, how=PLAIN):
    """The result of one attack by the holder of a file, and its figures by measure and attribute."""
    who = holder(spec or file_spec(), schema, file)
    scene = align_external_file(source, schema, file, who.file)
    found = attack(
        *(source.original, source.masked, schema, (), how, who),
        alignment=source.alignment,
        targets=np.arange(scene.original.n),
        file=file,
    )
    return found, figures_of(found, scene, schema)


def declared(source, schema, knows, how=PLAIN):
    targets = np.arange(source.original.n)
    everybody = (source.original, source.masked, schema, (), how, Intruder("declared", knows))
    found = attack(*everybody, alignment=source.alignment, targets=targets)
    return figures_of(found, source, schema)


def figures_of(result, scene, schema):
    return {(one.measure, one.attribute): one for one in linkage_estimates(result, scene, schema)}


def values(figures):
    return {name: (one.value, one.low, one.high, one.chance, one.n_targets, one.n_in_release) for name, one in figures.items()}
