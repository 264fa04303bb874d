"""The cat, the kitchen and the bookshop, drawn in flat colours."""

from __future__ import annotations

import random
from math import pi, sin

from exporter.demo.canvas import Canvas, Colour, mix

_WIDTH, _HEIGHT = 300, 210
_PINK: Colour = (242, 160, 160)
_INK: Colour = (58, 46, 44)
_CREAM: Colour = (255, 250, 240)


def cat(wall: Colour, fur: Colour = (206, 158, 106), *, asleep: bool = False) -> Canvas:
    """The cat, looking at you or not."""
    canvas = _table(wall)
    dark, belly = mix(fur, (70, 40, 20), 0.45), mix(fur, (255, 255, 255), 0.75)
    canvas.ellipse(150, 196, 84, 62, fur)
    canvas.ellipse(150, 206, 44, 50, belly)
    for side in (-1, 1):
        canvas.polygon([(150 + side * 62, 96), (150 + side * 58, 34), (150 + side * 18, 62)], fur)
        canvas.polygon([(150 + side * 54, 82), (150 + side * 52, 48), (150 + side * 28, 64)], _PINK)
    canvas.ellipse(150, 104, 66, 54, fur)
    for stripe in (-18, 0, 18):
        canvas.ellipse(150 + stripe, 62, 4, 13, dark)
    canvas.ellipse(150, 128, 30, 22, belly)
    for side in (-1, 1):
        if asleep:
            canvas.line((150 + side * 16, 101), (150 + side * 28, 107), 4, _INK)
            canvas.line((150 + side * 28, 107), (150 + side * 40, 101), 4, _INK)
        else:
            canvas.ellipse(150 + side * 28, 102, 11, 13, (240, 214, 96))
            canvas.ellipse(150 + side * 28, 102, 5, 12, _INK)
            canvas.disc(150 + side * 28 + 3, 97, 2.5, _CREAM)
        for whisker in (-6, 2, 10):
            canvas.line((150 + side * 32, 128), (150 + side * 88, 124 + whisker * 1.6), 1.6, _CREAM)
        canvas.line((150, 129), (150 + side * 6, 137), 2.5, _INK)
        canvas.line((150 + side * 6, 137), (150 + side * 14, 132), 2.5, _INK)
    canvas.polygon([(143, 120), (158, 120), (150, 129)], _PINK)
    return canvas


def cake(cream: Colour, seed: int) -> Canvas:
    """A slice of layer cake on a plate."""
    canvas = _table((226, 214, 198))
    chance = random.Random(seed)
    canvas.ellipse(150, 172, 118, 26, (206, 212, 220))
    canvas.ellipse(150, 168, 114, 23, (250, 250, 250))
    for layer in range(5):
        colour = cream if layer % 2 else (244, 208, 136)
        canvas.polygon(
            [(74, 92 + layer * 14), (232, 104 + layer * 14), (232, 120 + layer * 14), (74, 108 + layer * 14)], colour
        )
    canvas.polygon([(74, 92), (150, 64), (232, 104), (150, 100)], cream)
    canvas.polygon([(74, 90), (150, 64), (232, 104), (232, 110), (74, 98)], cream)
    for _ in range(60):
        canvas.dot(chance.randrange(78, 230), chance.randrange(112, 160), mix(cream, (190, 140, 80), 0.6))
    for x in (112, 150, 190):
        canvas.ellipse(x, 70 + abs(150 - x) / 6, 15, 17, (214, 52, 60))
        canvas.polygon([(x - 10, 58 + abs(150 - x) / 6), (x + 10, 58 + abs(150 - x) / 6), (x, 48)], (96, 156, 80))
        for seed_x in (-6, 0, 6):
            canvas.disc(x + seed_x, 72 + abs(150 - x) / 6 + seed_x % 4, 1.2, (250, 220, 140))
    return canvas


def bread(crust: Colour, seed: int, *, round_loaf: bool = False) -> Canvas:
    """A loaf, just out of the oven."""
    canvas = _table((214, 198, 176))
    chance = random.Random(seed)
    board: Colour = (166, 118, 76)
    canvas.rect(34, 150, 232, 26, board)
    for grain in range(5):
        canvas.rect(34, 153 + grain * 5, 232, 1, mix(board, _INK, 0.3))
    light = mix(crust, (255, 236, 190), 0.55)
    canvas.ellipse(150, 122, 92, 52 if round_loaf else 40, crust)
    canvas.ellipse(146, 110, 76, 36 if round_loaf else 26, mix(crust, light, 0.4))
    for cut in (-44, -6, 32):
        canvas.line((146 + cut, 92), (162 + cut, 128), 7, light)
        canvas.line((147 + cut, 94), (161 + cut, 126), 2, mix(light, _CREAM, 0.7))
    for _ in range(220):
        angle, reach = chance.random() * 2 * pi, chance.random() ** 0.5
        canvas.dot(150 + 82 * reach * sin(angle), 118 + 30 * reach * sin(angle + pi / 2), mix(light, _CREAM, 0.6))
    for steam in range(3):
        for step in range(34):
            canvas.disc(
                106 + steam * 44 + 5 * sin(step / 5 + steam),
                66 - step,
                1.6,
                mix((214, 198, 176), (255, 255, 255), 0.75 - step / 60),
            )
    return canvas


def bookshop(seed: int, wall: Colour = (120, 86, 62)) -> Canvas:
    """Shelves full of books, with a gap where somebody bought one."""
    chance = random.Random(seed)
    canvas = Canvas(_WIDTH, _HEIGHT, mix(wall, _INK, 0.55))
    for shelf in range(4):
        floor = 50 + shelf * 51
        x = 6
        while x < _WIDTH - 16:
            thick, tall = chance.randrange(6, 15), chance.randrange(28, 42)
            if chance.random() > 0.08:
                colour = mix(
                    (chance.randrange(50, 230), chance.randrange(60, 200), chance.randrange(60, 190)),
                    (200, 180, 150),
                    0.3,
                )
                canvas.rect(x, floor - tall, thick, tall, colour)
                canvas.rect(x + 2, floor - tall + 5, thick - 4, 8, mix(colour, _CREAM, 0.6))
                canvas.rect(x, floor - 5, thick, 1, mix(colour, _INK, 0.4))
            x += thick + 1
        canvas.rect(0, floor, _WIDTH, 6, mix(wall, (230, 190, 140), 0.4))
    return canvas


def cup(drink: Colour, seed: int) -> Canvas:
    """A cup by the window, and whatever is left of the biscuits."""
    canvas = _table(mix(drink, (240, 236, 226), 0.82))
    canvas.ellipse(140, 178, 92, 20, (196, 204, 206))
    canvas.ellipse(140, 175, 88, 17, (248, 246, 240))
    canvas.ellipse(212, 128, 26, 24, (110, 150, 170))
    canvas.ellipse(212, 128, 15, 14, mix(drink, (240, 236, 226), 0.82))
    canvas.polygon([(78, 96), (204, 96), (184, 172), (98, 172)], (110, 150, 170))
    canvas.ellipse(141, 96, 63, 16, (232, 238, 238))
    canvas.ellipse(141, 98, 56, 12, drink)
    for ring in range(1 + seed % 3):
        canvas.ellipse(128 + ring * 12, 97, 14 - ring * 3, 4, mix(drink, _CREAM, 0.6))
    for biscuit in range(1 + seed % 3):
        canvas.disc(236 + biscuit * 18, 178 - biscuit * 4, 15, (206, 156, 92))
        canvas.disc(236 + biscuit * 18, 178 - biscuit * 4, 11, (222, 180, 118))
    return canvas


def hydrangea(seed: int, shade: Colour) -> Canvas:
    """Hydrangeas after the rain."""
    chance = random.Random(seed)
    canvas = Canvas(_WIDTH, _HEIGHT, (70, 104, 86))
    canvas.gradient(0, _HEIGHT, (104, 138, 120), (44, 76, 64), 24)
    for x, y in ((30, 190), (110, 200), (200, 196), (276, 188), (70, 60), (240, 50)):
        canvas.polygon([(x, y - 60), (x + 36, y - 12), (x, y + 26), (x - 36, y - 12)], (62, 120, 76))
        canvas.line((x, y - 56), (x, y + 22), 2, (96, 154, 104))
    for middle_x, middle_y in ((92, 116), (206, 124), (152, 62)):
        for _ in range(110):
            across, down = chance.gauss(middle_x, 20), chance.gauss(middle_y, 17)
            petal = mix(
                shade, chance.choice(((236, 200, 236), (200, 216, 255), (255, 255, 255))), chance.random() * 0.6
            )
            for east, south in ((-3, 0), (3, 0), (0, -3), (0, 3)):
                canvas.disc(across + east, down + south, 3, petal)
            canvas.dot(across, down, (250, 240, 190))
    return canvas


def emoji(kind: str) -> bytes:
    """A 16 by 16 GIF like those that stood in for emoji; the sparkling one moves."""
    frames = [_emoji_frame(kind, step) for step in range(2 if kind == "kirakira" else 1)]
    return frames[0].gif(*frames[1:])


def _emoji_frame(kind: str, step: int) -> Canvas:
    canvas = Canvas(16, 16, (254, 254, 254))
    if kind == "nikoniko":
        canvas.disc(8, 8, 7.4, (250, 206, 66))
        canvas.rect(5, 5, 1, 3, _INK)
        canvas.rect(10, 5, 1, 3, _INK)
        canvas.rect(5, 10, 6, 1, _INK)
        canvas.rect(6, 11, 4, 1, _INK)
    elif kind == "onpu":
        canvas.ellipse(5, 12, 3.4, 2.6, (76, 120, 200))
        canvas.rect(7, 2, 2, 10, (76, 120, 200))
        canvas.polygon([(8, 2), (13, 5), (13, 8), (8, 5)], (76, 120, 200))
    else:
        reach = 7 - step * 3
        gold: Colour = (246, 190, 60)
        canvas.polygon(
            [(8, 8 - reach), (10, 7), (8 + reach, 8), (10, 10), (8, 8 + reach), (6, 10), (8 - reach, 8), (6, 7)], gold
        )
    return canvas


def _table(wall: Colour) -> Canvas:
    canvas = Canvas(_WIDTH, _HEIGHT, wall)
    canvas.gradient(0, 160, mix(wall, (255, 255, 255), 0.3), wall, 20)
    canvas.gradient(160, _HEIGHT, (188, 140, 96), (150, 106, 72), 12)
    for y in (172, 188, 202):
        canvas.rect(0, y, _WIDTH, 1, (138, 96, 66))
    return canvas
