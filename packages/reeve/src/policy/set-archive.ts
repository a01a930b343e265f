import { v2 } from '@reeve/contract'
import { err, ok, type Result } from '@reeve/kit/result.ts'
import { bundlePolicyCode, decodeCode, type ArchiveHost, type SetFiles } from './bundled-code.ts'
import { findSetManifest } from './find-manifest.ts'
import { readSetManifest, type PolicySetManifest, type ManifestEntry } from './set-manifest.ts'
import { readTar } from './tar.ts'

/** The policy set that an archive is uploaded for. */
export interface ArchiveTarget {
  readonly kind: v2.PolicyKind
  /** The folder of the manifest in the archive; null for its root. */
  readonly policiesPath: string | null
}

/** A policy of an archive; its code includes its imports. */
export interface ArchivedPolicy extends Omit<ManifestEntry, 'source'> {
  /** The file of the policy, for messages. */
  readonly file: string
  readonly sha256: string
  readonly code: Uint8Array
}

export interface SetArchive {
  readonly policies: readonly ArchivedPolicy[]
  readonly params: PolicySetManifest['params']
}

/** An archive that cannot be unpacked, or has invalid contents. The message is for users. */
export interface ArchiveProblem {
  readonly kind: 'unreadable' | 'invalid'
  readonly message: string
}

/**
 * Reads the policies that the manifest of an archive lists. A hostile archive may take seconds, so
 * this runs on a worker; each limit is checked before the work that it limits.
 */
export function readSetArchive(
  archive: Uint8Array,
  set: ArchiveTarget,
  host: ArchiveHost,
): Result<SetArchive, ArchiveProblem> {
  const tar = host.unzip(archive, v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX)
  const files = tar.ok ? readTar(tar.value) : tar
  if (!files.ok) return err({ kind: 'unreadable', message: files.error })
  const read = readPolicies({ ...set, files: files.value, host })
  return read.ok ? read : err({ kind: 'invalid', message: read.error })
}

type ArchiveContents = ArchiveTarget & Pick<SetFiles, 'files' | 'host'>

function readPolicies({
  kind,
  policiesPath,
  files,
  host,
}: ArchiveContents): Result<SetArchive, string> {
  const folder = policiesPath ?? ''
  const found = findSetManifest(files, kind, folder)
  if (!found.ok) return found
  const { name, bytes } = found.value
  if (bytes.length > v2.POLICY_SET_MANIFEST_BYTES_MAX) return err(MANIFEST_TOO_LARGE)
  const text = decodeCode(bytes, host.decode)
  const manifest = text.ok ? readSetManifest(kind, text.value, name) : text
  if (!manifest.ok) return manifest
  const set: SetFiles = { kind, folder, files, host, manifest: manifest.value }
  const policies: ArchivedPolicy[] = []
  let size = 0
  for (const { source, ...policy } of manifest.value.policies) {
    const code = bundlePolicyCode(set, { name: policy.name, source })
    if (!code.ok) return err(`policy "${policy.name}", ${code.error}`)
    const encoded = host.encode(code.value)
    size += encoded.length
    if (size > v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX) return err(POLICIES_TOO_LARGE)
    const file = source ?? `./${policy.name}${v2.POLICY_FILE_SUFFIXES[kind]}`
    policies.push({ ...policy, file, sha256: host.sha256(encoded), code: encoded })
  }
  return ok({ policies, params: manifest.value.params })
}

const MANIFEST_TOO_LARGE =
  `The manifest is larger than ${v2.POLICY_SET_MANIFEST_BYTES_MAX} bytes; ` +
  'split the policies into several sets'

/** Each policy is stored with its imports. */
const POLICIES_TOO_LARGE =
  'The policies, each with what it imports, are larger than ' +
  `${v2.POLICY_SET_ARCHIVE_UNPACKED_BYTES_MAX} bytes`
