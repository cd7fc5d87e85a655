"""Write docs/manual anew from the help texts: ``python docs/make_manual.py``."""

from pathlib import Path

from bayestrim.cli.manual import pages

folder = Path(__file__).parent / "manual"
folder.mkdir(exist_ok=True)
for old in folder.glob("*.md"):
    old.unlink()
for name, text in pages().items():
    (folder / name).write_text(text, encoding="utf-8")
