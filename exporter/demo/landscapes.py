"""Views of the seaside town, drawn in flat colours."""

from __future__ import annotations

import random
from functools import partial
from math import sin

from exporter.demo.canvas import Canvas, Colour, mix

_WIDTH, _HEIGHT = 320, 214
_SKIES: dict[str, tuple[Colour, Colour, Colour, Colour]] = {
    # top of the sky, horizon, far water, near water
    "dawn": ((122, 139, 190), (255, 208, 186), (214, 164, 170), (84, 98, 146)),
    "day": ((74, 150, 214), (206, 236, 250), (90, 176, 206), (26, 98, 150)),
    "dusk": ((64, 52, 112), (255, 150, 92), (236, 132, 104), (52, 44, 96)),
    "night": ((12, 16, 44), (44, 58, 104), (34, 46, 90), (10, 14, 38)),
    "grey": ((138, 148, 160), (204, 210, 214), (140, 156, 166), (86, 104, 118)),
}
_LEAVES: dict[str, tuple[Colour, Colour]] = {
    "spring": ((250, 204, 216), (244, 178, 198)),
    "summer": ((92, 158, 84), (62, 128, 70)),
    "autumn": ((226, 128, 52), (196, 74, 44)),
    "winter": ((240, 244, 248), (214, 224, 234)),
}


def _foothill(top: float, swing: float, width: float, shift: float, x: int) -> float:
    return top + swing * sin(x / width + shift)


def sea(hour: str, seed: int) -> Canvas:
    """The sea from the breakwater, with a boat on most days."""
    chance = random.Random(seed)
    canvas, horizon = _sky(hour, chance)
    far, near = _SKIES[hour][2:]
    canvas.gradient(horizon, _HEIGHT, far, near, 30)
    light = mix(far, (255, 255, 255), 0.45)
    for _ in range(240):
        y = chance.randrange(horizon + 2, _HEIGHT)
        wide = 2 + (y - horizon) / 9
        canvas.rect(
            chance.randrange(-10, _WIDTH), y, wide * (1 + chance.random()), 1, mix(light, near, chance.randrange(5) / 6)
        )
    if chance.random() < 0.7:
        _boat(canvas, chance.randrange(60, 260), horizon + 22)
    return canvas


def mountain(hour: str, seed: int) -> Canvas:
    """A snow-capped mountain behind a lake."""
    chance = random.Random(seed)
    canvas, horizon = _sky(hour, chance)
    top, low, far, near = _SKIES[hour]
    rock, snow = mix(top, (60, 70, 110), 0.6), mix(low, (255, 255, 255), 0.7)
    middle = chance.randrange(130, 190)
    canvas.polygon([(middle, 48), (middle - 150, horizon), (middle + 160, horizon)], rock)
    canvas.polygon(
        [
            (middle, 48),
            (middle - 37, 76),
            (middle - 22, 84),
            (middle - 10, 74),
            (middle + 4, 90),
            (middle + 16, 77),
            (middle + 38, 76),
        ],
        snow,
    )
    for depth in range(3):
        hill = mix(rock, (36, 70, 60), 0.3 + depth * 0.3)
        swing, shift = 9 - depth * 2, chance.random() * 6
        canvas.ridge(partial(_foothill, horizon - 16 + depth * 9, swing, 34 - depth * 7, shift), hill)
    canvas.gradient(horizon + 18, _HEIGHT, far, near, 24)
    for y in range(horizon + 22, _HEIGHT, 5):
        canvas.rect(middle - 60 + chance.randrange(30), y, chance.randrange(20, 90), 1, mix(far, snow, 0.5))
    return canvas


def lighthouse(hour: str, seed: int) -> Canvas:
    """The lighthouse on the cape; its light is on when it is dark."""
    canvas = sea(hour, seed)
    rock: Colour = (72, 74, 82)
    canvas.ridge(lambda x: 214 - max(0.0, x - 176) ** 0.86 * 1.2 + 4 * sin(x / 7), rock)
    if hour in ("night", "dusk"):
        canvas.polygon([(262, 62), (0, 20), (0, 74)], mix(_SKIES[hour][0], (255, 240, 180), 0.5))
    canvas.polygon([(252, 70), (272, 70), (277, 152), (247, 152)], (246, 244, 238))
    canvas.rect(250, 92, 24, 12, (206, 62, 54))
    canvas.rect(248, 122, 28, 12, (206, 62, 54))
    canvas.rect(253, 56, 18, 14, (255, 236, 160))
    canvas.polygon([(250, 57), (262, 44), (274, 57)], (150, 44, 44))
    return canvas


def tree(season: str, seed: int) -> Canvas:
    """The old tree above the town, in any season."""
    chance = random.Random(seed)
    canvas, _ = _sky("grey" if season == "winter" else "day", chance)
    ground = {"winter": (236, 240, 244), "autumn": (186, 158, 92)}.get(season, (132, 178, 96))
    canvas.ridge(lambda x: 168 + 10 * sin(x / 60 + seed), ground)
    canvas.polygon([(148, 190), (154, 104), (166, 104), (174, 190)], (94, 66, 52))
    for reach in (-56, -28, 30, 58):
        canvas.line((160, 128), (160 + reach, 92 - abs(reach) / 8), 6, (94, 66, 52))
    light, dark = _LEAVES[season]
    for _ in range(150):
        x, y = chance.gauss(160, 44), chance.gauss(82, 21)
        canvas.disc(x, y, 5 + chance.random() * 8, mix(light, dark, chance.randrange(9) / 8))
    for _ in range(90):
        canvas.disc(chance.randrange(_WIDTH), chance.randrange(60, _HEIGHT), 1.6, light)
    return canvas


def train(hour: str, seed: int) -> Canvas:
    """The one-carriage train along the coast."""
    canvas = sea(hour, seed)
    canvas.ridge(lambda x: 160 + 3 * sin(x / 40), (118, 148, 84))
    canvas.rect(0, 186, _WIDTH, 3, (90, 84, 80))
    for x in range(4, _WIDTH, 12):
        canvas.rect(x, 189, 6, 3, (110, 88, 70))
    left = 40 + seed % 5 * 18
    canvas.rect(left, 138, 190, 44, (238, 226, 200))
    canvas.rect(left, 162, 190, 12, (198, 84, 60))
    for window in range(6):
        canvas.rect(left + 24 + window * 26, 145, 19, 13, (120, 168, 190))
    for wheel in (26, 46, 146, 166):
        canvas.disc(left + wheel, 184, 6, (60, 60, 64))
    return canvas


def fireworks(seed: int) -> Canvas:
    """The summer festival, seen from the harbour wall."""
    chance = random.Random(seed)
    canvas = sea("night", seed)
    shades: tuple[Colour, ...] = ((255, 196, 92), (250, 120, 130), (140, 206, 250), (190, 236, 150))
    for _ in range(5):
        x, y, shade = chance.randrange(40, 280), chance.randrange(24, 90), chance.choice(shades)
        for spark in range(150):
            reach = chance.random() ** 0.5 * chance.randrange(24, 44)
            angle = spark * 2.399
            point = (x + reach * sin(angle), y + reach * sin(angle + 1.571))
            canvas.disc(*point, 1.2 + (reach < 12), mix(shade, (255, 255, 255), chance.randrange(4) / 6))
            canvas.dot(point[0], 250 - point[1], mix(shade, (20, 26, 60), 0.5))
    return canvas


def town(hour: str, seed: int, *, snow: bool = False) -> Canvas:
    """Roofs of the town on its slope, with some windows lit."""
    chance = random.Random(seed)
    canvas, _ = _sky(hour, chance)
    dark = hour in ("night", "dusk")
    for row in range(4):
        for column in range(8):
            x, y = column * 44 - 20 + row % 2 * 22 + chance.randrange(8), 92 + row * 32 + chance.randrange(8)
            wall = mix(
                chance.choice(((236, 222, 200), (206, 214, 216), (226, 200, 180))),
                _SKIES[hour][0],
                0.6 if dark else 0.05,
            )
            roof = (
                (240, 244, 250)
                if snow
                else mix(
                    chance.choice(((150, 84, 70), (92, 100, 118), (120, 96, 84))), _SKIES[hour][0], 0.35 if dark else 0
                )
            )
            canvas.rect(x, y, 36, 60, wall)
            canvas.polygon([(x - 4, y + 1), (x + 18, y - 15), (x + 41, y + 1)], roof)
            for window in (6, 21):
                lit = dark and chance.random() < 0.6
                canvas.rect(x + window, y + 8, 9, 10, (255, 222, 130) if lit else mix(wall, (40, 60, 90), 0.5))
    if snow:
        for _ in range(260):
            canvas.disc(chance.randrange(_WIDTH), chance.randrange(_HEIGHT), 1 + chance.random(), (255, 255, 255))
    return canvas


def _sky(hour: str, chance: random.Random) -> tuple[Canvas, int]:
    top, low = _SKIES[hour][:2]
    horizon = chance.randrange(104, 124)
    canvas = Canvas(_WIDTH, _HEIGHT, top)
    canvas.gradient(0, _HEIGHT, top, low, 20)
    canvas.gradient(0, horizon, top, low)
    if hour == "night":
        for _ in range(90):
            canvas.dot(
                chance.randrange(_WIDTH),
                chance.randrange(horizon - 8),
                mix(low, (255, 255, 255), chance.randrange(5) / 4),
            )
        canvas.disc(250, 36, 15, (250, 244, 214))
        canvas.disc(244, 32, 14, top)
    elif hour in ("dawn", "dusk"):
        canvas.disc(chance.randrange(60, 260), horizon - 4, 20, (255, 238, 196))
    else:
        for _ in range(4):
            _cloud(canvas, chance, mix(low, (255, 255, 255), 0.7))
    return canvas, horizon


def _cloud(canvas: Canvas, chance: random.Random, colour: Colour) -> None:
    x, y = chance.randrange(_WIDTH), chance.randrange(14, 62)
    for puff in range(5):
        canvas.ellipse(x + puff * 11, y + chance.randrange(-4, 4), 15, 7 + (2 - abs(2 - puff)) * 2, colour)


def _boat(canvas: Canvas, x: int, y: int) -> None:
    canvas.polygon([(x - 22, y), (x + 22, y), (x + 14, y + 9), (x - 15, y + 9)], (86, 60, 52))
    canvas.polygon([(x, y - 34), (x, y - 3), (x + 17, y - 3)], (250, 246, 236))
    canvas.polygon([(x - 3, y - 27), (x - 3, y - 3), (x - 14, y - 3)], (230, 218, 200))
