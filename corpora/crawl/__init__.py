"""A polite crawler: news-please finds articles, one fetcher asks for them, archives keep them."""
