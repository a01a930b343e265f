/** How an artifact is fetched. */
export type ArtifactKind = 'http' | 'git' | 'file' | 's3' | 'gcs'

const KINDS: ReadonlyMap<string, ArtifactKind> = new Map([
  ['http', 'http'],
  ['https', 'http'],
  ['git', 'git'],
  ['ssh', 'git'],
  ['file', 'file'],
  ['s3', 's3'],
  ['gcs', 'gcs'],
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
  const kind = KINDS.get(scheme)
  if (kind !== 's3' && kind !== 'gcs') return { scheme, kind, address }
  // Buckets are reached over HTTP, which may be left out: `bucket.s3.amazonaws.com/key`.
  const full = address.includes('://') ? address : `https://${address}`
  return { scheme, kind: /^https?:/i.test(full) ? kind : undefined, address: full }
}

/** Hosts whose addresses mean an object of a bucket also where they have no scheme. */
const S3_HOST = /^[\w.-]*s3[\w.-]*\.amazonaws\.com\//i
const GCS_HOST = /^www\.googleapis\.com\/storage\/v1\//i

/** An address of the form `git@host:path` is git's. */
function schemeOf(address: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(address)?.[1]?.toLowerCase()
  if (scheme !== undefined) return scheme
  if (address.startsWith('/')) return 'file'
  if (/^[\w.-]+@[\w.-]+:/.test(address)) return 'git'
  if (S3_HOST.test(address)) return 's3'
  if (GCS_HOST.test(address)) return 'gcs'
  return ''
}
