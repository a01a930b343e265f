/** True when it was built; else `say` was told why not. */
export function buildWeb(
  root: string,
  options?: { readonly say?: (sentence: string) => void },
): Promise<boolean>

/** True when the result was made from the present sources. */
export function isWebBuilt(root: string): boolean
