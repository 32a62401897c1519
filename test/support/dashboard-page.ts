/**
 * Loads a module of the dashboard's page. The page is checked by its own compiler configuration
 * (it needs the DOM), so tests name the part that they use.
 */
export async function loadPageModule<T>(path: string): Promise<T> {
  return (await import(new URL(`../../dashboard/page/${path}`, import.meta.url).href)) as T;
}
