/** A file of a policy set: the name that policies import it by, or its path, with its text. */
export type NamedSource = readonly [name: string, text: string]

/** A policy with the files of its set that it uses. */
export interface PolicyBundle {
  readonly code: string
  /** Policy texts that a native policy may import. */
  readonly modules: readonly NamedSource[]
  /** JSON data that a native policy may import. */
  readonly statics: readonly NamedSource[]
  /** The other files of an `opa` set by path; all of them are compiled together. */
  readonly libraries: readonly NamedSource[]
}

/**
 * Prefix of a bundle. Uploaded code contains no NUL, so text with this prefix is a bundle. A bundle
 * is stored, hashed, pinned and sent to the worker like the code of any other policy.
 */
const BUNDLE_PREFIX = '\0bundle\n'

export function writeBundle(bundle: PolicyBundle): string {
  return `${BUNDLE_PREFIX}${JSON.stringify(bundle)}`
}

export function readBundle(code: string): PolicyBundle {
  if (!code.startsWith(BUNDLE_PREFIX)) return { code, modules: [], statics: [], libraries: [] }
  // Only `writeBundle` writes the prefix.
  return JSON.parse(code.slice(BUNDLE_PREFIX.length)) as PolicyBundle
}
