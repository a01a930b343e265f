/** How an artifact is fetched. */
export type ArtifactKind = 'http' | 'git' | 'file'

const KINDS: ReadonlyMap<string, ArtifactKind> = new Map([
  ['http', 'http'],
  ['https', 'http'],
  ['git', 'git'],
  ['ssh', 'git'],
  ['file', 'file'],
])

export interface ArtifactScheme {
  /** In lower case; empty when the address has none. */
  readonly scheme: string
  /** Undefined where no agent can fetch it. */
  readonly kind: ArtifactKind | undefined
  /** The address without the `git::` in front of it. */
  readonly address: string
}

/** `git::https://…` names how to fetch; else the scheme of the address does. */
export function artifactScheme(source: string): ArtifactScheme {
  const forced = /^([a-z0-9]+)::(.*)$/is.exec(source)
  const address = forced?.[2] ?? source
  const scheme = forced?.[1]?.toLowerCase() ?? schemeOf(address)
  return { scheme, kind: KINDS.get(scheme), address }
}

/** An address of the form `git@host:path` is git's. */
function schemeOf(address: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(address)?.[1]?.toLowerCase()
  if (scheme !== undefined) return scheme
  if (address.startsWith('/')) return 'file'
  if (/^[\w.-]+@[\w.-]+:/.test(address)) return 'git'
  return ''
}
