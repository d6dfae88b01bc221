from tasks.microdata.words import join_first


def test_of_many_names_the_first_are_told_and_the_rest_counted():
    assert join_first([], 2) == ""
    assert join_first(["a", "b"], 2) == "a, b"
    assert join_first([f"c{place}" for place in range(3000)], 2) == "c0, c1 and 2,998 more"
