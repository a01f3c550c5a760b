"""A polite crawler: news-please finds articles, a fetcher requests and archives them."""
