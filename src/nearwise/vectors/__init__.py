"""Recorded questions and our answers: plain JSON in, plain JSON out, one module a kind.

Each module has ``answer(raw)``, which takes the ``input`` of a recorded line (for validation its
``object``) and answers in the shape of the record, so that any implementation can be held against
any other. As in all that is read, null means absent and unknown fields are passed over; all raise
InputError, with the field, for what is not such a question.
"""
