"""A small shop with its tools and its customers, for `agent_loop.py`. Deterministic: a seed makes the same shop.

A customer says what they want in their own words, keeps back what they think is known, and answers a question with the
value that it asks for. The tools are those of the shop's software. They refuse what is not allowed, and what a customer
is called in them only `find_customer` tells.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

# What each wish is called by customers; `{…}` are slots of the task.
WISHES: dict[str, tuple[str, ...]] = {
    "cancel": (
        "please cancel order {order}",
        "I no longer need order {order}, call it off",
        "stop order {order} before it is shipped",
    ),
    "return": (
        "I want to send back what came with order {order}",
        "the things of order {order} arrived, but I want a refund for them",
        "order {order} was delivered and does not suit me, take it back",
    ),
    "exchange": (
        "swap what I got in order {order} for another one",
        "what came with order {order} is the wrong size, I would like a different one",
        "exchange the delivered order {order}",
    ),
    "address": (
        "I have moved, so ship order {order} to my new home",
        "please correct where order {order} is going to",
        "order {order} should be brought to another place",
    ),
    "payment": (
        "charge another card for order {order}",
        "order {order} was billed to the wrong account",
        "I would rather pay order {order} in another way",
    ),
}
PENDING = frozenset({"cancel", "address", "payment"})  # wishes about orders that are not yet shipped
SMALL_TALK = (
    "Hello, I hope you are well.",
    "I have been a customer for years and this never happened before.",
    "It is raining here and my cat is asleep on the keyboard.",
    "I am in a hurry, because my train leaves soon.",
    "My neighbour recommended you.",
    "",
)


class ToolError(Exception):
    """A tool refused a call; the text says why."""


@dataclass(slots=True)
class Order:
    """An order of the shop. `changes` are what was done to it, which decides whether a task is solved."""

    id: str
    customer: str
    status: str
    item: str
    payment: str
    changes: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Task:
    """What a customer wants: the text they open with, and what they know. `wanted` are the changes that solve it."""

    said: str
    slots: Mapping[str, str]
    wishes: tuple[tuple[str, str], ...]  # the wish, and its order
    wanted: Mapping[str, tuple[str, ...]]  # changes by order

    def answer(self, question: str) -> str | None:
        """Return what the customer answers: the value of the slot that the question names; None if they know none."""
        asked = question.lower()
        known = [name for name in self.slots if name in asked]
        return self.slots[max(known, key=len)] if known else None


class Shop:
    """The shop at the time of one task. `tools` are its tools by name, with what each is for and its arguments."""

    def __init__(self, orders: Sequence[Order], emails: Mapping[str, str]) -> None:
        self.orders = {one.id: one for one in orders}
        self._customers = dict(emails)  # by e-mail
        self.calls = 0
        self.errors = 0

    def call(self, tool: str, args: Mapping[str, Any]) -> Json:
        """Call a tool. Raises ToolError."""
        self.calls += 1
        try:
            return TOOLS[tool].run(self, args)
        except ToolError:
            self.errors += 1
            raise
        except KeyError as missing:
            self.errors += 1
            raise ToolError(f"argument {missing.args[0]} is missing") from None

    def solves(self, task: Task) -> bool:
        """Return whether all that was wanted was done, and nothing else."""
        return all(tuple(one.changes) == tuple(task.wanted.get(one.id, ())) for one in self.orders.values())

    def find_customer(self, args: Mapping[str, Any]) -> Json:
        customer = self._customers.get(args["email"])
        if customer is None:
            raise ToolError("no customer has this email")
        return {"customer": customer}

    def get_order(self, args: Mapping[str, Any]) -> Json:
        order = self._own(args)
        return {"order": order.id, "status": order.status, "item": order.item, "billed": order.payment}

    def change(self, args: Mapping[str, Any], what: str, *, pending: bool) -> Json:
        order = self._own(args)
        if (order.status == "pending") is not pending:
            raise ToolError(f"the order is {order.status}")
        order.changes.append(what)
        return {"done": True}

    def with_item(self, args: Mapping[str, Any], what: str) -> Json:
        if args["item"] != self._own(args).item:
            raise ToolError("the order does not have this item")
        return self.change(args, what, pending=False)

    def _own(self, args: Mapping[str, Any]) -> Order:
        order = self.orders.get(args["order"])
        if order is None or order.customer != args["customer"]:
            raise ToolError("this customer has no such order")
        return order


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what it is for in a line, its arguments, and what it does."""

    summary: str
    arguments: tuple[str, ...]
    run: Callable[[Shop, Mapping[str, Any]], Json]


TOOLS: dict[str, Tool] = {
    "find_customer": Tool("Look up a customer.", ("email",), Shop.find_customer),
    "get_order": Tool("Look up an order.", ("customer", "order"), Shop.get_order),
    "cancel_order": Tool(
        "Cancel a pending order.",
        ("customer", "order", "reason"),
        lambda shop, args: shop.change(args, f"cancelled: {args['reason']}", pending=True),
    ),
    "return_item": Tool(
        "Return a delivered item.",
        ("customer", "order", "item"),
        lambda shop, args: shop.with_item(args, "returned"),
    ),
    "exchange_item": Tool(
        "Exchange a delivered item.",
        ("customer", "order", "item", "replacement"),
        lambda shop, args: shop.with_item(args, f"exchanged: {args['replacement']}"),
    ),
    "modify_address": Tool(
        "Modify the address of a pending order.",
        ("customer", "order", "street"),
        lambda shop, args: shop.change(args, f"sent to {args['street']}", pending=True),
    ),
    "modify_payment": Tool(
        "Modify the payment of a pending order.",
        ("customer", "order", "card"),
        lambda shop, args: shop.change(args, f"paid by {args['card']}", pending=True),
    ),
}
_DOING = {
    "cancel": ("cancel_order", "reason", "cancelled: {}"),
    "return": ("return_item", None, "returned"),
    "exchange": ("exchange_item", "replacement", "exchanged: {}"),
    "address": ("modify_address", "street", "sent to {}"),
    "payment": ("modify_payment", "card", "paid by {}"),
}


class World:
    """Tasks and the shops that they are done in, all of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed)
        self._made = 0

    def tasks(self, number: int, *, wishes: int) -> list[tuple[Task, Callable[[], Shop]]]:
        """Return tasks of one wish each, or of two: one about a pending order, and one about a delivered order.

        Each comes with what makes its shop, as often as it is needed.
        """
        found = []
        for _ in range(number):
            kinds = [self._random.choice(sorted(PENDING)), self._random.choice(sorted({*WISHES} - PENDING))]
            self._random.shuffle(kinds)
            found.append(self._task(tuple(kinds[:wishes])))
        return found

    def _task(self, wishes: tuple[str, ...]) -> tuple[Task, Callable[[], Shop]]:
        pick = self._random
        self._made += 1
        number = f"{self._made:04d}"
        email, customer = f"{pick.choice(('ada', 'bo', 'cem', 'dana'))}{number}@example.com", f"C-{7_000 + self._made}"
        slots = {
            "email": email,
            "reason": pick.choice(("ordered by mistake", "found it cheaper", "came too late")),
            "replacement": f"R-{pick.randint(1_000, 9_999)}",
            "street": f"{pick.randint(1, 99)} {pick.choice(('Elm', 'Oak', 'Lake'))} Street",
            "card": f"card-{pick.randint(1_000, 9_999)}",
        }
        parts, orders, wanted, chosen = [], [], {}, []
        for place, wish in enumerate(wishes):
            id_ = f"#{number}{place}"
            status = "pending" if wish in PENDING else "delivered"
            orders.append(Order(id_, customer, status, f"I-{pick.randint(1_000, 9_999)}", "card-0000"))
            _, slot, done = _DOING[wish]
            wanted[id_] = (done.format(slots[slot] if slot else ""),)
            chosen.append((wish, id_))
            text = pick.choice(WISHES[wish]).format(order=id_)
            if slot is not None and pick.random() < 0.5:  # else the agent must ask
                text += f" ({slot}: {slots[slot]})"
            parts.append(text)
        opening = [
            pick.choice(SMALL_TALK),
            f"My email is {email}." if pick.random() < 0.5 else "",
            ". Also, ".join(parts),
        ]
        said = " ".join(part for part in opening if part) + "."
        task = Task(said, slots, tuple(chosen), wanted)

        def shop() -> Shop:
            fresh = [Order(one.id, one.customer, one.status, one.item, one.payment) for one in orders]
            return Shop(fresh, {email: customer})

        return task, shop


def solution(task: Task) -> list[tuple[str, tuple[str, ...], str]]:
    """Return how a colleague solves a task: tools, what they ask the customer for each, and the order it is about."""
    steps: list[tuple[str, tuple[str, ...], str]] = [("find_customer", ("email",), "")]
    for wish, order in task.wishes:
        tool, slot, _ = _DOING[wish]
        steps += [("get_order", (), order), (tool, (slot,) if slot else (), order)]
    return steps
