import { posix } from 'node:path'
import { Fault, errorMessage } from '@reeve/kit/fault.ts'
import { parseArtifactScheme, type ArtifactKind } from '@reeve/kit/artifact-scheme.ts'

/** Where something is to be fetched from, read from the text of the job. */
export interface ArtifactSource {
  readonly kind: ArtifactKind
  /** Without the options; for git as the program wants it. */
  readonly address: string
  /** The last part of the path: the name of a file that is not unpacked. */
  readonly name: string
  /** Only this part of what was fetched is wanted; empty: all. */
  readonly subdirectory: string
  readonly options: Readonly<Record<string, string>>
}

/** What is meant for us and not for the server of the address. */
const OWN_OPTIONS: ReadonlySet<string> = new Set([
  'archive',
  'checksum',
  'depth',
  'filename',
  'ref',
  'sshkey',
])

/** The same for buckets, whose keys need not be in the log of a proxy. */
const BUCKET_OPTIONS: ReadonlySet<string> = new Set([
  'access_token',
  'aws_access_key_id',
  'aws_access_key_secret',
  'aws_access_token',
  'region',
  'version',
])

/** Fault `task-artifact` for what this node cannot fetch. */
export function parseSource(
  text: string,
  given: Readonly<Record<string, string>> | null,
): ArtifactSource {
  const { scheme, kind, address: rest } = parseArtifactScheme(text)
  const [whole = '', query = ''] = splitOnce(rest, '?')
  const { address, subdirectory } = splitSubdirectory(whole)
  const isBucket = kind === 's3' || kind === 'gcs'
  const { own, foreign } = splitOptions(query, (key) => {
    return OWN_OPTIONS.has(key) || (isBucket && BUCKET_OPTIONS.has(key))
  })
  const options = { ...own, ...given }
  if (kind === undefined) {
    const what = scheme === '' ? 'an address without a scheme' : `${scheme} addresses`
    throw new Fault('task-artifact', `this node cannot fetch from ${what}`)
  }
  const full = (kind === 'http' || isBucket) && foreign !== '' ? `${address}?${foreign}` : address
  const name = options['filename'] ?? decoded(posix.basename(address))
  return { kind, address: full, name: safeName(name), subdirectory, options }
}

/** `https://host/archive.zip//part` means `part` of what the archive holds. */
function splitSubdirectory(address: string): {
  readonly address: string
  readonly subdirectory: string
} {
  const start = address.indexOf('://')
  const at = address.indexOf('//', start < 0 ? 1 : start + 3)
  if (at < 0) return { address, subdirectory: '' }
  return { address: address.slice(0, at), subdirectory: address.slice(at + 2) }
}

function splitOptions(
  query: string,
  isOwn: (key: string) => boolean,
): { own: Record<string, string>; foreign: string } {
  const own: Record<string, string> = {}
  const foreign = query.split('&').filter((pair) => {
    const [key = '', value = ''] = splitOnce(pair, '=')
    if (!isOwn(key)) return pair !== ''
    own[key] = decoded(value)
    return false
  })
  return { own, foreign: foreign.join('&') }
}

function splitOnce(text: string, mark: string): readonly string[] {
  const at = text.indexOf(mark)
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + mark.length)]
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

function safeName(name: string): string {
  const isName = name !== '' && name !== '.' && name !== '..' && !/[/\0]/.test(name)
  return isName && Buffer.byteLength(name) <= 255 ? name : 'download'
}

/** For texts that people see: no password, no token of a query. */
export function redactAddress(address: string): string {
  return address.replace(/\?.*$/s, '').replace(/\/\/[^/]*@/, '//')
}

/** What went wrong with an artifact, and with which: a task may have many. */
export function artifactFault(source: string, thrown: unknown): Fault {
  const shown = redactAddress(source.replace(/^[a-z0-9]+::/i, ''))
  const message = errorMessage(thrown)
  const isOwn = thrown instanceof Fault && thrown.kind !== 'path-escape'
  return new Fault(
    isOwn ? thrown.kind : 'task-artifact',
    message.includes(shown) ? message : `artifact ${shown}: ${message}`,
    { cause: thrown },
  )
}
