"""Articles of MediaWiki's XML dumps: read as a stream, and cleaned to prose on all cores."""
