"""Articles out of the XML dumps of MediaWiki: read as a stream, cleaned to prose on all cores."""
