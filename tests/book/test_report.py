"""The pages that an instructor sends to students, in the browser."""

import pytest

from fedlab_grade.classroom.pages import student_page
from fedlab_grade.classroom.records import Record
from fedlab_grade.run import Result

pytestmark = pytest.mark.book


def test_a_students_page_with_a_long_name_of_a_function_fits_a_phone(browser):
    test = Result("t", "ex03.4", "difference_variance", 12.5, "by hand", False, "failed")
    record = Record("ann", "Ann", (), "ex03", "graded", (test,), changed={"ex03.4": 1.5})
    page = browser.new_page(viewport={"width": 390, "height": 844})
    page.set_content(student_page(record))
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    page.close()
