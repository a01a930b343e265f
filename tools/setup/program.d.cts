/** The file to start: the bundle while it is of the present sources, else the source. */
export function findProgram(root: string): string

/** The entry of the bundle, seen from the root; undefined when it is missing or old. */
export function findBundle(root: string): string | undefined

/** Of the bytes of a file, as the list of a bundle has it. */
export function hashOf(bytes: Uint8Array): string

/** Where the program begins, seen from the root. */
export const SOURCE: string
/** Where bundles lie, each in a folder of its own. */
export const BUNDLES: string
/** Which bundle is the newest, and what it was made from. */
export const LIST: string
