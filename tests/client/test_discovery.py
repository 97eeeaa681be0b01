"""Which kinds a worker is given."""

import types

import pytest

from howdah.client.discovery import handlers_of
from howdah.client.kind import job
from tests.client.handler_modules import module

MAIL = """
    from howdah.client.kind import job

    @job
    def send(to: str): ...

    @job(kind="mail.bounce")
    def bounce(to: str): ...

    urgent = send.options(priority=-5)
    again = send
    number = 3
"""


def test_a_module_gives_the_kinds_that_it_defines():
    mail = module("shop.mail", MAIL)
    found = handlers_of([mail])
    assert found.keys() == {"send", "mail.bounce"}
    assert found["send"].function is mail.send.function


def test_a_kind_alone_is_given_as_it_is():
    mail = module("shop.mail", MAIL)
    assert handlers_of([mail.bounce]) == {"mail.bounce": mail.bounce}
    assert handlers_of([]) == {}


def test_what_a_module_imports_from_elsewhere_does_not_count():
    mail = module("shop.mail", MAIL)
    orders = module("shop.orders", MAIL.replace("send", "order"), send=mail.send, mail=mail)
    assert handlers_of([orders]).keys() == {"order", "mail.bounce"}


def test_a_name_that_only_begins_alike_is_elsewhere():
    mail = module("shop.mailing", MAIL)
    assert handlers_of([module("shop.mail", send=mail.send, mailing=mail)]) == {}


def test_a_package_gives_the_kinds_below_it_whether_by_name_or_by_module():
    mail = module("shop.jobs.mail", MAIL)
    deep = module("shop.jobs.deep.er", MAIL.replace("send", "dig").replace("mail.bounce", "deep.bounce"))
    package = module("shop.jobs", send=mail.send, deep=module("shop.jobs.deep", er=deep))
    assert handlers_of([package]).keys() == {"send", "dig", "deep.bounce"}
    deep.back = package  # modules that import each other
    assert handlers_of([package]).keys() == {"send", "dig", "deep.bounce"}


def test_a_kind_may_be_given_twice():
    mail = module("shop.mail", MAIL)
    assert handlers_of([mail, mail.send, mail, mail.urgent]).keys() == {"send", "mail.bounce"}


def test_two_handlers_of_one_name_are_an_error_that_names_both_files():
    mail, orders = module("shop.mail", MAIL), module("shop.orders", MAIL.replace("bounce", "other"))
    with pytest.raises(ValueError, match="two handlers for kind 'send'") as refused:
        handlers_of([mail, orders])
    assert "/srv/shop/mail.py:4" in str(refused.value)
    assert "/srv/shop/orders.py:4" in str(refused.value)


def test_one_function_under_two_policies_is_an_error_too():
    def handler(): ...

    with pytest.raises(ValueError, match="two handlers for kind 'handler'"):
        handlers_of([job(handler), job(on_crash="unknown")(handler)])


@pytest.mark.parametrize("wrong", ["shop.jobs", 3, None, len])
def test_anything_else_is_a_type_error(wrong):
    with pytest.raises(TypeError, match="a module or a kind is needed"):
        handlers_of([wrong])


def test_a_function_without_job_gets_a_hint():
    def handler(): ...

    with pytest.raises(TypeError, match="has no @job"):
        handlers_of([handler])


@pytest.mark.parametrize("alone", ["shop.jobs", types.ModuleType("m"), job(lambda: None)])
def test_one_thing_without_a_list_is_a_type_error(alone):
    with pytest.raises(TypeError, match="a list of modules and kinds"):
        handlers_of(alone)
