/** The purpose of a file according to its path. */

export function isTest(path: string): boolean {
  return /\.test\.tsx?$/.test(path)
}

/** Code that only tests, benchmarks, fuzzing or the simulation run. */
export function isTestSupport(path: string): boolean {
  return /^packages\/[^/]+\/(?:test|bench|fuzz|sim)\//.test(path)
}

/** Read by a tool, not by the product: such as the configuration of the build of the web UI. */
export function isConfig(path: string): boolean {
  return /\.config\.(?:mjs|ts)$/.test(path)
}
