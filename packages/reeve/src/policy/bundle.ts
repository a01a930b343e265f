/** Something that a set brings along, by the name that it is imported by, or its path. */
export type NamedText = readonly [name: string, text: string]

/** A policy with what its set brings. */
export interface PolicyBundle {
  readonly code: string
  /** Policy texts that a native policy may import. */
  readonly modules: readonly NamedText[]
  /** JSON that a native policy may import. */
  readonly statics: readonly NamedText[]
  /** The other files of an opa set, by their paths; they are compiled together. */
  readonly libraries: readonly NamedText[]
}

/**
 * Uploaded code never holds a NUL, so what begins with one is a bundle: stored, hashed, pinned and
 * sent to the thread like the code of any other policy.
 */
const MARK = '\0bundle\n'

export function writeBundle(bundle: PolicyBundle): string {
  return `${MARK}${JSON.stringify(bundle)}`
}

export function readBundle(code: string): PolicyBundle {
  if (!code.startsWith(MARK)) return { code, modules: [], statics: [], libraries: [] }
  // Nothing but writeBundle writes the mark.
  return JSON.parse(code.slice(MARK.length)) as PolicyBundle
}
