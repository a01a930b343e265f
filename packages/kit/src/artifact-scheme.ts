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
  /** Lower case; empty if the address has no scheme. */
  readonly scheme: string
  /** Undefined if the agent cannot fetch this scheme. */
  readonly kind: ArtifactKind | undefined
  /** The address without its `git::` prefix. */
  readonly address: string
}

/** Reads the scheme of an artifact address. A `git::` prefix overrides the scheme of the URL. */
export function parseArtifactScheme(source: string): ArtifactScheme {
  const forced = /^([a-z0-9]+)::(.*)$/is.exec(source)
  const address = forced?.[2] ?? source
  const scheme = forced?.[1]?.toLowerCase() ?? schemeOf(address)
  const kind = KINDS.get(scheme)
  if (kind !== 's3' && kind !== 'gcs') return { scheme, kind, address }
  // Bucket addresses may omit `https://`: `bucket.s3.amazonaws.com/key`.
  const full = address.includes('://') ? address : `https://${address}`
  return { scheme, kind: /^https?:/i.test(full) ? kind : undefined, address: full }
}

/** Hosts that mean a bucket even without a scheme. */
const S3_HOST = /^[\w.-]*s3[\w.-]*\.amazonaws\.com\//i
const GCS_HOST = /^www\.googleapis\.com\/storage\/v1\//i

/** `git@host:path` is a Git address. */
function schemeOf(address: string): string {
  const scheme = /^([a-z][a-z0-9+.-]*):\/\//i.exec(address)?.[1]?.toLowerCase()
  if (scheme !== undefined) return scheme
  if (address.startsWith('/')) return 'file'
  if (/^[\w.-]+@[\w.-]+:/.test(address)) return 'git'
  if (S3_HOST.test(address)) return 's3'
  if (GCS_HOST.test(address)) return 'gcs'
  return ''
}
