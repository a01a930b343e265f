/** Bundles the program when its sources changed; `say` is told why where that fails. */
export function setUpProgram(
  root: string,
  options?: { readonly say?: (sentence: string) => void },
): Promise<void>
