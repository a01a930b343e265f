/**
 * Waits for something outside the process, such as a file, looking often; fails when it takes too
 * long.
 */
export async function until<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  withinMs = 20_000,
): Promise<T> {
  const endMs = performance.now() + withinMs
  for (;;) {
    const found = await look()
    if (found !== undefined) return found
    if (performance.now() > endMs) throw new Error(`waited in vain for ${what}`)
    await new Promise<void>((resolve) => setTimeout(resolve, 5))
  }
}
