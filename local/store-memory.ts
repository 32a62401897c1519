/**
 * Large pages for the store. A script touches many small pieces that lie far apart, and each miss of
 * the table of pages costs more than the piece; docs/decisions has the figures.
 */

/** For the server's allocator, by the two names under which builds look for it. */
export const LARGE_PAGES_ENV = { MALLOC_CONF: "thp:always", JE_MALLOC_CONF: "thp:always" } as const;

/** Name and value of the setting that keeps the server from refusing them. */
export const LARGE_PAGES_SETTING = ["disable-thp", "no"] as const;
