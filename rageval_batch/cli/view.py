"""`rageval view`."""

from __future__ import annotations

import sys
from contextlib import suppress

import click

from rageval_batch.cli.options import emit, say, store_option
from rageval_batch.interrupts import left_to_command


@click.command()
@store_option
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen on this port; else on any that is free.")
@click.option("--no-open", "closed", is_flag=True, help="Print the address and open no browser.")
def view(store: str, port: int, closed: bool) -> None:
    """Look at a whole store in a browser: runs, questions, answers taken apart, comparisons, SQL. Ctrl-C ends it.

    It listens on this machine only, for whoever has the address that it prints, and only reads.

    \b
    Example:
      rageval view --store runs
    """
    from rageval_batch.view.server import ViewServer

    server = ViewServer(store, port)
    emit(server.address, None)
    sys.stdout.flush()
    say("Ctrl-C ends the viewer.")
    if not closed:
        import webbrowser

        webbrowser.open(server.address)
    with left_to_command(), suppress(KeyboardInterrupt):  # how it is meant to end
        server.run()
