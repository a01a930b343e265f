import { posix } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { parseArtifactScheme, type ArtifactKind } from '@reeve/kit/artifact-scheme.ts'

/** Source of an artifact, parsed from the job. */
export interface ArtifactSource {
  readonly kind: ArtifactKind
  /** Without options; for git in the form that the program expects. */
  readonly address: string
  /** Last component of the path: the name of a file that is not unpacked. */
  readonly name: string
  /** Part of the content to deliver; empty for all. */
  readonly subdirectory: string
  readonly options: Readonly<Record<string, string>>
}

/** Options for the fetcher, which are not sent to the server. */
const FETCH_OPTIONS: ReadonlySet<string> = new Set([
  'archive',
  'checksum',
  'depth',
  'filename',
  'ref',
  'sshkey',
])

/** Options for buckets, whose keys must not appear in proxy logs. */
const BUCKET_OPTIONS: ReadonlySet<string> = new Set([
  'access_token',
  'aws_access_key_id',
  'aws_access_key_secret',
  'aws_access_token',
  'region',
  'version',
])

/** Parses a source. Fault `task-artifact` if this node cannot fetch it. */
export function parseArtifactSource(
  sourceString: string,
  jobOptions: Readonly<Record<string, string>> | null,
): ArtifactSource {
  const { scheme, kind, address: addressAndQuery } = parseArtifactScheme(sourceString)
  const [fullAddress = '', query = ''] = splitOnce(addressAndQuery, '?')
  const { address, subdirectory } = splitSubdirectory(fullAddress)
  const isBucket = kind === 's3' || kind === 'gcs'
  const { fetchOptions, serverPairs: serverQuery } = splitOptions(query, (key) => {
    return FETCH_OPTIONS.has(key) || (isBucket && BUCKET_OPTIONS.has(key))
  })
  const options = { ...fetchOptions, ...jobOptions }
  if (kind === undefined) {
    const sourceKind = scheme === '' ? 'an address without a scheme' : `${scheme} addresses`
    throw new Fault('task-artifact', `this node cannot fetch from ${sourceKind}`)
  }
  const addressWithQuery =
    (kind === 'http' || isBucket) && serverQuery !== '' ? `${address}?${serverQuery}` : address
  const name = options['filename'] ?? decodeComponent(posix.basename(address))
  return { kind, address: addressWithQuery, name: fileNameOrDefault(name), subdirectory, options }
}

/** Splits off a subdirectory: `https://host/archive.zip//part` delivers `part` of the archive. */
function splitSubdirectory(address: string): {
  readonly address: string
  readonly subdirectory: string
} {
  const start = address.indexOf('://')
  const separatorIndex = address.indexOf('//', start < 0 ? 1 : start + 3)
  if (separatorIndex < 0) return { address, subdirectory: '' }
  return {
    address: address.slice(0, separatorIndex),
    subdirectory: address.slice(separatorIndex + 2),
  }
}

function splitOptions(
  query: string,
  isFetchOption: (key: string) => boolean,
): { fetchOptions: Record<string, string>; serverPairs: string } {
  const fetchOptions: Record<string, string> = {}
  const serverPairs = query.split('&').filter((pair) => {
    const [key = '', value = ''] = splitOnce(pair, '=')
    if (!isFetchOption(key)) return pair !== ''
    fetchOptions[key] = decodeComponent(value)
    return false
  })
  return { fetchOptions, serverPairs: serverPairs.join('&') }
}

function splitOnce(text: string, separator: string): readonly string[] {
  const index = text.indexOf(separator)
  return index < 0 ? [text] : [text.slice(0, index), text.slice(index + separator.length)]
}

function decodeComponent(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function fileNameOrDefault(name: string): string {
  const isValidName = name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)
  return isValidName && Buffer.byteLength(name) <= 255 ? name : 'download'
}

/** Removes passwords and query strings from an address for messages. */
export function redactAddress(address: string): string {
  return address.replace(/\?.*$/s, '').replace(/\/\/[^/]*@/, '//')
}

/** Fault that names the failed artifact: a task may have many. */
export function artifactFault(source: string, thrown: unknown): Fault {
  const redactedSource = redactAddress(source.replace(/^[a-z0-9]+::/i, ''))
  const message = errorMessage(thrown)
  const isArtifactFault = thrown instanceof Fault && thrown.kind !== 'path-escape'
  return new Fault(
    isArtifactFault ? thrown.kind : 'task-artifact',
    message.includes(redactedSource) ? message : `artifact ${redactedSource}: ${message}`,
    { cause: thrown },
  )
}
