import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { bundledCode, codeText, type ArchiveHost, type SetFiles } from './bundled-code.ts'
import { findSetManifest } from './find-manifest.ts'
import { readSetManifest, type SetManifest, type SetPolicy } from './set-manifest.ts'
import { readTar } from './tar.ts'

/** The set that an archive is for. */
export interface ArchivedSet {
  readonly kind: v2.PolicyKind
  /** The folder of the manifest in the archive; null for its root. */
  readonly policiesPath: string | null
}

/** One policy of an archive with its code, and what it imports. */
export interface ArchivedPolicy extends Omit<SetPolicy, 'source'> {
  /** The file of the policy, for messages. */
  readonly file: string
  readonly sha256: string
  readonly code: Uint8Array
}

export interface SetArchive {
  readonly policies: readonly ArchivedPolicy[]
  readonly params: SetManifest['params']
}

/** The archive cannot be unpacked, or what is in it is wrong. The message is for a person. */
export interface ArchiveProblem {
  readonly kind: 'unreadable' | 'invalid'
  readonly message: string
}

/**
 * The policies that the manifest of an archive lists. Takes seconds for a hostile archive, so it is
 * called on a thread; every limit is checked before the work that it limits.
 */
export function readSetArchive(
  archive: Uint8Array,
  set: ArchivedSet,
  host: ArchiveHost,
): Result<SetArchive, ArchiveProblem> {
  const tar = host.unzip(archive, v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX)
  const files = tar.ok ? readTar(tar.value) : tar
  if (!files.ok) return err({ kind: 'unreadable', message: files.error })
  const read = readFiles({ ...set, files: files.value, host })
  return read.ok ? read : err({ kind: 'invalid', message: read.error })
}

type Reading = ArchivedSet & Pick<SetFiles, 'files' | 'host'>

function readFiles({ kind, policiesPath, files, host }: Reading): Result<SetArchive, string> {
  const folder = policiesPath ?? ''
  const found = findSetManifest(files, kind, folder)
  if (!found.ok) return found
  const { name, bytes } = found.value
  if (bytes.length > v2.POLICY_SET_MANIFEST_BYTES_MAX) return err(MANIFEST_TOO_LARGE)
  const text = codeText(bytes, host.decode)
  const manifest = text.ok ? readSetManifest(kind, text.value, name) : text
  if (!manifest.ok) return manifest
  const set: SetFiles = { kind, folder, files, host, manifest: manifest.value }
  const policies: ArchivedPolicy[] = []
  let size = 0
  for (const { source, ...policy } of manifest.value.policies) {
    const code = bundledCode(set, { name: policy.name, source })
    if (!code.ok) return err(`policy "${policy.name}", ${code.error}`)
    const stored = host.encode(code.value)
    size += stored.length
    if (size > v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX) return err(TOO_LARGE)
    const file = source ?? `./${policy.name}${v2.POLICY_FILE_SUFFIXES[kind]}`
    policies.push({ ...policy, file, sha256: host.sha256(stored), code: stored })
  }
  return ok({ policies, params: manifest.value.params })
}

const MANIFEST_TOO_LARGE =
  `The manifest is larger than ${v2.POLICY_SET_MANIFEST_BYTES_MAX} bytes; ` +
  'split the policies into several sets'

/** Each policy is kept with what it imports. */
const TOO_LARGE =
  'The policies, each with what it imports, are larger than ' +
  `${v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX} bytes`
