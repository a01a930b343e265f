/** The purpose of a file according to its path. */

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path)
}

/** Code that only tests, benchmarks, fuzzing or the simulation run. */
export function isTestSupport(path: string): boolean {
  return /^packages\/[^/]+\/(?:test|bench|fuzz|sim)\//.test(path)
}

/** Configuration of a tool, such as that of the web build. */
export function isConfig(path: string): boolean {
  return /\.config\.(?:mjs|ts)$/.test(path)
}
